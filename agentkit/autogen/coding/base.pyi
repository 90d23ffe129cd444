"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import CodeBlock as CodeBlock
from agentkit.coding import CodeExecutor as CodeExecutor
from agentkit.coding import CodeExtractor as CodeExtractor
from agentkit.coding import CodeResult as CodeResult
from agentkit.coding import CommandLineCodeResult as CommandLineCodeResult
from agentkit.coding import IPythonCodeResult as IPythonCodeResult

__all__: list[str]
