"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.compressible import CompressibleAgent as CompressibleAgent

__all__: list[str]
