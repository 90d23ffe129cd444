"""The team of two: a researcher looks each part of the question up on its own, a writer answers
from what was found.
"""

from __future__ import annotations

import re

from agentkit.core import stopping
from agentkit.llm.calls.client import call
from agentkit.messages import message
from agentkit.retrieval import Hit
from agentkit.teams.answer import HISTORY, answer_from, standalone_question
from agentkit.teams.task import Answer, Task, Team, covers

RESEARCHER, WRITER = "Researcher", "Writer"
PARTS, PER_PART, PASSAGES = 4, 4, 12

PLAN = """Break the user's question into the separate facts that must be looked up to answer it, \
at most 4.
Reply with one short search question per line and nothing else. If it is one simple question, \
reply with that line alone."""


def work(task: Task) -> Answer:
    """Split, look up, hand over, write."""
    parts = question_parts(task)
    found = [
        task.retrieve(part)[:PER_PART] if len(parts) > 1 else task.retrieve(part) for part in parts
    ]
    hits = merge(found)
    lines = [f"{part} ({len(some)} passages)" for part, some in zip(parts, found, strict=True)]
    task.say(RESEARCHER, WRITER, "Looked up:\n" + "\n".join(f"- {line}" for line in lines))
    stopping.check()
    return answer_from(task, hits, WRITER)


def question_parts(task: Task) -> list[str]:
    """The separate questions to look up, at most four."""
    question = standalone_question(task)
    if not task.model.is_language_model:
        return split_question(question)
    reply = call(
        task.model,
        [message("system", PLAN), *task.history[-HISTORY:], message("user", question)],
        agent=RESEARCHER,
        stream=False,
    )
    stopping.check()
    parts = [
        re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line).strip() for line in reply.text.splitlines()
    ]
    return [part for part in parts if part][:PARTS] or [question]


def split_question(question: str) -> list[str]:
    """Cut at question marks, and before an `and` that begins another question."""
    cut = re.split(
        r"(?<=\?)\s++|(?:,|(?<![\s,]))\s++and\s++"
        r"(?=(?:who|what|when|where|why|how|which|does|do|is|are|can|will)\b)",
        question,
        flags=re.IGNORECASE,
    )
    return [part.strip() for part in cut if part and part.strip(" ?")][:PARTS] or [question]


def merge(found: list[list[Hit]]) -> list[Hit]:
    """The hits of all parts, best of each part first; what stands in another one is left out."""
    merged: list[Hit] = []
    for rank in range(max(map(len, found), default=0)):
        for hits in found:
            if rank < len(hits) and not any(covers(known, hits[rank]) for known in merged):
                merged.append(hits[rank])
    return merged[:PASSAGES]


TEAM = Team(
    "research",
    "Researcher and writer",
    "Two agents: one looks each part of a question up, one writes the answer.",
    (RESEARCHER, WRITER),
    work,
    answers_at_once=True,
    goes_on=True,
)
