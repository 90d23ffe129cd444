"""Messages as text for those who summarise them: who said what, what was called and what came
back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentkit.conversation.compression.shape import is_summary
from agentkit.core.given import coalesce
from agentkit.llm.offline.passages import parse_passages, without_passages
from agentkit.messages import AnyMessage, content_of, functions_of, responses_of, text_of

Said = tuple[str, str]
"""Who (or what) says it, and the text."""


STILL_CITED = "Passages that are cited above or below:"


def said(message: AnyMessage, *, passages: bool = True) -> Iterator[Said]:
    """The parts of a message, each with its label: USER, ASSISTANT, FUNCTION_CALL, FUNCTION_RETURN
    or SUMMARY.

    Passages of documents are told with their number, or left out.
    """
    if is_summary(message):
        yield "SUMMARY", _read_summary(str(message["content"]))
        return
    responses = responses_of(message)
    for response in responses:
        text = text_of(response.get("content"))
        yield _label("FUNCTION_RETURN", response), _format(text, passages)
    if not responses:
        yield from _say(message, passages)
    for call in functions_of(message):
        name, arguments = call.get("name"), coalesce(call.get("arguments"), "")
        yield "FUNCTION_CALL", f"{name}({arguments})"


def _say(message: AnyMessage, passages: bool) -> Iterator[Said]:
    """What is said in a message other than a result, unless that is nothing."""
    text = text_of(content_of(message))
    if text.strip():
        role = str(message.get("role", "assistant")).upper()
        yield _label(role, message), _format(text, passages)


def written(messages: Sequence[AnyMessage]) -> list[str]:
    """Each part of the messages as one text, its label before it."""
    parts: list[str] = []
    for message in messages:
        parts += [f"##{label}## {text}" for label, text in said(message)]
    return parts


def _read_summary(content: str) -> str:
    """What was summarised before, without the heading and the passages."""
    text = without_passages(content.partition("\n")[2])
    return text.replace(STILL_CITED, "").strip()


def _label(role: str, speaker: AnyMessage) -> str:
    name = coalesce(speaker.get("name"), "")
    return f"{role} {name}".rstrip()


def _format(text: str, passages: bool) -> str:
    if "<passage" not in text:
        return text
    parts = [without_passages(text).strip()]
    if passages:
        parts += [f"[{each.marker}] {each.text}" for each in parse_passages(text)]
    return "\n".join(parts).strip()
