"""Chats and their message trees, each owner for himself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.database import Database, Row, Values
from agentkit.errors import NotFound
from agentkit.events import Recorded, RunStarted
from agentkit.ledger import Chat, Ledger, LedgerWriter, RunKey
from agentkit.ledger import queries as ask
from tests.ledger.conftest import NOON, OWNER, call, record, say


def ids(ledger: Ledger, chat: Chat, head_id: str | None = None) -> list[str]:
    return [message.id for message in ledger.thread(OWNER, chat.id, head_id)]


def test_a_new_chat_is_empty_and_comes_back_as_made(ledger: Ledger, chat: Chat) -> None:
    assert ledger.chat(OWNER, chat.id) == chat
    assert ledger.thread(OWNER, chat.id) == []
    assert chat.head_id is None


def test_a_message_comes_back_whole(ledger: Ledger, chat: Chat) -> None:
    run_id = record(ledger, [say("m1", None, "How long is it? \u00e4\U0001f30d")], chat_id=chat.id)
    (message,) = ledger.thread(OWNER, chat.id)
    assert (message.id, message.chat_id, message.parent_id, message.run_id) == (
        "m1",
        chat.id,
        None,
        run_id,
    )
    assert (message.sender, message.role, message.content) == (
        "user",
        "user",
        "How long is it? \u00e4\U0001f30d",
    )
    assert (message.status, message.extra, message.created_at) == (
        "complete",
        {},
        NOON.replace(tzinfo=None),
    )


def test_branches_lose_nothing_and_the_head_moves_to_the_last_one_written(
    ledger: Ledger, chat: Chat
) -> None:
    record(ledger, [say("q", None), say("a1", "q")], chat_id=chat.id)
    record(ledger, [say("a2", "q"), say("q2", "a2")], chat_id=chat.id)
    assert ids(ledger, chat) == ["q", "a2", "q2"]
    assert ids(ledger, chat, "a1") == ["q", "a1"]
    assert ids(ledger, chat, "q") == ["q"]
    record(ledger, [say("edited", None)], chat_id=chat.id)
    assert ids(ledger, chat) == ["edited"]


def test_a_message_of_another_chat_is_not_found(ledger: Ledger, chat: Chat) -> None:
    other = ledger.create_chat(OWNER, "Lakes", "answer", "offline", "Documents")
    record(ledger, [say("there", None)], chat_id=other.id)
    with pytest.raises(NotFound, match="no message 'there'"):
        ledger.thread(OWNER, chat.id, "there")


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=25))
def test_every_message_of_any_tree_is_reached_by_its_own_branch(
    ledger: Ledger, parents: list[int]
) -> None:
    chat = ledger.create_chat(OWNER, "tree", "answer", "offline", "Documents")
    paths: list[list[str]] = []
    for number, parent in enumerate(parents):
        path = paths[parent % number] if number and parent else []
        paths.append([*path, f"{chat.id}-{number}"])
    record(
        ledger,
        [say(path[-1], path[-2] if len(path) > 1 else None) for path in paths],
        chat_id=chat.id,
    )
    assert [ids(ledger, chat, path[-1]) for path in paths] == paths
    assert ids(ledger, chat) == paths[-1]


def test_a_circle_of_parents_ends(ledger: Ledger, chat: Chat) -> None:
    record(ledger, [say("a", "b"), say("b", "a")], chat_id=chat.id)
    assert ids(ledger, chat) == ["a", "b"]


class CountingDatabase(Database):
    queries = 0

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        self.queries += 1
        return super().rows(sql, values)


def test_a_long_thread_takes_no_more_queries_than_a_short_one(tmp_path: Path) -> None:
    database = CountingDatabase(tmp_path / "counting.duckdb")
    ledger = Ledger(database)
    queries = []
    for count in (5, 5_000):
        made = ledger.create_chat(OWNER, "long", "answer", "offline", "Documents")
        database.execute(
            """insert into messages (id, chat_id, parent_id, run_id, sender, recipient, role,
            content, status, extra, created_at, thinking)
            select ? || i, ?, case when i > 0 then ? || (i - 1) end, null, 's', 'r', 'user', 'text',
            'complete', '{}', now()::timestamp, null from range(?) t(i)""",
            [made.id, made.id, made.id, count],
        )
        database.queries = 0
        thread = ledger.thread(OWNER, made.id, f"{made.id}{count - 1}")
        assert [message.id for message in thread] == [
            f"{made.id}{number}" for number in range(count)
        ]
        queries.append(database.queries)
    database.close()
    assert queries[0] == queries[1]


def test_list_search_rename_delete(ledger: Ledger, chat: Chat) -> None:
    lakes = ledger.create_chat(OWNER, "Lakes", "answer", "offline", "Documents")
    record(
        ledger,
        [say("m1", None, "the DANUBE, 100% of it_")],
        chat_id=chat.id,
        at=NOON + timedelta(days=365),
    )
    assert [found.title for found in ledger.chats(OWNER)] == ["Rivers", "Lakes"]
    assert [found.title for found in ledger.chats(OWNER, limit=1, offset=1)] == ["Lakes"]
    for search, titles in {
        "danube": ["Rivers"],
        "LAKE": ["Lakes"],
        "0% of": ["Rivers"],
        "_": ["Rivers"],
        "sea": [],
    }.items():
        assert [found.title for found in ledger.chats(OWNER, search)] == titles
        assert ledger.count_chats(OWNER, search) == len(titles)
    renamed = ledger.update_chat(OWNER, lakes.id, title="Ponds", team="research")
    assert (renamed.title, renamed.team, renamed.model) == ("Ponds", "research", "offline")
    ledger.delete_chat(OWNER, lakes.id)
    assert [found.title for found in ledger.chats(OWNER)] == ["Rivers"]


def test_a_deleted_chat_leaves_its_calls_and_nothing_that_was_said(
    ledger: Ledger, chat: Chat
) -> None:
    run_id = record(
        ledger, [say("m1", None, "a secret"), call(cost=0.5)], chat_id=chat.id, message_id="m2"
    )
    ledger.delete_chat(OWNER, chat.id)
    for table in ("chats", "messages", "events", "runs", "llm_calls"):
        assert "secret" not in str(ledger.database.rows(f"select * from {table}"))
    assert [run["title"] for run in ask.runs(ledger, OWNER)] == ["deleted chat"]
    assert ask.events(ledger, OWNER, run_id) == []
    assert ask.totals(ledger, ask.CallFilter(OWNER)).cost == 0.5
    assert list(ask.group_calls(ledger, ask.CallFilter(OWNER), "chat")["title"]) == ["deleted chat"]


def test_others_see_and_change_nothing(ledger: Ledger, chat: Chat) -> None:
    run_id = record(ledger, [say("m1", None), call(cost=1.0)], chat_id=chat.id, message_id="m1")
    for attempt in (
        lambda: ledger.chat("other", chat.id),
        lambda: ledger.thread("other", chat.id),
        lambda: ledger.update_chat("other", chat.id, title="mine now"),
        lambda: ledger.delete_chat("other", chat.id),
        lambda: ask.events(ledger, "other", run_id),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert ledger.chats("other") == []
    assert ask.runs(ledger, "other") == []
    assert ledger.count_chats("other", "Rivers") == 0
    assert ask.of_messages(ledger, "other", ["m1"]) == {}
    assert ask.totals(ledger, ask.CallFilter("other")) == ask.Totals()
    assert ask.calls(ledger, ask.CallFilter("other")).empty
    for by in ("day", "model", "agent", "chat", "run"):
        assert ask.group_calls(ledger, ask.CallFilter("other"), by).empty
    assert ledger.chat(OWNER, chat.id).title == "Rivers"
    assert ids(ledger, chat) == ["m1"]


def test_runs_that_a_dead_process_left_open_are_marked(ledger: Ledger, chat: Chat) -> None:
    ended = record(ledger, [])
    LedgerWriter(ledger, RunKey("left", OWNER, chat.id)).write(
        Recorded(1, NOON.timestamp(), RunStarted("chat", "left open"))
    )
    assert [run.id for run in ledger.open_runs()] == ["left"]
    ledger.interrupt("left")
    ledger.interrupt(ended)
    assert ledger.open_runs() == []
    states = {run["id"]: (run["state"], run["reason"]) for run in ask.runs(ledger, OWNER)}
    assert states == {ended: ("finished", ""), "left": ("interrupted", "the process ended")}


def test_what_is_set_in_a_chat_is_its_owners_and_goes_with_it(ledger: Ledger, chat: Chat) -> None:
    narrowed = {"scope": {"tags": ["günstig"]}}
    ledger.set(OWNER, chat.id, "narrowed", narrowed)
    ledger.set(OWNER, chat.id, "level", "calls")
    ledger.set(OWNER, "", "level", "answer")
    assert ledger.settings(OWNER, chat.id) == {"narrowed": narrowed, "level": "calls"}
    assert ledger.settings(OWNER, "") == {"level": "answer"}
    assert ledger.settings("other", chat.id) == ledger.settings("other", "") == {}
    with pytest.raises(NotFound):
        ledger.set("other", chat.id, "level", "everything")
    ledger.set(OWNER, chat.id, "level", None)
    assert Ledger(ledger.database).settings(OWNER, chat.id) == {"narrowed": narrowed}
    ledger.delete_chat(OWNER, chat.id)
    assert ledger.settings(OWNER, chat.id) == {}


def test_of_several_that_take_a_value_out_of_a_chat_one_has_it(ledger: Ledger, chat: Chat) -> None:
    assert ledger.exchange(OWNER, chat.id, "queue", None, ["first"])
    with ThreadPoolExecutor(8) as several:
        took = list(
            several.map(
                lambda _: ledger.exchange(OWNER, chat.id, "queue", ["first"], None), range(8)
            )
        )
    assert sorted(took) == [False] * 7 + [True]
    assert ledger.settings(OWNER, chat.id) == {}
