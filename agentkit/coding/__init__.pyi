from .base import (
    CodeBlock,
    CodeExecutor,
    CodeExtractor,
    CodeResult,
    CommandLineCodeResult,
    IPythonCodeResult,
)
from .command_line import CommandLineExecutor
from .docker import DockerCommandLineCodeExecutor
from .code_blocks import MarkdownCodeExtractor
from .factory import CodeExecutorFactory
from .functions import (
    Alias,
    FunctionWithRequirements,
    FunctionWithRequirementsStr,
    ImportFromModule,
    to_stub,
    with_requirements,
)
from .isolation import isolated_executor
from .jupyter import EmbeddedIPythonCodeExecutor, JupyterCodeExecutor
from .local import LocalCommandLineCodeExecutor
from .probe import bubblewrap_works, docker_works, how_to_isolate
from .sandbox import SandboxCommandLineCodeExecutor

__all__ = [
    "Alias",
    "CodeBlock",
    "CodeExecutor",
    "CodeExecutorFactory",
    "CodeExtractor",
    "CodeResult",
    "CommandLineCodeResult",
    "CommandLineExecutor",
    "DockerCommandLineCodeExecutor",
    "EmbeddedIPythonCodeExecutor",
    "FunctionWithRequirements",
    "FunctionWithRequirementsStr",
    "IPythonCodeResult",
    "ImportFromModule",
    "JupyterCodeExecutor",
    "LocalCommandLineCodeExecutor",
    "MarkdownCodeExtractor",
    "SandboxCommandLineCodeExecutor",
    "bubblewrap_works",
    "docker_works",
    "how_to_isolate",
    "isolated_executor",
    "to_stub",
    "with_requirements",
]
