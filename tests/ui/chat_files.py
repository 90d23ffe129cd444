"""Chats in the form of a file, made for tests without a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentkit.messages import new_id
from agentkit.workspace.sharing.form import ChatFile

_AT = "2026-03-01T12:00:00Z"


def cite(marker: int, **facts: Any) -> dict[str, Any]:
    """A citation."""
    place = {"document_id": "d", "document": "tea.txt", "chunk_id": 1, "page": None, "place": ""}
    span = {"heading": "", "start": 0, "end": 9, "text": "Steeped at 80 degrees.", "score": 0.9}
    return {"marker": marker, **place, **span, **facts}


def said(
    question: str,
    answer: str,
    *citations: Mapping[str, Any],
    status: str = "complete",
    error: str = "",
    inner: str = "",
) -> list[dict[str, Any]]:
    """The messages of a question and its answer."""
    extra = {"citations": list(citations), "error": error}
    among = [_message("assistant", inner, {"inner": True})] if inner else []
    told = _message("assistant", answer, extra, status)
    return [_message("user", question, {"team_id": "answer"}), *among, told]


def ran(code: str, outputs: Sequence[Any], files: Sequence[Any]) -> dict[str, Any]:
    """The event of a cell."""
    cell = {"id": "c", "status": "ok", "outputs": list(outputs), "files": list(files)}
    data = {"agent": "R", "language": "python", "code": code, "exit_code": 0, "output": ""}
    return {"seq": 1, "happened_at": _AT, "kind": "CodeRan", "data": {**data, "cell": cell}}


def chat_file(
    *turns: Sequence[dict[str, Any]],
    title: str = "Tea *hot*",
    events: Sequence[Any] = (),
    kept: Mapping[str, str] | None = None,
    call: Mapping[str, Any] | None = None,
) -> ChatFile:
    """A chat of these turns, in a run each; the last one has these events and this call."""
    messages, runs, before = [], [], None
    for turn in turns:
        run_id = new_id()
        for one in turn:
            messages.append({**one, "parent_id": before, "run_id": run_id})
            before = one["id"]
        runs.append(_run(run_id, before))
    if runs:
        runs[-1]["events"] = list(events)
    calls = [_call(runs[-1]["id"], before, call)] if call else []
    chat = {"id": new_id(), "title": title, "team": "answer", "model": "offline"}
    times: dict[str, Any] = {"created_at": _AT, "updated_at": _AT, "settings": {}}
    return ChatFile.model_validate(
        {
            "format": "agentkit chat",
            "version": 1,
            "chat": {**chat, "collection": "Kitchen", "head_id": before, **times},
            "messages": messages,
            "runs": runs,
            "calls": calls,
            "requests": {},
            "kept": dict(kept or {}),
            "left_out": {},
        }
    )


def _message(
    role: str, content: str, extra: Mapping[str, Any], status: str = "complete"
) -> dict[str, Any]:
    people = {"id": new_id(), "sender": role, "recipient": "team", "role": role}
    rest = {"content": content, "status": status, "extra": dict(extra)}
    return {**people, **rest, "created_at": _AT, "thinking": None}


def _run(run_id: str, message_id: str | None) -> dict[str, Any]:
    told = {"id": run_id, "kind": "chat", "title": "t", "state": "finished", "reason": ""}
    times = {"started_at": _AT, "finished_at": _AT}
    return {**told, **times, "message_id": message_id, "events": []}


def _call(run_id: str, message_id: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    which = {"id": new_id(), "attempt": 1, "run_id": run_id, "message_id": message_id}
    who = {"agent": "Answerer", "provider": "server", "model": "small", "purpose": "chat"}
    end = {"status": "ok", "error": "", "error_type": "", "estimated": False, "cost": None}
    kinds = ("input", "cache_read", "cache_write", "output", "reasoning")
    tokens = {f"{kind}_tokens": 0 for kind in kinds}
    took: dict[str, Any] = {"seconds": 2.0, "first_token_s": None, "raw_usage": {}}
    return {**which, **who, **end, **tokens, **took, "finished_at": _AT, **given}
