"""Every case gives on agentkit what lagent 0.2.4 gave when it was recorded, except where ours is
better on purpose.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.rewoo.oracle_cases import BETTER, CASES, Library, plain

RECORDED = json.loads((Path(__file__).parent / "oracle.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("name", sorted(set(CASES) - set(BETTER)))
def test_gives_what_was_recorded(name: str) -> None:
    assert plain(CASES[name](Library("agentkit"))) == RECORDED[name]


@pytest.mark.parametrize("name", sorted(BETTER))
def test_is_better_on_purpose(name: str) -> None:
    why, expected = BETTER[name]
    assert plain(CASES[name](Library("agentkit"))) == plain(expected), why
    assert RECORDED[name] != plain(expected), "the oracle gives the same; it is no difference"


def test_every_case_is_recorded() -> None:
    assert set(RECORDED) == set(CASES)
    assert set(BETTER) <= set(CASES)
