"""How chats are kept in order: pinned, in folders, archived, deleted for a while."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentkit.errors import NotFound, WrongArgument
from agentkit.ledger import Chat, Ledger, Shelf
from agentkit.ledger.store import utc_now
from tests.ledger.conftest import OWNER


@pytest.fixture
def lakes(ledger: Ledger, chat: Chat) -> Chat:
    """A chat that is newer than the other one."""
    return ledger.create_chat(OWNER, "Lakes", "answer", "offline", "Documents")


def _titles(ledger: Ledger, shelf: Shelf = "open", folder: str = "") -> list[str]:
    found = [chat.title for chat in ledger.shelf(OWNER, shelf, folder)]
    assert ledger.count_shelf(OWNER, shelf, folder) == len(found)
    return found


def test_pinned_chats_come_first(ledger: Ledger, chat: Chat, lakes: Chat) -> None:
    assert _titles(ledger) == ["Lakes", "Rivers"]
    assert ledger.arrange_chats(OWNER, [chat.id], pinned=True) == [chat.id]
    assert _titles(ledger) == ["Rivers", "Lakes"]
    assert [one.title for one in ledger.chats(OWNER)] == ["Lakes", "Rivers"], "by time alone"
    ledger.arrange_chats(OWNER, [chat.id], pinned=False)
    assert _titles(ledger) == ["Lakes", "Rivers"]


def test_folders_are_there_as_long_as_they_have_chats(
    ledger: Ledger, chat: Chat, lakes: Chat
) -> None:
    ledger.arrange_chats(OWNER, [chat.id, lakes.id, "gone"], folder="  Waters   of\nAsia ")
    assert ledger.folders(OWNER) == ["Waters of Asia"]
    ledger.arrange_chats(OWNER, [chat.id], folder="")
    assert _titles(ledger, folder="Waters of Asia") == ["Lakes"]
    ledger.arrange_chats(OWNER, [lakes.id], archived=True)
    assert ledger.folders(OWNER) == []
    for name in ("\u3000 \n", "x" * 10_000):
        with pytest.raises(WrongArgument):
            ledger.arrange_chats(OWNER, [chat.id], folder=name)
    assert ledger.chat(OWNER, chat.id).folder == ""


def test_archived_chats_stand_by_themselves(ledger: Ledger, chat: Chat, lakes: Chat) -> None:
    ledger.arrange_chats(OWNER, [chat.id], archived=True, pinned=True)
    assert (_titles(ledger), _titles(ledger, "archived")) == (["Lakes"], ["Rivers"])
    assert ledger.chat(OWNER, chat.id).archived
    ledger.arrange_chats(OWNER, [chat.id], archived=False)
    assert (_titles(ledger), _titles(ledger, "archived")) == (["Rivers", "Lakes"], [])


def test_discarded_chats_are_gone_until_they_are_brought_back(
    ledger: Ledger, chat: Chat, lakes: Chat
) -> None:
    assert ledger.discard_chats(OWNER, [chat.id, "gone"]) == [chat.id]
    assert ledger.discard_chats(OWNER, [chat.id]) == []
    assert (_titles(ledger), _titles(ledger, "deleted")) == (["Lakes"], ["Rivers"])
    for ask in (ledger.chat, ledger.thread):
        with pytest.raises(NotFound):
            ask(OWNER, chat.id)
    assert ledger.arrange_chats(OWNER, [chat.id], pinned=True) == []
    assert ledger.bring_back_chats(OWNER, [chat.id, lakes.id]) == [chat.id]
    assert _titles(ledger) == ["Lakes", "Rivers"]


def test_only_what_was_discarded_long_ago_is_to_go(ledger: Ledger, chat: Chat, lakes: Chat) -> None:
    ledger.discard_chats(OWNER, [chat.id])
    assert ledger.list_discarded(utc_now() - timedelta(hours=1)) == []
    assert [one.id for one in ledger.list_discarded(utc_now())] == [chat.id]


def test_nobody_touches_the_chats_of_others(ledger: Ledger, chat: Chat) -> None:
    assert ledger.arrange_chats("other", [chat.id], folder="Mine", archived=True) == []
    assert ledger.discard_chats("other", [chat.id]) == []
    ledger.discard_chats(OWNER, [chat.id])
    assert ledger.bring_back_chats("other", [chat.id]) == []
    assert _titles(ledger, "deleted") == ["Rivers"]
    assert ledger.shelf("other", "deleted") == []
