"""One data folder, opened, and everything that app, command line and tests do with it."""

from agentkit.workspace.scopes import EVERYTHING, scope_from_json, scope_of, scope_to_json
from agentkit.workspace.workspace import DEFAULT_COLLECTION, SAMPLES, Workspace, attachment_collection

__all__ = [
    "DEFAULT_COLLECTION",
    "EVERYTHING",
    "SAMPLES",
    "Workspace",
    "attachment_collection",
    "scope_from_json",
    "scope_of",
    "scope_to_json",
]
