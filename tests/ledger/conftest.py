"""A ledger in a fresh file, and a way to write runs into it without running anything."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.database import Database
from agentkit.events import (
    Event,
    MessageSent,
    ModelReplied,
    Recorded,
    RunFinished,
    RunStarted,
    Usage,
)
from agentkit.ledger import Chat, Ledger, LedgerWriter, RunKey
from agentkit.messages import new_id

OWNER = "me"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def open_ledger(new_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Ledger]:
    """Opens an empty ledger in a file of its own, for each example of a property."""

    def open_() -> Ledger:
        path = tmp_path_factory.mktemp("example") / "agentkit.duckdb"
        shutil.copy(new_folder / path.name, path)
        return Ledger(Database(path))

    return open_


@pytest.fixture
def chat(ledger: Ledger) -> Chat:
    """A chat that is empty."""
    return ledger.create_chat(OWNER, "Rivers", "answer", "offline", "Documents")


def record(
    ledger: Ledger,
    events: Sequence[Event],
    *,
    owner: str = OWNER,
    chat_id: str | None = None,
    message_id: str | None = None,
    at: datetime = NOON,
) -> str:
    """Write the events as one run from its start to its end; returns the run's id."""
    run_id = new_id()
    writer = LedgerWriter(ledger, RunKey(run_id, owner, chat_id, message_id))
    for number, event in enumerate([RunStarted("chat", "a run"), *events, RunFinished()], start=1):
        writer.write(Recorded(number, at.timestamp(), event))
    return run_id


def say(
    message_id: str, parent_id: str | None, text: str = "text", role: str = "user"
) -> MessageSent:
    return MessageSent(message_id, parent_id, role, "team", role, text)


def call(
    usage: Usage | None = None,
    *,
    cost: float | None = None,
    model: str = "small",
    agent: str = "Assistant",
    seconds: float = 1.0,
) -> ModelReplied:
    return ModelReplied(
        new_id(), agent, "server", model, usage=usage or Usage(), cost=cost, seconds=seconds
    )
