"""The figures of the usage page: the same totals however they are asked for, days on the clocks of
a zone, and what people, tools and look-ups did.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from agentkit.errors import ConfigError
from agentkit.events import ModelReplied, ToolReturned, Usage
from agentkit.ledger import Chat, Ledger
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import calls, sums, work
from agentkit.ledger.usage.local import day_of, find_changes, local_hour, local_step, step_of
from agentkit.ledger.usage.sums import OTHERS
from agentkit.messages import new_id
from tests.ledger.conftest import NOON, OWNER, call, record
from tests.ledger.test_steps import DONE

ZONES = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns")


@pytest.mark.parametrize("zone", ZONES)
def test_days_and_hours_are_those_of_the_zone(ledger: Ledger, zone: str) -> None:
    first = datetime(2026, 3, 20)  # noqa: DTZ001 (UTC without zone)
    moments = [first + timedelta(minutes=37 * number) for number in range(600)]
    sql = local_hour("t.ended", zone, moments[0], moments[-1])
    rows = ledger.database.rows(f"select {sql} as hour from unnest(?) t(ended)", [moments])
    local = [one.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)) for one in moments]
    assert [day_of(row["hour"]) for row in rows] == [one.date() for one in local]
    assert [row["hour"] % 24 for row in rows] == [one.hour for one in local]


def test_weeks_begin_on_mondays(ledger: Ledger) -> None:
    first = datetime(2026, 3, 1)  # noqa: DTZ001 (UTC without zone)
    moments = [first + timedelta(hours=11 * number) for number in range(99)]
    sql = local_step("t.ended", "UTC", moments[0], moments[-1], 168)
    rows = ledger.database.rows(f"select {sql} as step from unnest(?) t(ended)", [moments])
    weeks = [day_of(row["step"]) for row in rows]
    assert {week.weekday() for week in weeks} == {0}
    begun = [one.date() - week for one, week in zip(moments, weeks, strict=True)]
    assert all(timedelta() <= passed < timedelta(7) for passed in begun)
    assert [step_of(row["step"] + 167, 168) for row in rows] == [row["step"] for row in rows]


def test_a_zone_has_its_changes_and_one_that_is_none_is_told() -> None:
    year = datetime(2026, 1, 1), datetime(2027, 1, 1)  # noqa: DTZ001 (UTC without zone)
    changes = find_changes(ZoneInfo("Europe/Berlin"), *year)
    assert [(at.month, at.day, at.hour) for at, _ in changes[1:]] == [(3, 29, 1), (10, 25, 1)]
    assert all(one[1] != other[1] for one, other in pairwise(changes))
    with pytest.raises(ConfigError, match="no time zone 'Mars'"):
        local_hour("t.ended", "Mars", *year)


def test_the_smallest_groups_are_one(ledger: Ledger) -> None:
    for number in range(5):
        record(ledger, [call(cost=2.0**-number, model=f"m{number}")])
    found = sums.over_time(ledger, CallFilter(OWNER), "cost", "model", "UTC", 24, 2)
    parts = dict(zip(found.key, found.value, strict=True))
    assert parts == {"m0": 1.0, "m1": 0.5, OTHERS: 0.4375}


def test_what_most_belongs_to_is_found(ledger: Ledger, chat: Chat) -> None:
    record(ledger, [call(cost=3.0, model="large")], chat_id=chat.id)
    record(ledger, [call(cost=1.0, model="small")])
    leaders = sums.find_leaders(ledger, CallFilter(OWNER), "cost", ["model", "chat", "owner"])
    told = [(one.by, one.key, one.share, one.groups) for one in leaders]
    assert told == [("chat", chat.id, 0.75, 2), ("model", "large", 0.75, 2)]
    assert sums.find_leaders(ledger, CallFilter("nobody"), "cost", ["model"]) == []


def test_times_are_of_calls_that_a_model_answered(ledger: Ledger) -> None:
    answered = ModelReplied(
        "1", "", "server", "small", usage=Usage(9, output=20), seconds=4.0, first_token_s=1.0
    )
    late = replace(answered, seconds=90.0, first_token_s=None)
    record(
        ledger,
        [
            answered,
            replace(late, call_id="2", status="failed"),
            replace(late, call_id="3", status="cached"),
            replace(late, call_id="4", purpose="embedding"),
        ],
    )
    found = sums.measure(ledger, CallFilter(OWNER))
    assert (found.p50_s, found.p99_s, found.first_token_p50_s) == (4.0, 4.0, 1.0)
    assert found.tokens_per_s == 5.0
    assert sums.measure(ledger, CallFilter(OWNER, purpose="embedding")).p50_s == 90.0


def test_each_filter_narrows_and_nobody_sees_others(ledger: Ledger, chat: Chat) -> None:
    record(ledger, [call(model="a", agent="x")], chat_id=chat.id)
    record(ledger, [call(model="b", agent="y")], owner="ada")
    every = CallFilter(OWNER, everyone=True)
    for chosen, expected in [
        (CallFilter(OWNER), 1),
        (CallFilter(OWNER, owners=["ada"]), 0),
        (every, 2),
        (replace(every, owners=["ada"]), 1),
        (replace(every, collections=["Documents"]), 1),
        (replace(every, collections=[""]), 1),
        (replace(every, chats=[chat.id]), 1),
        (replace(every, teams=["none"]), 0),
        (replace(every, statuses=["ok"], providers=["server"], purposes=["chat"]), 2),
        (replace(every, until=datetime(2026, 3, 1)), 0),  # noqa: DTZ001 (UTC without zone)
    ]:
        assert sums.measure(ledger, chosen).calls == expected, chosen
        assert sums.has_calls(ledger, chosen) == bool(expected)


def test_tools_lookups_compression_and_people_are_summed_up(ledger: Ledger, chat: Chat) -> None:
    record(ledger, DONE, chat_id=chat.id)
    record(ledger, [ToolReturned("t3", "Worker", "hers", True, "")], owner="ada")
    chosen = CallFilter(OWNER)
    tools = work.tools(ledger, chosen)
    rows = list(zip(tools.name, tools.calls, tools.failed, tools.seconds, strict=True))
    assert rows == [("search", 2, 1, 2.0), ("python", 1, 1, 0.25)]
    lookups = work.lookups(ledger, chosen).iloc[0]
    assert (lookups.collection, lookups.calls, lookups["empty"]) == ("Kitchen", 2, 1)
    assert (lookups.best, lookups.found) == (0.75, 1.0)
    pressed = work.compression(ledger, chosen).iloc[0]
    assert (pressed.saved, pressed.spent, pressed.cost) == (600, 50, 0.25)
    people = work.people(ledger, chosen).iloc[0]
    assert (people.asked, people.changed, people.in_words, people.unanswered) == (2, 1, 1, 0)
    done = work.over_time(ledger, chosen, ["search"], "UTC", 24).iloc[0]
    assert (done.calls, done.failed, done.best) == (2, 1, 0.75)
    assert len(work.tools(ledger, replace(chosen, everyone=True))) == 3
    assert work.tools(ledger, replace(chosen, agents=["Nobody"])).empty


def test_failures_have_their_latest_and_since_when(ledger: Ledger) -> None:
    for hours, text in [(2, "again"), (0, "first")]:
        failed = ModelReplied(
            new_id(), "", "server", "small", status="failed", error=text, error_type="Timeout"
        )
        record(ledger, [failed, call()], at=NOON + timedelta(hours=hours))
    found = calls.failures(ledger, CallFilter(OWNER)).iloc[0]
    assert (found.error_type, found.failed, found.asked, found.error) == ("Timeout", 2, 4, "again")
    assert found["last"] - found["first"] == timedelta(hours=2)
    assert calls.failures_over_time(ledger, CallFilter(OWNER), "UTC").value.tolist() == [2.0]
