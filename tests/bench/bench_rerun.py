"""How long the chat page takes to run again, by the length of the chat: `pytest -s
tests/bench/bench_rerun.py`.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import pytest

from agentkit.settings import Settings
from agentkit.ui.shared import state
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page
from tests.app.test_chat import long_chat


@pytest.mark.parametrize("messages", [20, 200, 1_000])
def test_rerun(tmp_path: Path, messages: int) -> None:
    """Median of 15 reruns of the whole page, without a browser, among 20 other chats of that
    length.
    """
    workspace = ScriptableWorkspace(Settings(data=tmp_path / "data"))
    state.use(workspace)
    try:
        for _ in range(20 if messages <= 200 else 2):
            chat = long_chat(workspace, messages)
        app = open_page("chat", chat=chat.id)
        took = []
        for _ in range(15):
            began = time.perf_counter()
            app.run()
            took.append(time.perf_counter() - began)
        sys.stdout.write(
            f"\n{messages:>5,} messages: rerun {statistics.median(took) * 1000:.0f} ms\n"
        )
    finally:
        state.close()
