"""Many people at once, each with a session of their own over a WebSocket: nothing that the model's
server sent is lost.

How long the app takes for each is measured by `python -m tests.bench.bench_sessions`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.bench_sessions import LOOK, WHOLE_PAGE, find_losses, try_out
from tests.soak import TIMES

PEOPLE = 3 * TIMES


@pytest.mark.soak
def test_many_sessions_lose_nothing_while_answers_stream(tmp_path: Path) -> None:
    took, _ = try_out(tmp_path, PEOPLE, spread_s=PEOPLE / 5)
    assert find_losses(tmp_path) == (PEOPLE, 0)
    assert len(took[WHOLE_PAGE]) >= PEOPLE  # each page was drawn, and looked at again meanwhile
    assert len(took[LOOK]) >= PEOPLE
