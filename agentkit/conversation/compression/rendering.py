"""Messages as text for those who summarise them: who said what, what was called and what came
back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentkit.conversation.compression.shape import is_summary
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
        yield (
            "SUMMARY",
            without_passages(str(message["content"]).partition("\n")[2])
            .replace(STILL_CITED, "")
            .strip(),
        )
        return
    responses = responses_of(message)
    for response in responses:
        name = response.get("name") or ""
        yield _labelled("FUNCTION_RETURN", name), _plain(text_of(response.get("content")), passages)
    text = "" if responses else text_of(content_of(message))
    if text.strip():
        role = (
            "USER"
            if message.get("role") == "user"
            else str(message.get("role", "assistant")).upper()
        )
        yield _labelled(role, str(message.get("name") or "")), _plain(text, passages)
    for call in functions_of(message):
        yield "FUNCTION_CALL", f"{call.get('name')}({call.get('arguments') or ''})"


def written(messages: Sequence[AnyMessage]) -> list[str]:
    """Each part of the messages as one text, its label before it."""
    return [f"##{label}## {text}" for message in messages for label, text in said(message)]


def _labelled(role: str, name: str) -> str:
    return f"{role} {name}".rstrip()


def _plain(text: str, passages: bool) -> str:
    if "<passage" not in text:
        return text
    shown = [f"[{each.marker}] {each.text}" for each in parse_passages(text)] if passages else []
    return "\n".join([without_passages(text).strip(), *shown]).strip()
