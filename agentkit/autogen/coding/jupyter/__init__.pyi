"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import EmbeddedIPythonCodeExecutor as EmbeddedIPythonCodeExecutor
from agentkit.coding import JupyterCodeExecutor as JupyterCodeExecutor
from agentkit.autogen.coding.jupyter import embedded_ipython_code_executor as embedded_ipython_code_executor
from agentkit.autogen.coding.jupyter import jupyter_code_executor as jupyter_code_executor

__all__: list[str]
