"""What a prompt gives the offline model: the passages, the question, what was asked before, how to say no."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.llm.offline.passages import Passage, parse_passages, without_passages
from agentkit.messages import text_of

UPDATE_CONTEXT = "UPDATE CONTEXT"
_QUESTION = re.compile(r"(?:user'?s )?question(?: is)?:[ \t]*(.+?)(?=\n\s*\n|\n\s*context\b|\Z)", re.IGNORECASE | re.DOTALL)
_CONTEXT = re.compile(r"context(?: is)?:[ \t]*\n?(.+)\Z", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, taken apart."""

    question: str
    earlier: str
    """The user's question before, for follow-ups; empty at the start of a chat."""
    passages: tuple[Passage, ...]
    refusal: str
    """What to reply, word for word, when nothing answers; empty when any honest sentence will do."""
    cites: bool
    """Whether passages have numbers to cite."""


def read(messages: Sequence[Mapping[str, Any]]) -> Asked:
    """Take a prompt apart; passages may stand in any message, or unnumbered behind `Context is:` in the last one."""
    texts = [(str(message.get("role", "")), text_of(message.get("content"))) for message in messages]
    passages = [passage for _, text in texts for passage in parse_passages(text)]
    asked = [without_passages(text).strip() for role, text in texts if role == "user"]
    question = asked[-1] if asked else ""
    refusal = UPDATE_CONTEXT if any(UPDATE_CONTEXT in text for role, text in texts if role != "assistant") else ""
    cites = bool(passages)
    marked = _QUESTION.search(question)
    if not passages and (context := _CONTEXT.search(question)):
        passages = [
            Passage(number, "", block) for number, block in enumerate(re.split(r"\n\s*\n", context[1]), start=1) if block.strip()
        ]
    if marked:
        question = marked[1].strip()
    return Asked(question, asked[-2] if len(asked) > 1 else "", tuple(passages), refusal, cites)
