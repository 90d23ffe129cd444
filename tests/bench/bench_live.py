"""What a question costs before its first request, by how long the chat is, with agents that live on
and with all read anew: `python -m tests.bench.bench_live`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentkit.llm.calls.scripted import scripted_model
from agentkit.workspace.sessions import MOST, Sessions
from tests.bench.bench_support import processor
from tests.test_workspace_sessions import Scripted, ask, looks_once

TEAMS = ("group:round_robin", "assistant", "tools")
LENGTHS = (50, 200)
ROUNDS = 15


class Timed:
    """A model that notes how much processor time had passed when it was asked first."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.took: list[float] = []

    def begin(self) -> None:
        """A question is asked now."""
        self.began = time.process_time()

    def __call__(self, request: Mapping[str, Any]) -> Any:
        """Answer as agents do that look something up."""
        if self.began is not None:
            self.took.append(time.process_time() - self.began)
            self.began = None
        return looks_once(request)


def measure(folder: Path, team: str) -> list[str]:
    """The medians of a team, as lines: after so many questions, kept and read anew."""
    model = Timed()
    workspace = Scripted(folder, scripted_model(model))
    chat, lines = None, []
    try:
        for number in range(max(LENGTHS)):
            run, _ = ask(workspace, f"How long is the Danube, number {number}?", chat, team)
            chat = run.chat_id
            if number + 1 in LENGTHS:
                lines += [_compare(workspace, model, str(chat), team, number + 1)]
    finally:
        workspace.close()
    return lines


def _compare(workspace: Scripted, model: Timed, chat: str, team: str, length: int) -> str:
    """Questions at the same place of the chat, in turn with what is kept and with nothing."""
    parent = workspace.ledger.thread("me", chat)[-1].id
    kept, anew = Sessions(workspace.ledger, MOST), Sessions(workspace.ledger, 0)
    took: dict[int, list[float]] = {id(kept): [], id(anew): []}
    for _ in range(ROUNDS + 1):
        for sessions in (kept, anew):
            workspace.sessions = sessions
            model.begin()
            ask(workspace, "How long is the Danube, once more?", chat, team, parent)
            took[id(sessions)].append(model.took[-1] * 1000)
    workspace.sessions = kept
    medians = [statistics.median(times[1:]) for times in took.values()]  # the first warms up
    ask(workspace, "How long is the Danube, to go on?", chat, team, parent)
    return "{:<18} {:>4} questions: {:5.1f} ms, read anew {:5.1f} ms".format(team, length, *medians)


def main() -> None:
    """Print them."""
    sys.stdout.write(f"{processor()}, processor time before the first request\n")
    for team in TEAMS:
        with tempfile.TemporaryDirectory() as folder:
            for line in measure(Path(folder), team):
                sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
