"""AutoGen's `runtime_logging`: the calls are in a SQLite file with AutoGen's columns, and in the
ledger.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from agentkit.api import Workspace, runtime_logging
from agentkit.errors import WrongArgument
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from tests.api.test_recording import ME, chat


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    runtime_logging.stop()
    if connection := runtime_logging.get_connection():
        connection.close()


def rows(file: Path, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"select * from {table}")]


def test_calls_are_in_the_file_and_in_the_ledger(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "logs.db"
    session = runtime_logging.start(config={"dbname": str(file)}, settings=settings)
    assert runtime_logging.logging_enabled()
    chat("One.", "Two.")
    runtime_logging.stop()
    chat("Not heard.")
    assert not runtime_logging.logging_enabled()
    first, second = rows(file, "chat_completions")
    assert (first["session_id"], first["source_name"], first["is_cached"]) == (session, "clerk", 0)
    assert json.loads(first["request"])["messages"][-1]["content"] == "Question 0"
    response = json.loads(second["response"])
    assert response["choices"][0]["message"]["content"] == "Two."
    assert response["usage"]["total_tokens"] == sum(response["usage"].values()) / 2 > 0
    assert first["start_time"] <= first["end_time"] <= second["end_time"]
    said = [json.loads(row["json_state"])["content"] for row in rows(file, "events")]
    assert said == ["Question 0", "One.", "Question 1", "Two."]
    workspace = Workspace(settings, FakeEmbedder())
    (found,) = workspace.figures.runs(ME)
    assert (found.id, found.state, found.calls) == (session, "finished", 2)
    workspace.close()


def test_the_connection_reads_what_was_logged(settings: Settings, tmp_path: Path) -> None:
    runtime_logging.start(config={"dbname": str(tmp_path / "logs.db")}, settings=settings)
    chat("One.")
    connection = runtime_logging.get_connection()
    assert connection is not None
    assert connection.execute("select count(*) from chat_completions").fetchone() == (1,)


def test_cells_of_a_notebook_have_contexts_of_their_own(settings: Settings, tmp_path: Path) -> None:
    config = {"dbname": str(tmp_path / "logs.db")}
    session = copy_context().run(runtime_logging.start, config=config, settings=settings)
    copy_context().run(chat, "One.")
    copy_context().run(runtime_logging.stop)
    chat("Not heard.")
    assert len(rows(tmp_path / "logs.db", "chat_completions")) == 1
    workspace = Workspace(settings, FakeEmbedder())
    assert [(run.id, run.calls) for run in workspace.figures.runs(ME)] == [(session, 1)]
    workspace.close()


def test_a_second_start_ends_the_first_session(settings: Settings, tmp_path: Path) -> None:
    config = {"dbname": str(tmp_path / "logs.db")}
    first = runtime_logging.start(config=config, settings=settings)
    second = runtime_logging.start(config=config, settings=settings)
    chat("One.")
    runtime_logging.stop()
    assert (
        [row["session_id"] for row in rows(tmp_path / "logs.db", "chat_completions")]
        == [second]
        != [first]
    )


def test_a_text_file_has_a_line_for_each_row(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runtime_logging.start(logger_type="file", config={"filename": "my.log"}, settings=settings)
    chat("One.")
    runtime_logging.stop()
    lines = [
        json.loads(line) for line in (tmp_path / "autogen_logs" / "my.log").read_text().splitlines()
    ]
    (call,) = [line for line in lines if "response" in line]
    assert (call["source_name"], call["is_cached"]) == ("clerk", 0)
    assert [
        json.loads(line["json_state"])["content"] for line in lines if "json_state" in line
    ] == ["Question 0", "One."]
    assert not (tmp_path / "logs.db").exists()


def test_other_loggers_are_refused() -> None:
    with pytest.raises(WrongArgument, match="logger_type='other' is not there"):
        runtime_logging.start(logger_type="other")
    with pytest.raises(WrongArgument, match="logger="):
        runtime_logging.start(logger=object())
