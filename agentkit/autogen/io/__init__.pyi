"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.core.io import IOConsole as IOConsole
from agentkit.core.io import IOStream as IOStream
from agentkit.core.io import InputStream as InputStream
from agentkit.core.io import OutputStream as OutputStream
from agentkit.autogen.io import base as base
from agentkit.autogen.io import console as console

__all__: list[str]
