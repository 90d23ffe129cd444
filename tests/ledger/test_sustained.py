"""Events of several runs at once, as many as come in a busy hour: none is lost."""

from __future__ import annotations

import pytest

from agentkit.ledger import Ledger
from tests.bench.sustained import sustain
from tests.soak import TIMES


@pytest.mark.soak
def test_events_of_several_runs_at_once_are_all_kept(ledger: Ledger) -> None:
    """Faster than they ever come; at 200 a second, `tests.bench.sustained` takes its time."""
    rounds = 50 * TIMES
    kept = sustain(ledger, rounds)
    assert (kept.gaps, kept.events) == (0, kept.told)
    assert kept.told == 4 * (rounds * 6 + 2)
    assert (kept.calls, kept.messages) == (4 * rounds, 4 * rounds)
