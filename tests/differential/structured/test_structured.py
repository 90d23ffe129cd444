"""Every scenario gives on agentkit what agentscope 0.1.6 gave when it was recorded, except where
ours is better on purpose.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.kit import recorded
from tests.differential.structured.kit import OURS, RECORDED, Scenario, load

SCENARIOS = load()
RECORDINGS = {
    area: recorded(area, RECORDED)
    for area in sorted({scenario.area for scenario in SCENARIOS.values()})
}
FEWEST = 150


@pytest.mark.parametrize(
    "scenario", SCENARIOS.values(), ids=lambda scenario: f"{scenario.area}-{scenario.name}"
)
def test_gives_what_was_recorded(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert scenario.play(OURS) == RECORDINGS[scenario.area][scenario.name]["expected"]


def test_every_scenario_is_recorded_and_nothing_else() -> None:
    areas = {file.stem: set(recorded(file.stem, RECORDED)) for file in RECORDED.glob("*.json")}
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
            assert entry["expected"] == SCENARIOS[name].expected != entry["oracle"], name
