"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import ActionExecutor as ActionExecutor
from agentkit.agents.rewoo import BaseAction as BaseAction
from agentkit.agents.rewoo import BaseParser as BaseParser
from agentkit.agents.rewoo import FinishAction as FinishAction
from agentkit.agents.rewoo import InvalidAction as InvalidAction
from agentkit.agents.rewoo import JsonParser as JsonParser
from agentkit.agents.rewoo import NoAction as NoAction
from agentkit.agents.rewoo import TupleParser as TupleParser
from agentkit.agents.rewoo import get_tool as get_tool
from agentkit.agents.rewoo import get_tool_cls as get_tool_cls
from agentkit.agents.rewoo import list_tools as list_tools
from agentkit.agents.rewoo import tool_api as tool_api
from agentkit.lagent.actions import action_executor as action_executor
from agentkit.lagent.actions import base_action as base_action
from agentkit.lagent.actions import builtin_actions as builtin_actions
from agentkit.lagent.actions import parser as parser

__all__: list[str]
