"""agentkit: teams of agents that answer over documents, every step and its cost visible.

The names below are loaded when they are first used, so that `import agentkit` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.database import Database
    from agentkit.errors import AgentkitError
    from agentkit.ledger import Ledger
    from agentkit.llm import Model, call
    from agentkit.retrieval import Hit, Library, MiniLMEmbedder, Source, evaluate, fetch, sources_from_paths
    from agentkit.runs import Run, start
    from agentkit.settings import Settings, load_settings
    from agentkit.teams import Answer, Citation, Task, Team
    from agentkit.workspace import Workspace

_HOME = {
    "AgentkitError": "agentkit.errors",
    "Answer": "agentkit.teams",
    "Citation": "agentkit.teams",
    "Database": "agentkit.database",
    "Hit": "agentkit.retrieval",
    "Ledger": "agentkit.ledger",
    "Library": "agentkit.retrieval",
    "MiniLMEmbedder": "agentkit.retrieval",
    "Model": "agentkit.llm",
    "Run": "agentkit.runs",
    "Settings": "agentkit.settings",
    "Source": "agentkit.retrieval",
    "Task": "agentkit.teams",
    "Team": "agentkit.teams",
    "Workspace": "agentkit.workspace",
    "call": "agentkit.llm",
    "evaluate": "agentkit.retrieval",
    "fetch": "agentkit.retrieval",
    "load_settings": "agentkit.settings",
    "sources_from_paths": "agentkit.retrieval",
    "start": "agentkit.runs",
}

__all__ = [
    "AgentkitError", "Answer", "Citation", "Database", "Hit", "Ledger", "Library", "MiniLMEmbedder", "Model", "Run", "Settings",
    "Source", "Task", "Team", "Workspace", "call", "evaluate", "fetch", "load_settings", "sources_from_paths", "start",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
