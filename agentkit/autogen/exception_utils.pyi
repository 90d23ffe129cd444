"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.errors import AgentNameConflict as AgentNameConflict
from agentkit.errors import InvalidCarryOverType as InvalidCarryOverType
from agentkit.errors import NoEligibleSpeaker as NoEligibleSpeaker
from agentkit.errors import SenderRequired as SenderRequired
from agentkit.errors import UndefinedNextAgent as UndefinedNextAgent

__all__: list[str]
