"""The memory of long chats: a team is told the whole chat, its older turns as a summary that is
made once and gone on with.

The model writes the summary, since a question may come back to anything that was said; where it
cannot, sentences are extracted.
Nothing is kept here: what was told of earlier summaries on the branch of the chat
(`Task.shortened`) says how it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from agentkit.conversation import ConversableAgent
from agentkit.conversation.compression import Compression, ModelSummary, SlidingWindow, ToolOutput
from agentkit.conversation.compression.recall import grown
from agentkit.conversation.compression.shape import Messages, marked
from agentkit.core.io import IOStream
from agentkit.llm.calls.room import room_in
from agentkit.llm.model import Model
from agentkit.llm.tokens.windows import window_of
from agentkit.messages import Message
from agentkit.teams.conversing import Quiet, earlier, voice
from agentkit.teams.task import Task

NOTES = "Note taker"
LONGEST = 16_000
"""Tokens of earlier turns at most, however large the window: every question pays for them, several
times when it searches.
"""
SHARE = 3
"""They take one part in so many of the window; the rest is for the passages, the answer, and the
question.
"""
UNKNOWN_WINDOW = 16_000
"""Tokens that are counted on where nobody knows the model's window."""
_WRITTEN, _EXTRACTED = SlidingWindow(ModelSummary()), SlidingWindow()
_KEPT = 2
"""Messages of a shortened chat that are no newest turns: the first turn, and the summary."""


def remembered(task: Task) -> list[Message]:
    """The earlier turns: all of them while they are short, else the first, a summary, and the
    newest as they are.

    Markers of earlier answers are left out, as in `earlier`. A model that failed to summarise is
    asked again when there are a quarter more turns; until then sentences are extracted. Told as
    Compressed; raises Stopped.
    """
    turns = earlier(task, len(task.history))
    covered, summary, rests = _told_before(task, len(turns))
    shown = [turns[0], summary, *turns[covered:]] if summary else turns
    return _shortened(task, shown, [_EXTRACTED] if rests else [_WRITTEN, _EXTRACTED])


def keep_short(agent: ConversableAgent, model: Model) -> None:
    """Keep what the agent's model is sent within one answer below its window: old results of tools
    go first.

    No model is asked for that: the results can be had again, and the answer does not wait.
    """
    room = room_in(model, {})
    limit = room.goal if room else UNKNOWN_WINDOW
    Compression([ToolOutput(), SlidingWindow()], max(1, limit * 4 // 5), limit=limit).add_to_agent(
        agent
    )


def _window(model: Model) -> int:
    return window_of(model) or UNKNOWN_WINDOW


def _told_before(task: Task, turns: int) -> tuple[int, Message | None, bool]:
    """How many of the first turns the newest summary stands for, and that summary (0 and None
    without one); if the model rests.

    It rests when it failed to summarise while there were hardly fewer turns.
    """
    covered, summary, rests = 0, None, False
    for count, event in task.shortened():
        if summary and grown(count, turns):
            break  # older ones say nothing new
        if event.agent != NOTES:
            continue
        if event.ok and event.summary and summary is None:
            covered, summary = (
                count - (event.messages_after - _KEPT),
                cast(Message, marked(event.summary)),
            )
        rests = rests or (
            not event.ok and event.strategy == _WRITTEN.name and not grown(count, turns)
        )
    return covered, summary, rests


def _shortened(
    task: Task, turns: list[Message], strategies: Sequence[SlidingWindow]
) -> list[Message]:
    """The turns with a summary behind the first of them; the same list when they are short, or when
    nothing can be gained.
    """
    room = min(LONGEST, _window(task.model) // SHARE)
    # An agent of its own: what it writes is not shown as the beginning of the answer.
    agent = ConversableAgent(
        NOTES, human_input_mode="NEVER", llm_config=voice(task), code_execution_config=False
    )
    given = cast(Messages, turns)
    for strategy in strategies:
        with IOStream.set_default(Quiet()):
            made = Compression(strategy, room).compress(given, agent)
        if made is not given:
            return cast(list[Message], made)
    return turns
