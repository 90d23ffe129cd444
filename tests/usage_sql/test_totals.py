"""Whoever asks what was used gets the same totals: of calls, messages, chats, runs, the page, the
command, files and SQL, whatever runs did and however they ended.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.cli.figures import sum_up
from agentkit.events import (
    Event,
    ModelReplied,
    Recorded,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    TokenDelta,
    Usage,
)
from agentkit.ledger import Ledger, LedgerWriter, RunKey, queries
from agentkit.ledger.export import calls_file
from agentkit.ledger.figures import Figures
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import calls, sums
from agentkit.ledger.usage.sums import KEYS, MEASURES
from agentkit.messages import new_id
from agentkit.workspace.usage_sql import UsageSql
from tests.ledger.conftest import NOON, say

replies = st.builds(
    ModelReplied,
    call_id=st.builds(new_id),
    agent=st.sampled_from(["Assistant", "Writer", ""]),
    provider=st.sampled_from(["models.example", "127.0.0.1:11434"]),
    model=st.sampled_from(["small", "large"]),
    purpose=st.sampled_from(["chat", "embedding", "rerank"]),
    status=st.sampled_from(["ok", "failed", "stopped", "cached"]),
    usage=st.builds(Usage, *[st.integers(0, 10_000)] * 5, st.booleans()),
    # Exact in binary, so that sums are exact.
    cost=st.none() | st.integers(0, 4096).map(lambda number: number / 4096),
    seconds=st.integers(0, 64).map(lambda number: number / 8),
    error_type=st.sampled_from(["", "RateLimitError", "Timeout"]),
)


def _try_again(tried: list[ModelReplied]) -> list[ModelReplied]:
    """The attempts of one call, of which all failed but the last."""
    last = len(tried)
    status = {last: tried[-1].status}
    return [
        replace(
            one,
            call_id=tried[0].call_id,
            attempt=number,
            status=status.get(number, "failed"),
            purpose=tried[0].purpose,
        )
        for number, one in enumerate(tried, start=1)
    ]


ENDS: list[Event] = [RunFinished(), RunFailed("broken", "ValueError"), RunStopped("asked to")]


@dataclass(frozen=True)
class Turn:
    """An answer of a chat, and the run that gave it."""

    hours: int
    calls: list[list[ModelReplied]]
    is_streamed: bool
    threads: int
    end: Event
    is_branch: bool
    """Whether it stands beside the answer before it."""

    @property
    def replies(self) -> list[ModelReplied]:
        """All attempts."""
        return [one for attempts in self.calls for one in attempts]


attempts = st.lists(replies, min_size=1, max_size=3).map(_try_again)
turns = st.builds(
    Turn,
    hours=st.integers(0, 40),
    calls=st.lists(attempts, max_size=4),
    is_streamed=st.booleans(),
    threads=st.integers(1, 3),
    end=st.sampled_from(ENDS),
    is_branch=st.booleans(),
)


def happen(ledger: Ledger, key: RunKey, turn: Turn, parent: str | None) -> None:
    """Have a run's events written, those of its calls from several threads at once."""
    writer, numbers = LedgerWriter(ledger, key), count(1)
    at = (NOON + timedelta(hours=turn.hours * 7)).timestamp()

    def write(event: Event) -> None:
        writer.write(Recorded(next(numbers), at, event))

    def make_call(attempts: list[ModelReplied]) -> None:
        for one in attempts:
            if turn.is_streamed:
                write(TokenDelta("some ", one.agent, one.call_id))
                writer.flush()  # as after a quarter of a second
            write(one)

    assert key.message_id is not None
    write(RunStarted("chat", "a run"))
    with ThreadPoolExecutor(turn.threads) as pool:
        list(pool.map(make_call, turn.calls))
    write(say(key.message_id, parent, role="assistant"))
    write(turn.end)


@pytest.fixture
def usage(ledger: Ledger) -> Iterator[UsageSql]:
    usage = UsageSql(ledger.database)
    yield usage
    usage.close()


