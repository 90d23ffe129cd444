"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import FinishAction as FinishAction
from agentkit.agents.rewoo import InvalidAction as InvalidAction
from agentkit.agents.rewoo import NoAction as NoAction

__all__: list[str]
