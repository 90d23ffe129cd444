"""Code execution: blocks are found in messages and run by an executor, in isolation or on this
machine.

The names below are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.coding.base import (
        CodeBlock,
        CodeExecutor,
        CodeExtractor,
        CodeResult,
        CommandLineCodeResult,
        IPythonCodeResult,
    )
    from agentkit.coding.command_line import CommandLineExecutor
    from agentkit.coding.docker import DockerCommandLineCodeExecutor
    from agentkit.coding.extract import MarkdownCodeExtractor
    from agentkit.coding.factory import CodeExecutorFactory
    from agentkit.coding.functions import (
        Alias,
        FunctionWithRequirements,
        FunctionWithRequirementsStr,
        ImportFromModule,
        to_stub,
        with_requirements,
    )
    from agentkit.coding.isolation import isolated_executor
    from agentkit.coding.jupyter import EmbeddedIPythonCodeExecutor, JupyterCodeExecutor
    from agentkit.coding.local import LocalCommandLineCodeExecutor
    from agentkit.coding.probe import bubblewrap_works, docker_works, how_to_isolate
    from agentkit.coding.sandbox import SandboxCommandLineCodeExecutor

_HOME = {
    "Alias": "functions",
    "CodeBlock": "base",
    "CodeExecutor": "base",
    "CodeExecutorFactory": "factory",
    "CodeExtractor": "base",
    "CodeResult": "base",
    "CommandLineCodeResult": "base",
    "CommandLineExecutor": "command_line",
    "DockerCommandLineCodeExecutor": "docker",
    "EmbeddedIPythonCodeExecutor": "jupyter",
    "FunctionWithRequirements": "functions",
    "FunctionWithRequirementsStr": "functions",
    "IPythonCodeResult": "base",
    "ImportFromModule": "functions",
    "JupyterCodeExecutor": "jupyter",
    "LocalCommandLineCodeExecutor": "local",
    "MarkdownCodeExtractor": "extract",
    "SandboxCommandLineCodeExecutor": "sandbox",
    "bubblewrap_works": "probe",
    "docker_works": "probe",
    "how_to_isolate": "probe",
    "isolated_executor": "isolation",
    "to_stub": "functions",
    "with_requirements": "functions",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit.coding' has no attribute {name!r}")
    return getattr(import_module(f"agentkit.coding.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
