"""Every scenario gives on agentkit what pyautogen 0.6.0 gave when it was recorded, except where
ours is better on purpose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.differential.kit import OURS, RECORDED, SYNC, Raised, Scenario, load, plain, recorded

SCENARIOS = load()
RECORDINGS = {
    area: recorded(area) for area in sorted({scenario.area for scenario in SCENARIOS.values()})
}
FEWEST = 120


# What is warned of is wording, and the oracle warns in the same places.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "scenario", SCENARIOS.values(), ids=lambda scenario: f"{scenario.area}-{scenario.name}"
)
def test_gives_what_was_recorded(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected: Any = RECORDINGS[scenario.area][scenario.name]["expected"]
    for face, result in zip(("sync", "async"), scenario.play(OURS), strict=False):
        assert result == expected, f"the {face} face"


def test_every_scenario_is_recorded_and_nothing_else() -> None:
    areas = {file.stem: set(recorded(file.stem)) for file in RECORDED.glob("*.json")}
    assert areas == {
        area: {s.name for s in SCENARIOS.values() if s.area == area} for area in RECORDINGS
    }
    assert len(SCENARIOS) >= FEWEST


def test_what_is_better_is_recorded_as_declared() -> None:
    entries = {s.name: RECORDINGS[s.area].get(s.name, {}) for s in SCENARIOS.values()}
    assert {name: entry.get("why", "") for name, entry in entries.items()} == {
        name: s.better for name, s in SCENARIOS.items()
    }
    for name, entry in entries.items():
        if entry.get("why"):
            declared = SCENARIOS[name].expected
            assert entry["expected"] == (
                entry["oracle"]["sync"] if declared == SYNC else declared
            ), name


def test_an_exception_counts_by_any_of_its_classes() -> None:
    class Both(ValueError, AssertionError):
        pass

    found = plain([Raised.by(Both())])
    assert found == ["AssertionError"]
    assert found == ["ValueError"]
    assert found != ["Exception"]
    assert found != ["TypeError"]
