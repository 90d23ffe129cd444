"""From a document to the runs that took it in, found it or cited it."""

from __future__ import annotations

import pytest

from agentkit.events import DocumentDone, Event, MessageSent, Retrieved
from agentkit.ledger import Chat, Ledger, run_documents, run_list, tree
from agentkit.ledger.run_documents import HOWS, How
from agentkit.ledger.run_list import RunFilter
from agentkit.ledger.whole import read_whole, store_whole
from tests.ledger.conftest import OWNER, say
from tests.ledger.test_run_list import keep

HITS = [{"document_id": "d", "document": "tea.txt"}, {"document_id": "e"}, {"document_id": "d"}]
STORED = "select run_id, document_id, how from run_documents order by all"


def cite(message_id: str, parent_id: str | None, *ids: str) -> MessageSent:
    citations = [{"marker": 1, "document_id": one} for one in ids]
    extra = {"citations": citations}
    return MessageSent(message_id, parent_id, "Writer", "user", "assistant", "Hot.", extra=extra)


@pytest.fixture
def kept(ledger: Ledger, chat: Chat) -> Ledger:
    """Runs that took a document in, found it without citing it, cited it, and had another one."""
    keep(ledger, "ingest", DocumentDone("d", "tea.txt", "indexed"), kind="ingest")
    asked: list[Event] = [
        say("q", None, "How hot?"),
        Retrieved("hot", "Kitchen", "hybrid", HITS, 0.1),
    ]
    keep(ledger, "cites", *asked, cite("a", "q", "d"), chat_id=chat.id)
    keep(ledger, "finds", asked[1], say("s", None, "Who?"), chat_id=chat.id)
    keep(ledger, "other", Retrieved("cold", "Kitchen", "hybrid", [{"document_id": "e"}, {}], 0.1))
    return ledger


def found(ledger: Ledger, document_id: str, *hows: How) -> set[str]:
    chosen = RunFilter(OWNER, document_id=document_id, hows=hows or HOWS)
    return {run.id for run in run_list.list_runs(ledger, chosen)}


def test_a_document_leads_to_all_that_was_done_with_it(kept: Ledger) -> None:
    assert found(kept, "d") == {"ingest", "cites", "finds"}
    assert found(kept, "d", "taken in") == {"ingest"}
    assert found(kept, "d", "found") == {"cites", "finds"}
    assert found(kept, "d", "cited", "taken in") == {"cites", "ingest"}
    assert found(kept, "e") == {"cites", "finds", "other"}
    assert found(kept, "nothing") == set()


def test_what_earlier_versions_stored_is_noted_too(kept: Ledger) -> None:
    before = kept.database.rows(STORED)
    kept.database.execute("drop table run_documents")
    kept.database.execute("""insert into events values
        ('odd', 1, now()::timestamp, 'Retrieved', '{}'),
        ('odd', 2, now()::timestamp, 'MessageSent', '{"extra": {"citations": "none"}}')""")
    run_documents.create_table(kept.database)
    assert kept.database.rows(STORED) == before


def test_it_goes_with_its_branch_and_its_chat_and_comes_with_an_imported_one(
    kept: Ledger, chat: Chat
) -> None:
    whole = read_whole(kept, OWNER, chat.id)
    tree.delete_branch(kept, OWNER, chat.id, "s")
    assert found(kept, "d") == {"ingest", "cites"}
    kept.delete_chat(OWNER, chat.id)
    assert found(kept, "d") == {"ingest"}
    kept.database.execute("delete from runs where chat_id = ?", [chat.id])
    store_whole(kept, whole)
    assert found(kept, "d", "cited") == {"cites"}
    assert found(kept, "d", "found") == {"cites", "finds"}
