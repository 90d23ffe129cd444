"""The open branch of a chat in a file, as questions with their answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentkit.core.given import join_filled
from agentkit.core.naming import name_source
from agentkit.ledger.kept_teams import PREFIX
from agentkit.teams import team, teams
from agentkit.ui.text import figures
from agentkit.ui.text.results import Picture, Remark, Result, read_results

if TYPE_CHECKING:
    from agentkit.workspace.sharing.form import CallPart, ChatFile, MessagePart

_ENDS = {
    "stopped": "Stopped: this is what had been written by then.",
    "failed": "The answer broke off.",
    "interrupted": "The app was closed in the middle of this answer.",
}
"""What is said of an answer that is not whole, by its status."""
_UNSAFE = re.compile(r"[^\w.,()+-]+")
_LONGEST_NAME = 80
Citation = dict[str, Any]


@dataclass(slots=True)
class Exchange:
    """A question, and its answer as far as there is one."""

    question: str
    asked_at: datetime | None = None
    answer: str = ""
    end: str = ""
    """What is to be said where the answer is not whole."""
    citations: list[Citation] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    """What cells gave."""
    took: str = ""
    shown: list[Result] = field(default_factory=list)
    """The pictures that went along with the question."""


def list_exchanges(file: ChatFile) -> list[Exchange]:
    """The questions and answers of the open branch, oldest first."""
    results = _read_results(file)
    calls = _group_calls(file)
    took = {run.message_id: _describe_calls(calls[run.id]) for run in file.runs}
    found: list[Exchange] = []
    for said in _find_branch(file):
        if said.extra.get("inner"):
            continue
        is_question = said.role == "user"
        if is_question or not found:
            found.append(_begin_exchange(said, file))
        last = found[-1]
        if not is_question:
            _put_answer(last, said)
            last.took = took.get(said.id, "")
        last.results = results.get(said.run_id or "", last.results)
    return found


def _begin_exchange(said: MessagePart, file: ChatFile) -> Exchange:
    """What begins with a question; with an answer only where its question is not there."""
    begun = Exchange("", said.created_at, shown=_read_pictures(said, file))
    if said.role == "user":
        begun.question = said.content
    return begun


def describe_chat(file: ChatFile) -> str:
    """Whom the chat asks, over what, and when it began, in plain text."""
    chat = file.chat
    asked = chat.team
    if chat.team.startswith(PREFIX):
        asked = "A team of one's own"
    elif chat.team in [one.id for one in teams()]:
        asked = team(chat.team).title
    began = f"begun {chat.created_at.day} {chat.created_at:%b %Y, %H:%M} UTC"
    return " · ".join([f"{asked}, over {chat.collection}", chat.model, began])


def describe_source(citation: Citation) -> str:
    """The document, the page or place in it, and the heading there, in plain text."""
    document, page, place, heading = map(citation.get, ("document", "page", "place", "heading"))
    return name_source(document, page, place, heading)


def name_file(title: str, form: str) -> str:
    """A name for a file with this chat, whatever its title has in it."""
    name = _UNSAFE.sub(" ", title).strip(" .")[:_LONGEST_NAME].strip(" .")
    return f"{name or 'chat'}.{'chat.json' if form == 'json' else form}"


def _find_branch(file: ChatFile) -> list[MessagePart]:
    known = {one.id: one for one in file.messages}
    branch: list[MessagePart] = []
    at = file.chat.head_id
    while at is not None:
        branch.append(known[at])
        at = known[at].parent_id
    return branch[::-1]


def _put_answer(exchange: Exchange, said: MessagePart) -> None:
    exchange.answer = said.content
    exchange.citations = [one for one in _list(said.extra.get("citations")) if one.get("text")]
    end = _ENDS.get(said.status, "")
    exchange.end = join_filled(" ", [end, str(said.extra.get("error") or "")])


def _read_pictures(said: MessagePart, file: ChatFile) -> list[Result]:
    return [_read_picture(one, file) for one in _list(said.extra.get("pictures"))]


def _read_picture(told: dict[str, Any], file: ChatFile) -> Result:
    """A picture that was asked about; its name alone where its bytes are not in the file."""
    name, kept = str(told.get("name", "")), str(told.get("kept", ""))
    content = file.kept.get(kept)
    if content is None:
        return Remark(f"Picture: {name}")
    return Picture(name, "image/png" if kept.endswith(".png") else "image/jpeg", content)


def _list(value: object) -> list[Citation]:
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    return []


def _read_results(file: ChatFile) -> dict[str, list[Result]]:
    """What the cells of each run gave."""
    results: dict[str, list[Result]] = {}
    for run in file.runs:
        found = results.setdefault(run.id, [])
        for event in run.events:
            if event.kind == "CodeRan":
                found += read_results(event.data, file.kept)
    return results


def _group_calls(file: ChatFile) -> dict[str, list[CallPart]]:
    """The calls of each run."""
    found: dict[str, list[CallPart]] = {run.id: [] for run in file.runs}
    for call in file.calls:
        if call.run_id:
            found[call.run_id].append(call)
    return found


def _describe_calls(made: Sequence[CallPart]) -> str:
    """What an answer took: models, tokens, seconds, and what it cost as far as that is known."""
    if not made:
        return ""
    prompt = written = 0
    seconds = paid = 0.0
    models: dict[str, None] = {}
    for call in made:
        prompt += call.input_tokens + call.cache_read_tokens + call.cache_write_tokens
        written += call.output_tokens + call.reasoning_tokens
        seconds += call.seconds
        paid += call.cost or 0.0
        if call.purpose == "chat":
            models[call.model] = None
    parts = [
        ", ".join(models),
        f"{figures.count(prompt)} tokens in, {figures.count(written)} out",
        figures.seconds(seconds),
    ]
    if paid:
        parts.append(figures.dollars(paid))
    return join_filled(" · ", parts)
