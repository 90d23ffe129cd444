"""Dialog agents in AgentScope's style: called with a message, with a memory, in hubs and pipelines,
in structures of your own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.agents.dialog.agents import DialogAgent, DictDialogAgent, UserAgent
    from agentkit.agents.dialog.base import AgentBase
    from agentkit.agents.dialog.hub import (
        MsgHub,
        SequentialPipeline,
        a_sequential_pipeline,
        msghub,
        sequential_pipeline,
    )
    from agentkit.agents.dialog.memory import TemporaryMemory
    from agentkit.agents.dialog.msg import Msg
    from agentkit.agents.dialog.starting import init
    from agentkit.agents.dialog.wrappers import ModelWrapperBase, register_model_wrapper_class

_HOME = {
    "AgentBase": "base",
    "DialogAgent": "agents",
    "DictDialogAgent": "agents",
    "ModelWrapperBase": "wrappers",
    "Msg": "msg",
    "MsgHub": "hub",
    "SequentialPipeline": "hub",
    "TemporaryMemory": "memory",
    "UserAgent": "agents",
    "a_sequential_pipeline": "hub",
    "init": "starting",
    "msghub": "hub",
    "register_model_wrapper_class": "wrappers",
    "sequential_pipeline": "hub",
}

__all__ = [
    "AgentBase",
    "DialogAgent",
    "DictDialogAgent",
    "ModelWrapperBase",
    "Msg",
    "MsgHub",
    "SequentialPipeline",
    "TemporaryMemory",
    "UserAgent",
    "a_sequential_pipeline",
    "init",
    "msghub",
    "register_model_wrapper_class",
    "sequential_pipeline",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit.agents.dialog' has no attribute {name!r}")
    return getattr(import_module(f"agentkit.agents.dialog.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
