"""The figures: the same sums for a call, a message, a chat and in total, and unknown prices stay
unknown.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.core import bus
from agentkit.errors import ConfigError, WrongArgument
from agentkit.events import CallStatus, ModelCalled, ModelReplied, Recorded, RunFinished, Usage
from agentkit.ledger import CallWriter, Ledger
from agentkit.ledger import queries as ask
from agentkit.messages import new_id
from tests.ledger.conftest import NOON, OWNER, call, record

usages = st.builds(Usage, *[st.integers(0, 10_000)] * 5, st.booleans())
replies = st.builds(
    ModelReplied,
    call_id=st.builds(new_id),
    agent=st.sampled_from(["Assistant", "Writer"]),
    provider=st.just("server"),
    model=st.sampled_from(["small", "large"]),
    purpose=st.sampled_from(["chat", "embedding"]),
    status=st.sampled_from(["ok", "failed", "stopped", "cached"]),
    usage=usages,
    cost=st.none()
    | st.integers(0, 4096).map(
        lambda number: number / 4096
    ),  # exact in binary, so that sums are exact
    seconds=st.integers(0, 64).map(lambda number: number / 8),
)
FIGURES = (
    "calls",
    "failed",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "unpriced",
    "seconds",
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.lists(st.lists(replies, max_size=4), min_size=1, max_size=3), min_size=1, max_size=3
    )
)
def test_the_sums_agree_however_they_are_asked_for(
    ledger: Ledger, chats: list[list[list[ModelReplied]]]
) -> None:
    owner = new_id()
    messages: list[str] = []
    for answers in chats:
        chat = ledger.create_chat(owner, "t", "answer", "offline", "Documents")
        for answer in answers:
            messages.append(new_id())
            record(ledger, answer, owner=owner, chat_id=chat.id, message_id=messages[-1])
    made = [reply for answers in chats for answer in answers for reply in answer]
    chosen = ask.CallFilter(owner)
    total = ask.totals(ledger, chosen)
    assert total.calls == len(made)
    assert total.failed == sum(reply.status == "failed" for reply in made)
    assert total.prompt_tokens == sum(reply.usage.prompt for reply in made)
    assert total.completion_tokens == sum(reply.usage.completion for reply in made)
    assert total.cached_tokens == sum(reply.usage.cache_read for reply in made)
    assert total.estimated == any(reply.usage.estimated for reply in made)
    assert total.unpriced == sum(reply.cost is None and reply.usage.total > 0 for reply in made)
    known = [reply.cost for reply in made if reply.cost is not None]
    assert total.cost == (sum(known) if known else None)
    by_message = ask.of_messages(ledger, owner, messages).values()
    for figure in FIGURES:
        assert sum(getattr(one, figure) for one in by_message) == getattr(total, figure)
    for by in ("day", "model", "agent", "chat", "run"):
        frame = ask.group_calls(ledger, chosen, by)
        assert {figure: frame[figure].sum() for figure in FIGURES} == {
            figure: getattr(total, figure) for figure in FIGURES
        }
        assert frame["cost"].sum() == sum(known)
    assert len(ask.calls(ledger, chosen)) == len(made)
    listed = ask.runs(ledger, owner)
    assert sum(run["tokens"] for run in listed) == total.prompt_tokens + total.completion_tokens
    assert sum(run["calls"] for run in listed) == len(made)


def test_a_known_price_of_nothing_is_not_an_unknown_one(ledger: Ledger) -> None:
    record(ledger, [call(Usage(10, output=5), cost=0.0, model="free")])
    record(ledger, [call(Usage(10, output=5), model="secret")])
    record(ledger, [call(model="failed before any token")])
    frame = ask.group_calls(ledger, ask.CallFilter(OWNER), "model").set_index("key")
    assert frame.loc["free", "cost"] == 0
    assert frame.loc["free", "unpriced"] == 0
    # A cell has no static type.
    assert math.isnan(float(frame.loc["secret", "cost"]))  # type: ignore[arg-type]
    assert frame.loc["secret", "unpriced"] == 1
    assert frame.loc["failed before any token", "unpriced"] == 0
    total = ask.totals(ledger, ask.CallFilter(OWNER))
    assert (total.cost, total.unpriced) == (0.0, 1)


def reply(
    status: CallStatus, seconds: float, provider: str = "models.example", first: float | None = None
) -> ModelReplied:
    usage = Usage(10, output=5)
    return ModelReplied(new_id(), "", provider, "small", "chat", status, "", usage, seconds, first)


def test_times_are_those_of_calls_that_a_model_answered(ledger: Ledger) -> None:
    answered = [reply("ok", 2.0, first=0.5), reply("ok", 4.0, first=0.7)]
    record(
        ledger,
        [
            *answered,
            reply("failed", 300.0, first=90.0),
            reply("cached", 0.001),
            reply("stopped", 50.0, first=0.9),
        ],
    )
    for sums in (
        ask.totals(ledger, ask.CallFilter(OWNER)),
        ask.groups(ledger, ask.CallFilter(OWNER), "model")[0].totals,
    ):
        assert (sums.p50_s, sums.first_token_p50_s) == (3.0, 0.7)
        assert sums.p95_s == pytest.approx(3.9)
        assert (sums.calls, sums.failed, sums.cached, sums.answered, sums.elsewhere) == (
            5,
            1,
            1,
            3,
            3,
        )


def test_servers_of_this_machine_are_free_in_rows_of_older_versions_too(ledger: Ledger) -> None:
    record(
        ledger,
        [reply("ok", 1.0, provider) for provider in ("127.0.0.1:11434", "localhost", "[::1]:8000")],
    )
    sums = ask.totals(ledger, ask.CallFilter(OWNER))
    assert (sums.cost, sums.unpriced, sums.answered, sums.elsewhere) == (0.0, 0, 3, 0)
    assert list(ask.calls(ledger, ask.CallFilter(OWNER))["cost"]) == [0.0] * 3
    assert ask.runs(ledger, OWNER)[0]["cost"] == 0.0
    record(
        ledger,
        [
            reply("ok", 1.0, provider)
            for provider in ("10.0.0.7:8000", "localhost.example", "1127.0.0.1")
        ],
    )
    sums = ask.totals(ledger, ask.CallFilter(OWNER))
    assert (sums.cost, sums.unpriced, sums.answered, sums.elsewhere) == (0.0, 3, 6, 3)


def test_calls_outside_of_runs_are_counted_with_the_others(ledger: Ledger) -> None:
    writer = CallWriter(ledger, OWNER, "Somebody")
    with bus.listening(writer.write):
        bus.emit(ModelCalled("1", "", "local", "small", "embedding"))
        bus.emit(ModelReplied("1", "", "local", "small", "embedding", usage=Usage(3), cost=0.0))
        bus.emit(ModelReplied("2", "Critic", "local", "small", usage=Usage(4), cost=0.0))
    with bus.listening(CallWriter(ledger, OWNER, "Somebody", "test").write):
        bus.emit(ModelReplied("3", "", "local", "small", usage=Usage(5), cost=0.0))
    assert sorted(
        (one.key, one.totals.prompt_tokens)
        for one in ask.groups(ledger, ask.CallFilter(OWNER), "agent")
    ) == [
        ("Critic", 4),
        ("Somebody", 8),
    ]
    assert [
        ask.totals(ledger, ask.CallFilter(OWNER, purpose=name)).calls
        for name in ("chat", "embedding", "test")
    ] == [1, 1, 1]
    assert [one.title for one in ask.groups(ledger, ask.CallFilter(OWNER), "run")] == [
        "outside runs"
    ]
    with pytest.raises(WrongArgument, match="RunFinished is not a model call"):
        ledger.keep_call(OWNER, Recorded(1, 0.0, RunFinished()))


def test_days_are_those_of_the_zone(ledger: Ledger) -> None:
    for at in (
        datetime.fromisoformat("2026-03-28T23:30:00+00:00"),
        datetime.fromisoformat("2026-03-29T22:30:00+00:00"),
    ):
        record(ledger, [call()], at=at)  # on the 29th Berlin goes from one hour ahead of UTC to two
    days = {
        zone: list(ask.group_calls(ledger, ask.CallFilter(OWNER), "day", zone)["key"])
        for zone in ("UTC", "Europe/Berlin", "America/New_York")
    }
    assert days == {
        "UTC": ["2026-03-28", "2026-03-29"],
        "Europe/Berlin": ["2026-03-29", "2026-03-30"],
        "America/New_York": ["2026-03-28", "2026-03-29"],
    }
    with pytest.raises(ConfigError, match="no time zone 'Mars/Base'"):
        ask.group_calls(ledger, ask.CallFilter(OWNER), "day", "Mars/Base")


def test_filters(ledger: Ledger) -> None:
    for number, (model, agent) in enumerate([("small", "A"), ("large", "B"), ("small", "B")]):
        record(
            ledger,
            [call(model=model, agent=agent, seconds=number)],
            at=NOON + timedelta(days=number),
        )
    naive = NOON.replace(tzinfo=None)

    def found(chosen: ask.CallFilter) -> list[float]:
        return list(ask.calls(ledger, chosen)["seconds"])

    assert found(ask.CallFilter(OWNER)) == [2, 1, 0]
    assert found(ask.CallFilter(OWNER, since=naive + timedelta(days=1))) == [2, 1]
    assert found(ask.CallFilter(OWNER, until=naive + timedelta(days=1))) == [0]
    assert found(ask.CallFilter(OWNER, models=["small"], agents=["B"])) == [2]
    assert found(ask.CallFilter(OWNER, purpose="embedding")) == []
    assert found(ask.CallFilter(OWNER, models=["' or 1=1 --"])) == []
    assert list(ask.calls(ledger, ask.CallFilter(OWNER), limit=1)["seconds"]) == [2]
    assert ask.totals(ledger, ask.CallFilter(OWNER)).p50_s == 1


def test_the_calls_name_their_chat_and_hold_back_what_is_inside(ledger: Ledger) -> None:
    chat = ledger.create_chat(OWNER, "Rivers", "answer", "offline", "Documents")
    record(ledger, [call()], chat_id=chat.id)
    frame = ask.calls(ledger, ask.CallFilter(OWNER))
    assert frame.iloc[0]["chat"] == "Rivers"
    assert not {"raw_usage", "owner"} & set(frame.columns)
