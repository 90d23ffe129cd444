"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import CodeBlock as CodeBlock
from agentkit.coding import CodeExecutor as CodeExecutor
from agentkit.coding import CodeExecutorFactory as CodeExecutorFactory
from agentkit.coding import CodeExtractor as CodeExtractor
from agentkit.coding import CodeResult as CodeResult
from agentkit.coding import DockerCommandLineCodeExecutor as DockerCommandLineCodeExecutor
from agentkit.coding import LocalCommandLineCodeExecutor as LocalCommandLineCodeExecutor
from agentkit.coding import MarkdownCodeExtractor as MarkdownCodeExtractor
from agentkit.autogen.coding import base as base
from agentkit.autogen.coding import docker_commandline_code_executor as docker_commandline_code_executor
from agentkit.autogen.coding import factory as factory
from agentkit.autogen.coding import func_with_reqs as func_with_reqs
from agentkit.autogen.coding import jupyter as jupyter
from agentkit.autogen.coding import local_commandline_code_executor as local_commandline_code_executor
from agentkit.autogen.coding import markdown_code_extractor as markdown_code_extractor

__all__: list[str]
