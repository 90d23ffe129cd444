"""What was sent to models: given back byte for byte, kept once, gone with its chat."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.database import Database
from agentkit.errors import NotFound
from agentkit.event_json import to_json
from agentkit.events import ModelCalled, ModelReplied, Recorded, RunStarted
from agentkit.ledger import Chat, Ledger, RunKey, queries
from agentkit.ledger.schema import MIGRATIONS
from agentkit.messages import new_id
from tests.ledger.conftest import NOON, OWNER, record

Sent = dict[str, Any]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def asks(messages: Sequence[Sent], agent: str = "Assistant", **request: Any) -> ModelCalled:
    around = {"messages": None, "model": "small", **request}
    return ModelCalled(new_id(), agent, "server", "small", "chat", deepcopy(list(messages)), around)


def said(role: str, text: str) -> Sent:
    return {"role": role, "content": text}


def as_sent(called: ModelCalled) -> str:
    return compact({**called.request, "messages": called.messages})


def stored(ledger: Ledger) -> int:
    """Characters of all that is kept of events and requests."""
    sql = "select (select sum(length(data::varchar)) from events)"
    return int(
        ledger.database.value(f"{sql} + (select coalesce(sum(length(body)), 0) from request_parts)")
    )


def bodies(ledger: Ledger) -> list[str]:
    rows = ledger.database.rows("select body from request_parts where body is not null")
    return sorted(row["body"] for row in rows)


texts = st.text(max_size=12) | st.sampled_from(["yes", "TERMINATE", 'a "quoted" \\ one\n\x00'])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
parts = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url"]), "text": texts}),
    max_size=2,
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "user", "assistant", "tool"]),
        "content": texts | st.none() | parts,
    },
    optional={
        "name": texts,
        "tool_calls": st.lists(st.dictionaries(texts, values, max_size=2), max_size=2),
    },
)


@st.composite
def talks(draw: st.DrawFn) -> list[list[ModelCalled]]:
    """Runs of one chat: histories that grow, are shortened in the middle, edited, or of others in
    between.
    """
    histories: dict[str, list[Sent]] = {"Assistant": [], "Writer": [], "manager": []}
    runs: list[list[ModelCalled]] = []
    request: Sent = {}
    for _ in range(draw(st.integers(1, 4))):
        runs.append([])
        for _ in range(draw(st.integers(0, 6))):
            agent = draw(st.sampled_from(sorted(histories)))
            history = histories[agent]
            first, last = sorted(draw(st.integers(0, len(history))) for _ in range(2))
            match draw(
                st.sampled_from(["grow", "grow", "shorten", "edit", "other", "again", "tools"])
            ):
                case "grow":
                    history += draw(st.lists(messages, min_size=1, max_size=3))
                case "shorten":
                    history[first:last] = [draw(messages)]
                case "edit":
                    history[first:] = [draw(messages)]
                case "other":
                    history = [*histories["Assistant"], draw(messages)]
                case "tools":
                    request = draw(
                        st.fixed_dictionaries(
                            {},
                            optional={
                                "tools": st.just([TOOL]) | st.just([]),
                                "temperature": values,
                                "stream": st.booleans(),
                            },
                        )
                    )
            runs[-1].append(asks(history, agent, **request))
    return runs


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(talk=talks())
def test_any_request_is_given_back_byte_for_byte(
    open_ledger: Callable[[], Ledger], talk: list[list[ModelCalled]]
) -> None:
    ledger = open_ledger()
    chat = ledger.create_chat(OWNER, "Rivers", "answer", "offline", "Documents")
    for number, calls in enumerate(talk):
        run_id = record(
            Ledger(ledger.database) if number == 2 else ledger, calls, chat_id=chat.id
        )  # a start anew
        told = [one.event for one in queries.events(ledger, OWNER, run_id)]
        heard = [event for event in told if isinstance(event, ModelCalled)]
        assert [compact(to_json(event)) for event in heard] == [
            compact(to_json(one)) for one in calls
        ]
    every = [one for calls in talk for one in calls]
    assert [ledger.request_of(OWNER, one.call_id).json for one in every] == [
        as_sent(one) for one in every
    ]
    kept = bodies(ledger)
    assert len(kept) == len(set(kept))
    new = {compact(message) for one in every for message in one.messages}
    assert new <= set(kept), "each message, once, in the form in which it was sent"
    assert all(
        body in new or body[:13] == '{"messages":n' or body[:9] == '{"tools":' for body in kept
    )
    ledger.database.close()


def test_what_is_kept_grows_with_what_is_new_however_long_the_chat_is(
    ledger: Ledger, chat: Chat
) -> None:
    history = [said("system", "Be calm.")]
    sizes = []
    for turn in range(120):
        history = [
            *history[-80:],
            said("user", f"question {turn}"),
            said("assistant", f"answer {turn}"),
        ]
        before = stored(ledger) if turn else 0
        called = asks([said("system", f"It is day {turn}."), *history])
        record(ledger, [called], chat_id=chat.id)
        sizes.append(stored(ledger) - before)
    assert sum(sizes[60:]) < 1.3 * sum(sizes[1:61]), "also where the beginning changes each time"
    assert max(sizes[2:]) < 10_000
    assert ledger.request_of(OWNER, called.call_id).json == as_sent(called)


def test_a_hundred_turns_of_two_calls_take_less_than_a_megabyte(ledger: Ledger, chat: Chat) -> None:
    history, prompts = [said("system", "You are a calm assistant. " * 20)], 0
    for turn in range(100):
        question, answer = (
            f"Question {turn}: " + "why? " * 40,
            f"Answer {turn}: " + "because " * 195,
        )
        asked = asks([*history, said("user", question)], tools=[TOOL], stream=True)
        call = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": str(turn), "function": {"name": "look"}}],
        }
        result = {"role": "tool", "tool_call_id": str(turn), "content": f"Nothing {turn}."}
        answered = asks([*history, said("user", question), call, result], tools=[TOOL], stream=True)
        replies = [
            ModelReplied(one.call_id, "Assistant", "server", "small", text=text)
            for one, text in ((asked, ""), (answered, answer))
        ]
        record(ledger, [asked, replies[0], answered, replies[1]], chat_id=chat.id)
        history += [said("user", question), said("assistant", answer)]
        prompts += len(as_sent(asked)) + len(as_sent(answered))
    assert prompts > 18_000_000
    assert stored(ledger) <= 1_000_000
    assert ledger.request_of(OWNER, answered.call_id).json == as_sent(answered)


def test_texts_to_embed_are_not_kept_again(ledger: Ledger) -> None:
    embeds = ModelCalled("e", "", "local", "MiniLM", "embedding")
    run_id = record(ledger, [embeds])
    assert bodies(ledger) == []
    assert queries.events(ledger, OWNER, run_id)[1].event == embeds
    with pytest.raises(NotFound, match="No request of the call 'e' is kept"):
        ledger.request_of(OWNER, "e")


def test_the_last_attempt_counts_and_others_see_nothing(ledger: Ledger) -> None:
    first = asks([said("user", "Hi")], stream_options={"include_usage": True})
    again = replace(first, request={"messages": None, "model": "small"})
    record(ledger, [first, again])
    assert ledger.request_of(OWNER, first.call_id).json == as_sent(again)
    with pytest.raises(NotFound):
        ledger.request_of("other", first.call_id)


def test_with_a_chat_goes_what_no_other_one_needs(ledger: Ledger, chat: Chat) -> None:
    other = ledger.create_chat(OWNER, "Lakes", "answer", "offline", "Documents")
    third = ledger.create_chat(OWNER, "Seas", "answer", "offline", "Documents")
    system = said("system", "Be calm.")
    record(ledger, [asks([system, said("user", "a secret")], tools=[TOOL])], chat_id=chat.id)
    kept = {one.id: asks([system, said("user", one.title)], tools=[TOOL]) for one in (other, third)}
    for one, called in kept.items():
        record(ledger, [called], chat_id=one)
    assert bodies(ledger).count(compact(system)) == 1
    ledger.delete_chat(OWNER, chat.id)
    assert not any("secret" in body for body in bodies(ledger))
    assert bodies(ledger).count(compact(system)) == 1
    assert [ledger.request_of(OWNER, one.call_id).json for one in kept.values()] == list(
        map(as_sent, kept.values())
    )
    ledger.delete_chat(OWNER, other.id)
    last = kept[third.id]
    assert ledger.request_of(OWNER, last.call_id).json == as_sent(last)
    ledger.delete_chat(OWNER, third.id)
    assert ledger.database.value("select count(*) from request_parts") == 0


def test_a_request_is_kept_with_its_event_or_not_at_all(ledger: Ledger, chat: Chat) -> None:
    run = RunKey(new_id(), OWNER, chat.id)
    history = [said("user", "One")]
    first, second = asks(history), asks([*history, said("user", "Two")])
    replied = ModelReplied(first.call_id, "Assistant", "server", "small")
    at = NOON.timestamp()
    ledger.keep(
        run, [Recorded(1, at, RunStarted("chat")), Recorded(2, at, first), Recorded(3, at, replied)]
    )
    with pytest.raises(duckdb.ConstraintException):  # the same attempt once more
        ledger.keep(run, [Recorded(4, at, second), Recorded(5, at, replied)])
    assert not any("Two" in body for body in bodies(ledger))
    ledger.keep(run, [Recorded(4, at, second)])
    assert ledger.request_of(OWNER, second.call_id).json == as_sent(second)


def test_what_is_kept_is_enough_for_another_process(
    ledger: Ledger, chat: Chat, tmp_path: Path
) -> None:
    called = [asks([said("user", str(n)) for n in range(count)]) for count in (1, 2, 3)]
    record(ledger, called[:2], chat_id=chat.id)
    again = Ledger(ledger.database)
    record(again, called[2:], chat_id=chat.id)
    assert [again.request_of(OWNER, one.call_id).json for one in called] == list(
        map(as_sent, called)
    )
    assert len(bodies(again)) == 3 + 1, "three messages, and what stands around them"


def test_a_ledger_with_whole_prompts_in_its_events_becomes_small(tmp_path: Path) -> None:
    database = Database(tmp_path / "old.duckdb")
    database.migrate("ledger", MIGRATIONS[:3])
    history: list[Sent] = [said("system", "Be calm.")]
    prompts: dict[str, list[Sent]] = {}
    for turn in range(40):
        history.append(said("user", f"{turn} " + "words " * 300))
        run_id, at = f"run {turn:02}", NOON.replace(tzinfo=None)
        database.execute(
            "insert into runs values (?, ?, 'c', 'chat', '', 'finished', '', ?, ?, null)",
            [run_id, OWNER, at, at],
        )
        called = to_json(ModelCalled(f"call {turn}", "A", "server", "m", "chat", list(history)))
        del called["kind"], called["request"]
        database.execute(
            "insert into events values (?, 1, ?, 'ModelCalled', ?)",
            [run_id, at, json.dumps(called)],
        )
        prompts[run_id] = list(history)
    before = database.value("select sum(length(data::varchar)) from events")
    ledger = Ledger(database)
    assert before > 1_400_000
    assert stored(ledger) < 100_000
    for turn, (run_id, prompt) in enumerate(prompts.items()):
        (told,) = queries.events(ledger, OWNER, run_id)
        assert told.event == ModelCalled(f"call {turn}", "A", "server", "m", "chat", prompt)
        assert ledger.request_of(OWNER, f"call {turn}").json == compact({"messages": prompt})
    database.close()


def test_what_was_lost_with_a_damaged_file_is_told_as_missing(ledger: Ledger, chat: Chat) -> None:
    first, second = asks([said("user", "One")]), asks([said("user", "One"), said("user", "Two")])
    run_id = record(ledger, [first, second], chat_id=chat.id)
    with ledger.database.transaction():
        ledger.database.execute("delete from request_parts where contains(body, 'Two')")
    assert ledger.request_of(OWNER, first.call_id).json == as_sent(first)
    with pytest.raises(NotFound):
        ledger.request_of(OWNER, second.call_id)
    assert len(queries.events(ledger, OWNER, run_id)) == 4
