"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.core.io import IOStream as IOStream
from agentkit.core.io import InputStream as InputStream
from agentkit.core.io import OutputStream as OutputStream

__all__: list[str]
