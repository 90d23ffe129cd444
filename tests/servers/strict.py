"""What chat templates refuse, for servers of tests: each function says why, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.servers.openai_server import Answer, Script

Messages = Sequence[Mapping[str, Any]]
Template = Callable[[Messages], str]


def refuse_as_mistral(messages: Messages) -> str:
    """One system message in front, turns, calls with their results, ids of nine letters."""
    if any(each["role"] == "system" for each in messages[1:]):
        return "Unexpected role 'system' after role 'user'"
    turns = [each for each in messages if each["role"] != "system"]
    spoken = [
        each["role"] for each in turns if each["role"] != "tool" and not each.get("tool_calls")
    ]
    if spoken != [("user", "assistant")[number % 2] for number in range(len(spoken))]:
        return (
            "After the optional system message, conversation roles must alternate"
            " user/assistant/user/assistant/..."
        )
    if not turns or turns[-1]["role"] not in ("user", "tool"):
        return "Expected last role User or Tool for serving but got assistant"
    if any("name" in each for each in turns if each["role"] != "tool"):
        return "Extra inputs are not permitted: the user message has a name"
    return _refuse_calls(turns)


def refuse_as_gemma(messages: Messages) -> str:
    """No system message at all, and turns; it has no tools."""
    if any(each["role"] == "system" for each in messages):
        return "System role not supported"
    spoken = [each["role"] for each in messages if not each.get("tool_calls")]
    plain = [role for role in spoken if role != "tool"]
    if plain != [("user", "assistant")[number % 2] for number in range(len(plain))]:
        return "Conversation roles must alternate user/assistant/user/assistant/..."
    return _refuse_calls(messages)


def _refuse_calls(turns: Messages) -> str:
    open_ids: list[str] = []
    for each in turns:
        if each["role"] == "tool":
            if not open_ids or open_ids.pop(0) != each["tool_call_id"]:
                return "Not the same number of tool calls and tool results"
            continue
        if open_ids:
            return "Not the same number of tool calls and tool results"
        open_ids = [call["id"] for call in each.get("tool_calls") or ()]
        if not all(re.fullmatch("[A-Za-z0-9]{9}", given) for given in open_ids):
            return "Tool call IDs should be alphanumeric strings with length 9!"
        if not each.get("content") and not open_ids:
            return f"The {each['role']} message is empty; every role must say something"
    return "Not the same number of tool calls and tool results" if open_ids else ""


def strict(template: Template, script: Script) -> Script:
    """The script, on a server that runs this template: what it refuses gets a 400."""

    def answer(body: dict[str, Any]) -> Answer:
        if why := template(body["messages"]):
            return Answer(status=400, error={"message": why, "type": "BadRequestError"})
        return script(body)

    return answer
