"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation import gather_usage_summary as gather_usage_summary

__all__: list[str]
