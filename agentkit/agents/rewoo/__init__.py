"""ReWOO in lagent's style: a plan as data, its steps run as a graph, an answer from their evidence;
and the actions for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.agents.rewoo.actions import BaseAction
    from agentkit.agents.rewoo.agent import ReWOOAgent
    from agentkit.agents.rewoo.describing import tool_api
    from agentkit.agents.rewoo.evidence import Evidence, still_known
    from agentkit.agents.rewoo.executor import ActionExecutor, get_tool, get_tool_cls, list_tools
    from agentkit.agents.rewoo.graph import Refusal, execute
    from agentkit.agents.rewoo.inputs import BaseParser, JsonParser, TupleParser
    from agentkit.agents.rewoo.plan import Plan, Step
    from agentkit.agents.rewoo.prompts import (
        PLANNER_PROMPT_CN,
        PLANNER_PROMPT_EN,
        REFORMAT_PROMPT_CN,
        REFORMAT_PROMPT_EN,
        REPLAN_PROMPT_CN,
        REPLAN_PROMPT_EN,
        SOLVER_PROMPT_CN,
        SOLVER_PROMPT_EN,
        WORKER_PROMPT_CN,
        WORKER_PROMPT_EN,
    )
    from agentkit.agents.rewoo.protocol import ReWOOProtocol
    from agentkit.agents.rewoo.reading import parse_plan
    from agentkit.agents.rewoo.rewoo import BaseAgent, ReWOO
    from agentkit.agents.rewoo.schema import (
        ActionReturn,
        ActionStatusCode,
        ActionValidCode,
        AgentReturn,
        AgentStatusCode,
    )
    from agentkit.agents.rewoo.special import FinishAction, FunctionAction, InvalidAction, NoAction

_NAMES = {
    "actions": ("BaseAction",),
    "agent": ("ReWOOAgent",),
    "describing": ("tool_api",),
    "executor": ("ActionExecutor", "get_tool", "get_tool_cls", "list_tools"),
    "evidence": ("Evidence", "still_known"),
    "graph": ("Refusal", "execute"),
    "inputs": ("BaseParser", "JsonParser", "TupleParser"),
    "plan": ("Plan", "Step"),
    "prompts": (
        "PLANNER_PROMPT_CN",
        "PLANNER_PROMPT_EN",
        "REFORMAT_PROMPT_CN",
        "REFORMAT_PROMPT_EN",
        "REPLAN_PROMPT_CN",
        "REPLAN_PROMPT_EN",
        "SOLVER_PROMPT_CN",
        "SOLVER_PROMPT_EN",
        "WORKER_PROMPT_CN",
        "WORKER_PROMPT_EN",
    ),
    "protocol": ("ReWOOProtocol",),
    "reading": ("parse_plan",),
    "rewoo": ("BaseAgent", "ReWOO"),
    "special": ("FinishAction", "FunctionAction", "InvalidAction", "NoAction"),
    "schema": (
        "ActionReturn",
        "ActionStatusCode",
        "ActionValidCode",
        "AgentReturn",
        "AgentStatusCode",
    ),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "PLANNER_PROMPT_CN",
    "PLANNER_PROMPT_EN",
    "REFORMAT_PROMPT_CN",
    "REFORMAT_PROMPT_EN",
    "REPLAN_PROMPT_CN",
    "REPLAN_PROMPT_EN",
    "SOLVER_PROMPT_CN",
    "SOLVER_PROMPT_EN",
    "WORKER_PROMPT_CN",
    "WORKER_PROMPT_EN",
    "ActionExecutor",
    "ActionReturn",
    "ActionStatusCode",
    "ActionValidCode",
    "AgentReturn",
    "AgentStatusCode",
    "BaseAction",
    "BaseAgent",
    "BaseParser",
    "Evidence",
    "FinishAction",
    "FunctionAction",
    "InvalidAction",
    "JsonParser",
    "NoAction",
    "Plan",
    "ReWOO",
    "ReWOOAgent",
    "ReWOOProtocol",
    "Refusal",
    "Step",
    "TupleParser",
    "execute",
    "get_tool",
    "get_tool_cls",
    "list_tools",
    "parse_plan",
    "still_known",
    "tool_api",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit.agents.rewoo' has no attribute {name!r}")
    return getattr(import_module(f"agentkit.agents.rewoo.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
