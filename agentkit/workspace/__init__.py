"""One data folder, opened, and everything that app, command line and tests do with it."""

from agentkit.workspace.document_runs import SAMPLES
from agentkit.workspace.intake import attachment_collection
from agentkit.workspace.workspace import DEFAULT_COLLECTION, Workspace

__all__ = ["DEFAULT_COLLECTION", "SAMPLES", "Workspace", "attachment_collection"]
