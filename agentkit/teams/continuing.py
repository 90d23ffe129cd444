"""Going on with an answer that broke off: what was found and written before is not done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.core import bus
from agentkit.core.given import pick_kind
from agentkit.events import MessageSent, Retrieved
from agentkit.llm.calls.client import call
from agentkit.llm.calls.ends import cut_by
from agentkit.llm.offline.passages import Passage, format_passages
from agentkit.messages import Message, message
from agentkit.teams.answer import INSTRUCTIONS, NOTHING, find_end, to_status
from agentkit.teams.citing import Evidence
from agentkit.teams.drafts import cite_passages, is_audible, join_parts
from agentkit.teams.ending import without_ending
from agentkit.teams.memory.long_memory import tell_turns
from agentkit.teams.task import Answer, Task

EARLIER = "earlier"
"""The mode of a Retrieved that only takes over what was found before."""
GO_ON = """Your answer broke off there. Write on exactly from its last word, without a word about \
it.
Repeat nothing of what you have written, and keep its language, form and numbers of passages."""
_NO_AGENTS = ("tool", "function", "user")
"""Roles of messages that no agent wrote."""
OTHERS = "Others have worked on it already. What they said, in order:"


@dataclass(frozen=True, slots=True)
class Begun:
    """What there is of an answer."""

    text: str
    """What its writer had written of it."""
    said: Sequence[tuple[str, str, str]]
    """What the agents told one another before: sender, recipient and text."""
    passages: Mapping[int, tuple[Passage, Mapping[str, Any]]]
    """What they found, as `drafts.find_passages` gives it."""


def go_on(task: Task, begun: Begun, agent: str) -> Answer:
    """Let the model write on what had begun, in the name of the agent that wrote it.

    What the other agents had said and found belongs to the new answer, too. Raises what the
    model raises.
    """
    for sender, recipient, told in begun.said:
        task.say(sender, recipient, told)
    if begun.passages:
        hits = [dict(hit) for _, hit in begun.passages.values()]
        bus.emit(Retrieved(task.question, "", EARLIER, hits, 0.0))
    reply = call(task.model, _prompt(task, begun), agent=agent)
    text = without_ending(join_parts(begun.text, reply.text))
    citations = tuple(cite_passages(text, begun.passages))
    numbered = {number: (one.text, one.source) for number, (one, _) in begun.passages.items()}
    checks = task.check_markers(text, numbered)
    return task.conclude(
        agent,
        text,
        Evidence(citations, checks),
        find_end(reply, citations),
        status=to_status(reply),
        cut=cut_by(reply.end),
    )


def _prompt(task: Task, begun: Begun) -> list[Message]:
    material = NOTHING
    if begun.passages:
        passages = [passage for passage, _ in begun.passages.values()]
        material = format_passages(passages)
    question = task.question
    if begun.said:
        said = [f"{sender}: {text}" for sender, _, text in begun.said]
        question = "\n\n".join([question, OTHERS, *said])
    prompt = [
        message("system", INSTRUCTIONS + material),
        *tell_turns(task),
        message("user", question),
    ]
    if begun.text:
        prompt += [
            message("assistant", begun.text),
            message("user", GO_ON),
        ]
    return prompt


def find_talk(events: Sequence[object]) -> list[tuple[str, str, str]]:
    """What agents told one another in these events: sender, recipient and text."""
    talk: list[tuple[str, str, str]] = []
    for event in pick_kind(events, MessageSent):
        if _is_talk(event):
            told = (event.sender, event.recipient, event.content)
            talk.append(told)
    return talk


def _is_talk(message: MessageSent) -> bool:
    """Whether one agent told others something, and finished it."""
    is_inner = message.extra.get("inner") and is_audible(message)
    if not is_inner:
        return False
    if message.role in _NO_AGENTS:
        return False
    if message.status != "complete":
        return False
    return message.content.strip() != ""
