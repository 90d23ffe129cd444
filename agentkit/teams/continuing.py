"""Going on with an answer that broke off: what was found and written before is not done again."""

from __future__ import annotations

from agentkit.core import bus
from agentkit.events import Retrieved
from agentkit.llm.calls.client import call
from agentkit.llm.calls.ends import cut_by
from agentkit.llm.offline.passages import format_passages
from agentkit.messages import Message, message
from agentkit.teams.answer import INSTRUCTIONS, NOTHING, find_end, to_status
from agentkit.teams.citing import Evidence
from agentkit.teams.drafts import EARLIER, Begun, cite_passages, join_parts
from agentkit.teams.ending import without_ending
from agentkit.teams.memory.long_memory import tell_turns
from agentkit.teams.task import Answer, Task

GO_ON = """Your answer broke off there. Write on exactly from its last word, without a word about \
it.
Repeat nothing of what you have written, and keep its language, form and numbers of passages."""
OTHERS = "Others have worked on it already. What they said, in order:"


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