SQL = """select count(*) as calls, coalesce(sum(cost), 0) as cost,
    coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint as tokens,
    count(*) filter (status = 'failed') as failed, count(*) filter (status = 'cached') as cached,
    (select coalesce(sum(calls), 0)::bigint from runs) as of_runs,
    (select coalesce(sum(tokens), 0)::bigint from runs) as tokens_of_runs,
    (select coalesce(sum(cost), 0) from runs) as cost_of_runs,
    count(*) filter (message_id in (select id from messages)) as of_messages
    from calls"""


@settings(
    deadline=None,
    max_examples=20,  # each is half a second of processor time
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.lists(turns, min_size=1, max_size=3), min_size=1, max_size=3))
def test_calls_messages_chats_runs_page_command_export_and_sql_agree(
    ledger: Ledger, usage: UsageSql, chats: list[list[Turn]]
) -> None:
    owner, messages = new_id(), list[str]()
    for answers in chats:
        chat = ledger.create_chat(owner, "t", "answer", "offline", "Documents")
        question: str | None = None
        for turn in answers:
            messages.append(new_id())
            happen(ledger, RunKey(new_id(), owner, chat.id, messages[-1]), turn, question)
            question = question if turn.is_branch else messages[-1]
    chosen = CallFilter(owner)
    found = sums.measure(ledger, chosen)
    told = sum_up(Figures(ledger), chosen, "team", "UTC")
    of_messages = queries.of_messages(ledger, owner, messages).values()
    of_runs = queries.runs(ledger, owner, limit=1_000)
    of_chats = sums.by_groups(ledger, chosen, "chat")
    within = sums.by_groups(ledger, chosen, "agent", "model")
    over_time = sums.totals_over_time(ledger, chosen, "Europe/Berlin")
    with calls_file(ledger, chosen, "csv") as file:
        exported = list(csv.DictReader(io.StringIO(file.read().decode())))

    (asked,) = usage.views(owner).sql(SQL).to_pylist()

    tokens = found.prompt_tokens + found.completion_tokens
    made = [reply for answers in chats for turn in answers for reply in turn.replies]
    assert found.calls == len(made) == len(exported) == len(calls.list_calls(ledger, chosen))
    assert tokens == sum(reply.usage.total for reply in made)
    assert tokens == sum(run["tokens"] for run in of_runs)
    assert tokens == sum(sum(int(row[name]) for name in _TOKENS) for row in exported)
    cost = found.cost or 0
    assert cost == sum(one.cost or 0 for one in of_messages)
    assert cost == sum(run["cost"] or 0 for run in of_runs)
    assert cost == sum(float(row["cost"] or 0) for row in exported)
    assert asked == {
        "calls": len(made),
        "cost": cost,
        "tokens": tokens,
        "failed": found.failed,
        "cached": found.cached,
        "of_runs": len(made),
        "tokens_of_runs": tokens,
        "cost_of_runs": cost,
        "of_messages": len(made),
    }
    for name in ("calls", "failed", "cached", "prompt_tokens", "completion_tokens", "unpriced"):
        expected = getattr(found, name)
        assert getattr(told.totals, name) == expected
        assert sum(getattr(row.totals, name) for row in told.rows) == expected
        for frame in (of_chats, within, over_time):
            assert frame[name].sum() == expected
    for what, expected in _expected(found, tokens).items():
        for by in KEYS:
            series = sums.over_time(ledger, chosen, what, by, "Asia/Kathmandu", 24, 2)
            assert series.value.sum() == expected
        assert sums.by_hour_of_week(ledger, chosen, what, "UTC").value.sum() == expected


_TOKENS = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)


def _expected(found: sums.Sums, tokens: int) -> dict[sums.Measure, float]:
    every: dict[sums.Measure, float] = {
        "cost": found.cost or 0,
        "tokens": tokens,
        "calls": found.calls,
        "errors": found.failed,
    }
    assert every.keys() == MEASURES.keys()
    return every
