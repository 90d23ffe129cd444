"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import ActionExecutor as ActionExecutor
from agentkit.agents.rewoo import ActionReturn as ActionReturn
from agentkit.agents.rewoo import ActionStatusCode as ActionStatusCode
from agentkit.agents.rewoo import ActionValidCode as ActionValidCode
from agentkit.agents.rewoo import AgentReturn as AgentReturn
from agentkit.agents.rewoo import AgentStatusCode as AgentStatusCode
from agentkit.agents.rewoo import BaseAction as BaseAction
from agentkit.agents.rewoo import BaseAgent as BaseAgent
from agentkit.agents.rewoo import BaseParser as BaseParser
from agentkit.agents.rewoo import FinishAction as FinishAction
from agentkit.agents.rewoo import InvalidAction as InvalidAction
from agentkit.agents.rewoo import JsonParser as JsonParser
from agentkit.agents.rewoo import NoAction as NoAction
from agentkit.agents.rewoo import PLANNER_PROMPT_CN as PLANNER_PROMPT_CN
from agentkit.agents.rewoo import PLANNER_PROMPT_EN as PLANNER_PROMPT_EN
from agentkit.agents.rewoo import REFORMAT_PROMPT_CN as REFORMAT_PROMPT_CN
from agentkit.agents.rewoo import REFORMAT_PROMPT_EN as REFORMAT_PROMPT_EN
from agentkit.agents.rewoo import ReWOO as ReWOO
from agentkit.agents.rewoo import ReWOOProtocol as ReWOOProtocol
from agentkit.agents.rewoo import SOLVER_PROMPT_CN as SOLVER_PROMPT_CN
from agentkit.agents.rewoo import SOLVER_PROMPT_EN as SOLVER_PROMPT_EN
from agentkit.agents.rewoo import TupleParser as TupleParser
from agentkit.agents.rewoo import WORKER_PROMPT_CN as WORKER_PROMPT_CN
from agentkit.agents.rewoo import WORKER_PROMPT_EN as WORKER_PROMPT_EN
from agentkit.agents.rewoo import get_tool as get_tool
from agentkit.agents.rewoo import get_tool_cls as get_tool_cls
from agentkit.agents.rewoo import list_tools as list_tools
from agentkit.agents.rewoo import tool_api as tool_api
from agentkit.lagent import actions as actions
from agentkit.lagent import agents as agents
from agentkit.lagent import schema as schema

__all__: list[str]
__version__: str
