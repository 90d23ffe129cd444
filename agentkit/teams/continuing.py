"""Going on with an answer that broke off: what was found and written before is not done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.core import bus
from agentkit.events import MessageSent, Retrieved
from agentkit.llm.calls.client import call
from agentkit.llm.calls.ends import cut_by
from agentkit.llm.offline.passages import Passage, format_passages
from agentkit.messages import Message, message
from agentkit.reasons import ANSWERED, NO_EVIDENCE, STOPPED
from agentkit.teams.answer import HISTORY, INSTRUCTIONS, NOTHING
from agentkit.teams.ending import without_ending
from agentkit.teams.task import Answer, Evidence, Task, markers
from agentkit.teams.written import citation_of, joined

EARLIER = "earlier"
"""The mode of a Retrieved that only takes over what was found before."""
GO_ON = """Your answer broke off there. Write on exactly from its last word, without a word about \
it.
Repeat nothing of what you have written, and keep its language, form and numbers of passages."""
OTHERS = "Others have worked on it already. What they said, in order:"


@dataclass(frozen=True, slots=True)
class Begun:
    """What there is of an answer."""

    text: str
    """What its writer had written of it."""
    said: Sequence[tuple[str, str, str]]
    """What the agents told one another before: sender, recipient and text."""
    passages: Mapping[int, tuple[Passage, Mapping[str, Any]]]
    """What they found, as `written.passages_in` gives it."""


def go_on(task: Task, begun: Begun, agent: str) -> Answer:
    """Let the model write on what had begun, in the name of the agent that wrote it.

    What the other agents had said and found belongs to the new answer, too. Raises what the
    model raises.
    """
    for sender, recipient, text in begun.said:
        task.say(sender, recipient, text)
    if begun.passages:
        hits = [dict(hit) for _, hit in begun.passages.values()]
        bus.emit(Retrieved(task.question, "", EARLIER, hits, 0.0))
    reply = call(task.model, _prompt(task, begun), agent=agent)
    text = without_ending(joined(begun.text, reply.text))
    citations = tuple(
        citation_of(number, begun.passages[number][1])
        for number in markers(text)
        if number in begun.passages
    )
    numbered = {number: (one.text, one.source) for number, (one, _) in begun.passages.items()}
    found = Evidence(citations, task.checked(text, numbered))
    task.say(
        agent,
        "user",
        text,
        status="stopped" if reply.stopped else "complete",
        final=True,
        extra=found.to_json() | {"model": task.model.id},
        cut=cut_by(reply.end),
    )
    end = STOPPED if reply.stopped else ANSWERED if citations else NO_EVIDENCE
    return Answer(text, citations, end, cut_by(reply.end), checks=found.checks)


def _prompt(task: Task, begun: Begun) -> list[Message]:
    given = [passage for passage, _ in begun.passages.values()]
    question = task.question
    if begun.said:
        told = "\n\n".join(f"{sender}: {text}" for sender, _, text in begun.said)
        question = f"{question}\n\n{OTHERS}\n\n{told}"
    prompt = [
        message("system", INSTRUCTIONS + (format_passages(given) if given else NOTHING)),
        *task.history[-HISTORY:],
        message("user", question),
    ]
    if begun.text:
        prompt += [message("assistant", begun.text), message("user", GO_ON)]
    return prompt


def said_by_agents(events: Sequence[object]) -> list[tuple[str, str, str]]:
    """What agents told one another in these events: sender, recipient and text."""
    return [
        (event.sender, event.recipient, event.content)
        for event in events
        if isinstance(event, MessageSent)
        and event.extra.get("inner")
        and not event.extra.get("silent")
        and event.role not in ("tool", "function", "user")
        and event.status == "complete"
        and event.content.strip()
    ]
