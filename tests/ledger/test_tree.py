"""Branches of a chat's tree: what stands beside what, where a chat goes on, what goes with one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentkit.errors import NotFound
from agentkit.events import Event, MessageSent, ModelCalled, Recorded, RunFinished, RunStarted
from agentkit.ledger import Chat, Ledger, LedgerWriter, RunKey, queries
from agentkit.ledger.feedback import find_ratings, rate
from agentkit.ledger.tree import choose_head, delete_branch, read_tree
from tests.ledger.conftest import NOON, OWNER, record, say

SOMEBODY = "somebody else"


def answer(message_id: str, parent_id: str, text: str = "text") -> MessageSent:
    return MessageSent(message_id, parent_id, "Assistant", "user", "assistant", text)


def grow(ledger: Ledger, chat: Chat, *turns: tuple[str, str | None]) -> dict[str, str]:
    """Store a turn for each question and what it comes after, one second apart; gives their runs.
    The answer to `q1` is `a1`.
    """
    made = {}
    for number, (question, parent) in enumerate(turns):
        reply = answer(f"a{question[1:]}", question)
        at = NOON + timedelta(seconds=number)
        made[question] = record(ledger, [say(question, parent), reply], chat_id=chat.id, at=at)
    return made


def test_questions_after_the_same_message_are_siblings(ledger: Ledger, chat: Chat) -> None:
    grow(ledger, chat, ("q1", None), ("q2", "a1"), ("q2b", "a1"), ("q3", "a2"), ("q1b", None))
    tree = read_tree(ledger, OWNER, chat.id)
    assert tree.siblings("q1") == tree.siblings("q1b") == ["q1", "q1b"]
    assert tree.siblings("q2b") == ["q2", "q2b"]
    assert tree.siblings("q3") == ["q3"]
    assert tree.siblings("gone") == []
    assert tree.newest_end("q1") == "a3"
    assert tree.newest_end("q2b") == "a2b"
    assert list(tree.above("a3")) == ["a3", "q3", "a2", "q2", "a1", "q1"]
    assert tree.count_questions("q1") == 4


def test_words_of_agents_in_the_role_of_a_user_are_no_siblings(ledger: Ledger, chat: Chat) -> None:
    inner = MessageSent("i", "q", "Critic", "Writer", "user", "Why?", extra={"inner": True})
    record(ledger, [say("q", None), inner], chat_id=chat.id)
    record(ledger, [say("next", "q")], chat_id=chat.id)
    tree = read_tree(ledger, OWNER, chat.id)
    assert tree.siblings("next") == ["next"]
    assert tree.count_questions("q") == 2


def test_a_chat_goes_on_where_it_is_told_to_and_nobody_else_can_tell(
    ledger: Ledger, chat: Chat
) -> None:
    grow(ledger, chat, ("q1", None), ("q2", "a1"), ("q2b", "a1"))
    choose_head(ledger, OWNER, chat.id, "a2")
    assert [one.id for one in ledger.thread(OWNER, chat.id)] == ["q1", "a1", "q2", "a2"]
    for owner, message in ((SOMEBODY, "a1"), (OWNER, "gone")):
        with pytest.raises(NotFound, match="no longer in this chat"):
            choose_head(ledger, owner, chat.id, message)
    assert ledger.chat(OWNER, chat.id).head_id == "a2"
    assert read_tree(ledger, SOMEBODY, chat.id).nodes == {}


def test_a_deleted_branch_goes_with_all_that_follows_and_the_one_beside_it_is_shown(
    ledger: Ledger, chat: Chat
) -> None:
    runs = grow(ledger, chat, ("q1", None), ("q2", "a1"), ("q2b", "a1"), ("q3", "a2b"))
    rate(ledger, OWNER, "a3", "up")
    rate(ledger, OWNER, "a2", "down")
    delete_branch(ledger, OWNER, chat.id, "q2b")
    assert [one.id for one in ledger.thread(OWNER, chat.id)] == ["q1", "a1", "q2", "a2"]
    assert find_ratings(ledger, OWNER, ["a2", "a3"]).keys() == {"a2"}
    assert queries.events(ledger, OWNER, runs["q3"]) == []
    assert len(queries.events(ledger, OWNER, runs["q2"])) == 4
    delete_branch(ledger, OWNER, chat.id, "q2")
    assert ledger.chat(OWNER, chat.id).head_id == "a1"
    with pytest.raises(NotFound, match="another tab"):
        delete_branch(ledger, OWNER, chat.id, "q2")
    with pytest.raises(NotFound):
        delete_branch(ledger, SOMEBODY, chat.id, "q1")
    delete_branch(ledger, OWNER, chat.id, "q1")
    assert ledger.thread(OWNER, chat.id) == []


def test_a_branch_that_is_not_shown_goes_and_the_chat_stays_where_it_is(
    ledger: Ledger, chat: Chat
) -> None:
    grow(ledger, chat, ("q1", None), ("q1b", None))
    delete_branch(ledger, OWNER, chat.id, "q1")
    assert ledger.chat(OWNER, chat.id).head_id == "a1b"


def ask_model(ledger: Ledger, chat: Chat, question: str, parent: str | None, words: str) -> str:
    """A turn in which a model is sent words; gives the run."""
    run_id = f"run-{question}"
    writer = LedgerWriter(ledger, RunKey(run_id, OWNER, chat.id, f"a{question}"))
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": words}]
    called = ModelCalled(f"call-{question}", "Assistant", "here", "small", "chat", messages)
    reply = answer(f"a{question}", question)
    events: list[Event] = [
        RunStarted("chat", words),
        say(question, parent, words),
        called,
        reply,
        RunFinished(),
    ]
    for seq, event in enumerate(events, start=1):
        writer.write(Recorded(seq, NOON.timestamp() + seq, event))
    return run_id


def test_what_only_a_deleted_branch_had_sent_goes_and_requests_of_others_stay_whole(
    ledger: Ledger, chat: Chat
) -> None:
    ask_model(ledger, chat, "q1", None, "a secret")
    other = ask_model(ledger, chat, "q2", None, "no secret")
    delete_branch(ledger, OWNER, chat.id, "q1")
    (called,) = [
        one.event
        for one in queries.events(ledger, OWNER, other)
        if isinstance(one.event, ModelCalled)
    ]
    assert [one["content"] for one in called.messages] == ["Be brief.", "no secret"]
    for table in ("messages", "events", "request_parts", "runs"):
        rows = ledger.database.rows(f"select * from {table}")
        assert not [row for row in rows if "a secret" in str(row)], table
    third = ask_model(ledger, chat, "q3", None, "a secret")
    sent = ledger.request_of(OWNER, f"call-{third.removeprefix('run-')}")
    assert [one["content"] for one in sent.messages] == ["Be brief.", "a secret"]


def test_a_rating_is_kept_with_its_comment_changed_and_taken_back(
    ledger: Ledger, chat: Chat
) -> None:
    grow(ledger, chat, ("q1", None))
    rate(ledger, OWNER, "a1", "down", "Wrong page.")
    (rating,) = find_ratings(ledger, OWNER, ["a1", "gone"]).values()
    assert (rating.value, rating.comment) == ("down", "Wrong page.")
    rate(ledger, OWNER, "a1", "up")
    assert find_ratings(ledger, OWNER, ["a1"])["a1"].value == "up"
    assert find_ratings(ledger, SOMEBODY, ["a1"]) == {}
    rate(ledger, OWNER, "a1", None)
    assert find_ratings(ledger, OWNER, ["a1"]) == {}
    for owner, message in ((SOMEBODY, "a1"), (OWNER, "gone")):
        with pytest.raises(NotFound, match="no longer there"):
            rate(ledger, owner, message, "up")


def test_ratings_go_with_their_chat(ledger: Ledger, chat: Chat) -> None:
    grow(ledger, chat, ("q1", None))
    rate(ledger, OWNER, "a1", "up")
    ledger.delete_chat(OWNER, chat.id)
    assert ledger.database.rows("select * from feedback") == []
