"""AutoGen's `runtime_logging`: what agents do between `start` and `stop`, in the ledger and in a
file.

A SQLite file has AutoGen's tables `chat_completions`, `events` and `function_calls`, with their
columns; in a text file each of their rows is a line of JSON.
"""

from __future__ import annotations

import atexit
import json
import sqlite3
import threading
from contextlib import ExitStack
from contextvars import Context
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentkit import runs
from agentkit.api.recording import record
from agentkit.core import bus
from agentkit.errors import WrongArgument
from agentkit.events import Event, MessageSent, ModelCalled, ModelReplied, ToolCalled, ToolReturned
from agentkit.settings import Settings

_TABLES = """
create table if not exists chat_completions (
    id integer primary key, invocation_id text, client_id integer, wrapper_id integer,
    session_id text,
    source_name text, request text, response text, is_cached integer, cost real,
    start_time datetime,
    end_time datetime);
create table if not exists events (
    event_name text, source_id integer, source_name text, agent_module text, agent_class_name text,
    id integer primary key, json_state text, timestamp datetime);
create table if not exists function_calls (
    source_id integer, source_name text, function_name text, args text, returns text,
    timestamp datetime);
"""


class _Log:
    """The rows of one session."""

    def __init__(self, database: str, lines: Path | None, settings: Settings | None) -> None:
        self._lines = lines
        if lines is not None:
            lines.parent.mkdir(exist_ok=True)
        self.connection = sqlite3.connect(database, check_same_thread=False)
        self.connection.executescript(_TABLES)
        self._turn = threading.Lock()
        self._asked: dict[str, ModelCalled] = {}
        self._arguments: dict[str, str] = {}
        self._around = ExitStack()
        self._context = Context()  # its own: start and stop may stand in different cells
        recording = record("runtime_logging", settings)
        self.session = self._context.run(self._around.enter_context, recording).id
        self._hearing = self._context.run(bus.listeners)
        self._around.enter_context(bus.listening_everywhere(self.hear))
        atexit.register(self.end)  # many scripts never stop

    def hear(self, event: Event) -> None:
        """Keep an event in the ledger and in the file; those of a run within are in the ledger
        already.
        """
        if runs.current() is None:
            for listener in self._hearing:
                listener(event)
        self.write(event)

    def write(self, event: Event) -> None:
        """Keep what AutoGen has a table for."""
        with self._turn:
            match event:
                case ModelCalled():
                    self._asked[event.call_id] = event
                case ModelReplied() if event.purpose == "chat":
                    self._add_call(event)
                case MessageSent():
                    state = json.dumps(asdict(event), ensure_ascii=False, default=str)
                    self._add(
                        "events",
                        event_name="received_message",
                        source_name=event.recipient,
                        json_state=state,
                        timestamp=_time(),
                    )
                case ToolCalled():
                    self._arguments[event.call_id] = event.arguments
                case ToolReturned():
                    self._add(
                        "function_calls",
                        source_name=event.agent,
                        function_name=event.name,
                        args=self._arguments.pop(event.call_id, None),
                        returns=event.content,
                        timestamp=_time(),
                    )
                case _:
                    pass

    def _add_call(self, event: ModelReplied) -> None:
        asked = self._asked.pop(event.call_id, None)
        request = {}
        if asked:
            request = {**asked.request, "model": asked.model, "messages": asked.messages}
        self._add(
            "chat_completions",
            invocation_id=event.call_id,
            session_id=self.session,
            source_name=event.agent,
            request=json.dumps(request, ensure_ascii=False, default=str),
            response=json.dumps(_response(event), ensure_ascii=False),
            is_cached=int(event.status == "cached"),
            cost=event.cost,
            start_time=_time(-event.seconds),
            end_time=_time(),
        )

    def _add(self, table: str, **values: object) -> None:
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        self.connection.execute(
            f"insert into {table} ({columns}) values ({marks})", list(values.values())
        )
        self.connection.commit()
        if self._lines is not None:
            with self._lines.open("a", encoding="utf-8") as out:
                out.write(json.dumps(values, ensure_ascii=False) + "\n")

    def end(self) -> None:
        """Hear no more."""
        atexit.unregister(self.end)
        self._context.run(self._around.close)


class _State:
    """What the functions of this module have in common, as in AutoGen."""

    log: _Log | None = None
    on = False


def start(
    logger: object = None,
    logger_type: str = "sqlite",
    config: dict[str, Any] | None = None,
    *,
    settings: Settings | None = None,
) -> str:
    """Begin to log, and give the session's id, under which it also stands among the app's runs.

    `config["dbname"]` names the SQLite file, `logs.db` by default. With the type "file" it is a
    text file, `config["filename"]` in the folder `autogen_logs`, `runtime.log` by default. What is
    there already stays. Ends a session that goes on. Raises WrongArgument for loggers of one's own
    and other types, StoreError when the ledger cannot be written.
    """
    if logger is not None or logger_type not in ("sqlite", "file"):
        given = f"logger={logger!r}" if logger is not None else f"logger_type={logger_type!r}"
        raise WrongArgument(
            f"{given} is not there; log to 'sqlite', or listen to the events of a run."
        )
    named = config or {}
    lines = None
    if logger_type == "file":
        lines = Path("autogen_logs", named.get("filename", "runtime.log"))
    stop()
    if _State.log is not None:
        _State.log.connection.close()
    database = ":memory:"
    if lines is None:
        database = str(named.get("dbname", "logs.db"))
    _State.log = _Log(database, lines, settings)
    _State.on = True
    return _State.log.session


def stop() -> None:
    """End the session, if there is one; its rows can still be read."""
    if _State.log is not None and _State.on:
        _State.on = False
        _State.log.end()


def get_connection() -> sqlite3.Connection | None:
    """The file of the newest session; None before the first."""
    if _State.log is not None:
        return _State.log.connection
    return None


def logging_enabled() -> bool:
    """Whether a session goes on."""
    return _State.on


def _response(event: ModelReplied) -> object:
    """The reply in the form of OpenAI's API; of a call that failed, the error."""
    if event.status == "failed":
        return event.error
    usage = {"prompt_tokens": event.usage.prompt, "completion_tokens": event.usage.completion}
    return {
        "id": event.call_id,
        "model": event.model,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": event.text}}],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }


def _time(seconds: float = 0.0) -> str:
    return str((datetime.now(UTC) + timedelta(seconds=seconds)).replace(tzinfo=None))
