"""Which methods of a workspace can be called from another process: the documented ones."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.ledger.bill.budgets import Budgets
from agentkit.ledger.bill.own_prices import PriceBook
from agentkit.ledger.evaluations.results import Evaluations
from agentkit.ledger.figures import Figures
from agentkit.ledger.kept_teams import KeptTeams
from agentkit.ledger.prompts import Prompts
from agentkit.ledger.usage.saved_queries import SavedQueries
from agentkit.retrieval import Library
from agentkit.retrieval.ingest.versions import Versions
from agentkit.retrieval.store.questions import Questions
from agentkit.retrieval.transfer.transfer import Transfer
from agentkit.workspace import Workspace
from agentkit.workspace.sharing.sharing import Sharing
from agentkit.workspace.usage_sql import UsageSql

if TYPE_CHECKING:
    from agentkit.api.wire import Method

PARTS: dict[str, type[Any]] = {
    "workspace": Workspace,
    "library": Library,
    "library.versions": Versions,
    "library.questions": Questions,
    "library.transfer": Transfer,
    "ledger": Ledger,
    "bill": Bill,
    "bill.budgets": Budgets,
    "bill.prices": PriceBook,
    "figures": Figures,
    "usage_sql": UsageSql,
    "saved_queries": SavedQueries,
    "sharing": Sharing,
    "prompts": Prompts,
    "kept_teams": KeptTeams,
    "evaluations": Evaluations,
}
"""The parts by where they are in a workspace."""

NAMES: dict[str, tuple[str, ...]] = {
    "workspace": (
        "ask",
        "ask_again",
        "bring_back_chats",
        "budget_courses",
        "build_version",
        "delete_chat",
        "discard_chats",
        "evaluate_team",
        "export_collection",
        "find_price_changes",
        "forecast_evaluation",
        "import_collection",
        "ingest",
        "ingest_samples",
        "ingest_url",
        "list_prices",
        "list_repricings",
        "measure_again",
        "price_anew",
        "promote_version",
        "remove_discarded",
        "resume_evaluation",
        "retry",
        "run_again",
        "undo_pricing",
        "usage_table",
    ),
    "library": (
        "check",
        "check_indexes",
        "check_originals",
        "chunk",
        "chunks",
        "collection",
        "collections",
        "copies",
        "create_collection",
        "delete_collection",
        "delete_documents",
        "document",
        "documents",
        "documents_within",
        "find",
        "find_passages",
        "ingest",
        "media_types",
        "options",
        "original",
        "reading",
        "rename_collection",
        "retrieve",
        "retry",
        "set_options",
        "similarity",
        "tag_documents",
        "tags",
        "text",
        "warm",
    ),
    "library.versions": (
        "add",
        "build",
        "discard",
        "figures",
        "listed",
        "one",
        "preview",
        "promote",
    ),
    "library.questions": (
        "accept",
        "accepted",
        "courses",
        "create",
        "delete",
        "describe_contents",
        "history",
        "keep",
        "measurement",
        "named",
        "one",
        "questions",
        "rename",
        "replace_questions",
        "set_asks_teams",
        "set_repeats",
        "sets",
    ),
    "library.transfer": ("export", "load"),
    "ledger": (
        "arrange_chats",
        "begun",
        "chat",
        "chats",
        "count_chats",
        "count_shelf",
        "create_chat",
        "delete_chat",
        "exchange",
        "find_messages",
        "folders",
        "keep",
        "keep_call",
        "open_runs",
        "request_of",
        "set",
        "settings",
        "shelf",
        "show_message",
        "thread",
        "update_chat",
    ),
    "bill": (),
    "bill.budgets": ("enter", "entries", "find", "history", "remove"),
    "bill.prices": ("enter", "entries", "history", "remove"),
    "figures": (
        "events",
        "find_runs",
        "groups",
        "groups_within",
        "measure",
        "of_messages",
        "runs",
        "totals",
        "write_calls",
    ),
    "usage_sql": ("write",),
    "saved_queries": ("all", "delete", "save"),
    "sharing": ("export", "load"),
    "kept_teams": ("delete", "find", "newest", "restore", "save", "versions"),
    "evaluations": ("history", "one"),
    "prompts": ("all", "bring_back", "change", "create", "delete", "versions"),
}


@cache
def method(part: str, name: str) -> Method | None:
    """The method of that name; None when there is none that can be called from elsewhere."""
    if name not in NAMES.get(part, ()):
        return None
    from agentkit.api.wire import Method  # loads pydantic, which opening a folder does without

    return Method(part, name, getattr(PARTS[part], name))


def part_of(workspace: Workspace, part: str) -> Any:
    """The part itself, such as the library."""
    found: Any = workspace
    for name in part.split(".") if part != "workspace" else ():
        found = getattr(found, name)
    return found
