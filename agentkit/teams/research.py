"""The team of two: a researcher looks each part of the question up on its own, a writer answers
from what was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, zip_longest

from agentkit.core import stopping
from agentkit.llm.calls.client import call
from agentkit.messages import message
from agentkit.retrieval import Hit
from agentkit.teams.answer import USUAL, Binding, answer_from, complete_question
from agentkit.teams.citing import covers
from agentkit.teams.memory.long_memory import tell_turns
from agentkit.teams.roster import RESEARCHER, WRITER
from agentkit.teams.task import Answer, Task

PARTS, PER_PART, PASSAGES = 4, 4, 12

PLAN = """Break the user's question into the separate facts that must be looked up to answer it, \
at most 4.
Reply with one short search question per line and nothing else. If it is one simple question, \
reply with that line alone."""


_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_BORDER = re.compile(
    r"(?<=\?)\s++|(?:,|(?<![\s,]))\s++and\s++"
    r"(?=(?:who|what|when|where|why|how|which|does|do|is|are|can|will)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Setup:
    """Who looks up and who writes, and how much."""

    researcher: str = RESEARCHER
    writer: str = WRITER
    parts: int = PARTS
    """Parts of a question at most."""
    per_part: int = PER_PART
    """Passages for each of several parts."""
    passages: int = PASSAGES
    """Passages in all."""
    plan: str = PLAN
    """How the researcher is told to split the question."""
    looks_up: Binding = USUAL
    writes: Binding = USUAL


def work(task: Task) -> Answer:
    """Split, look up, hand over, write."""
    return carry_out(task, task.retrieve, Setup())


def carry_out(task: Task, retrieve: Callable[[str], list[Hit]], setup: Setup) -> Answer:
    """Split, look up, hand over, write, as it is set up."""
    parts = find_parts(task, setup)
    most = None
    if len(parts) > 1:
        most = setup.per_part
    found: list[list[Hit]] = []
    told = ["Looked up:"]
    for part in parts:
        hits = retrieve(part)[:most]
        found.append(hits)
        told.append(f"- {part} ({len(hits)} passages)")
    task.say(setup.researcher, setup.writer, "\n".join(told))
    stopping.check()
    merged = merge(found, setup.passages)
    return answer_from(task, merged, setup.writer, binding=setup.writes)


def find_parts(task: Task, setup: Setup) -> list[str]:
    """The separate questions to look up, at most as many as is set up."""
    binding = setup.looks_up
    question = complete_question(task, binding)
    model = binding.choose_model(task)
    if not model.is_language_model:
        return split_question(question)
    prompt = [
        message("system", setup.plan),
        *tell_turns(task),
        message("user", question),
    ]
    reply = call(
        model,
        prompt,
        agent=setup.researcher,
        stream=False,
        params=binding.params,
    )
    stopping.check()
    lines = reply.text.splitlines()
    parts = [_BULLET.sub("", line).strip() for line in lines]
    filled = list(filter(None, parts))
    return filled[: setup.parts] or [question]


def split_question(question: str) -> list[str]:
    """Cut at question marks, and before an `and` that begins another question."""
    asking: list[str] = []
    for part in _BORDER.split(question):
        words = part.strip()
        if words.strip(" ?"):
            asking.append(words)
    return asking[:PARTS] or [question]


def merge(found: list[list[Hit]], most: int = PASSAGES) -> list[Hit]:
    """The hits of all parts, best of each part first; what stands in another one is left out."""
    merged: list[Hit] = []
    by_rank = chain.from_iterable(zip_longest(*found))
    for hit in filter(None, by_rank):
        if not any(covers(known, hit) for known in merged):
            merged.append(hit)
    return merged[:most]
