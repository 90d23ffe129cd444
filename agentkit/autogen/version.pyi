"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.autogen import __version__ as __version__

__all__: list[str]
