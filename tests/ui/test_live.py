"""How often pages look at a growing answer."""

from __future__ import annotations

import pytest

from agentkit.ui.chat.live import Pace, after, slowest_needed


@pytest.mark.parametrize(
    ("seconds", "share", "then"),
    [
        (0.125, 0.05, 0.125),  # never faster than eight times a second
        (0.125, 0.45, 0.125),
        (0.125, 0.6, 0.25),
        (0.25, 0.3, 0.25),
        (0.25, 0.1, 0.125),
        (1.0, 2.0, 1.0),  # never slower than once a second
    ],
)
def test_the_pace_falls_with_the_load(seconds: float, share: float, then: float) -> None:
    assert after(seconds, share) == then


@pytest.mark.parametrize("cost", [0.002, 0.01, 0.05])
@pytest.mark.parametrize("pages", [1, 10, 40])
def test_all_pages_together_stay_under_half_a_core_where_the_slowest_pace_allows_it(
    pages: int, cost: float
) -> None:
    seconds, seen = 0.125, []
    for _ in range(12):
        seconds = after(seconds, pages * cost / seconds)
        seen.append(seconds)
    assert len(set(seen[6:])) == 1, "it does not go to and fro"
    assert pages * cost / seconds <= 0.5 or seconds == 1.0


@pytest.mark.parametrize(
    ("answers", "seconds"), [(0, 0.125), (4, 0.125), (5, 0.25), (16, 0.5), (30, 1.0), (1000, 1.0)]
)
def test_many_answers_are_looked_at_less_often_at_once(answers: int, seconds: float) -> None:
    assert slowest_needed(answers) == seconds
    pace = Pace()
    assert pace.seconds(answers) == seconds
    assert pace.seconds(1) == seconds, "it gets faster only when the load is measured"


def test_a_pace_is_measured_over_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"wall": 100.0, "processor": 10.0}
    monkeypatch.setattr("agentkit.ui.chat.live.time.monotonic", lambda: clock["wall"])
    monkeypatch.setattr("agentkit.ui.chat.live.time.process_time", lambda: clock["processor"])
    pace = Pace()
    for wall, processor, then in (
        (1, 1, 0.125),
        (1, 1, 0.25),
        (2, 1.5, 0.5),
        (2, 0.1, 0.25),
        (60, 60, 0.25),
    ):
        clock["wall"] += wall
        clock["processor"] += processor
        assert pace.seconds() == then
