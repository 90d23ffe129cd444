"""Asks a question and is killed in the middle of the answer: `python -m tests.kill_child FOLDER
SERVER FILE END [TEAM]`, as soon as a text that ends so is stored.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.workspace import Workspace

OWNER = "local"
QUESTION = "How hot is green tea?"


def main() -> None:
    """Take the file in, ask, and die as soon as the text that has come is stored."""
    folder, server, file = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    settings = Settings(data=folder, openai_base_url=server, openai_model="test-model")
    workspace = Workspace(settings, FakeEmbedder())
    source = Source(file.name, file, f"upload:{file.name}")
    workspace.ingest(OWNER, "Kitchen", [source]).result()
    last, team = sys.argv[4], "".join(sys.argv[5:]) or "answer"
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen", team_id=team)
    while not any(
        getattr(one.event, "text", "").endswith(last) for one in workspace.ledger.begun(run.id)
    ):
        assert not run.ended
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
