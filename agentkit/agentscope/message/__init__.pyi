"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import Msg as Msg
from agentkit.agentscope.message import msg as msg

__all__: list[str]
