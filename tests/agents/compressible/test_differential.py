"""CompressibleAgent does what pyautogen 0.2.34's did when it was recorded, except where ours is
better on purpose.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.compressible.scenarios import OURS, SCENARIOS, play
from tests.conversation.cast import hearing

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))[
    "scenarios"
]


@pytest.mark.parametrize("name", SCENARIOS)
def test_gives_what_was_recorded(name: str) -> None:
    _, better, expected = SCENARIOS[name]
    with hearing():
        given = play(name, OURS)
    if better:
        assert given == expected
        assert given != RECORDED[name], "ours is no better"
    else:
        assert given == RECORDED[name]


def test_all_are_recorded() -> None:
    assert sorted(RECORDED) == sorted(SCENARIOS)
