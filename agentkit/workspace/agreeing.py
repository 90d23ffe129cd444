"""What tools of teams may do in a chat: what was agreed to, and what the installation allows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from agentkit.documents import DocumentText
from agentkit.events import HumanAnswered, HumanInputRequested
from agentkit.ledger import Chat, Ledger, StoredMessage, queries
from agentkit.options import read_choice
from agentkit.settings import Settings
from agentkit.teams import Task
from agentkit.teams.approval import AGREED, name_agreement


def recall_agreements(
    task: Task, ledger: Ledger, chat: Chat, thread: Sequence[StoredMessage]
) -> None:
    """Let the task know whose first call of which tool was agreed to on this branch of the chat."""
    run_ids = list(dict.fromkeys(filter(None, map(attrgetter("run_id"), thread))))
    asked: dict[str, str] = {}
    requests = queries.told(ledger, chat.owner, run_ids, HumanInputRequested)
    answers = queries.told(ledger, chat.owner, run_ids, HumanAnswered)
    for _, request in requests:
        asked[request.request_id] = name_agreement(request.agent, request.tool)
    for _, answered in answers:
        choice, _rest = read_choice(answered.text)
        agreement = asked.get(answered.request_id, "")
        if choice in AGREED:
            task.agreed.add(agreement)


def allow_tools(task: Task, settings: Settings) -> None:
    """Give the task what the installation lets tools do."""
    from agentkit.mcp.servers import ToolServers
    from agentkit.mcp.serving import ServedTools

    task.served = ServedTools(ToolServers(settings.data))
    task.own_stores = not settings.open
    if settings.fetch_pages:
        task.fetch = partial(_read_page, settings)


def _read_page(settings: Settings, url: str) -> DocumentText:
    from agentkit.retrieval.web.fetching import read_page  # loads what a search does not need

    return read_page(url, settings)
