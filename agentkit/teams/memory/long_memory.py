"""The memory of long chats: a team is told the whole chat, its older turns as a summary that is
made once and gone on with.

The model writes the summary, since a question may come back to anything that was said; where it
cannot, sentences are extracted.
Nothing is kept here: what was told of earlier summaries on the branch of the chat
(`Task.shortened`) says how it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

from agentkit.core.given import list_new_objects
from agentkit.core.io import IOStream, Quiet
from agentkit.events import Compressed
from agentkit.llm.calls.room import room_in
from agentkit.llm.model import Model
from agentkit.llm.tokens.windows import window_of
from agentkit.messages import Message, sendable_form, text_of
from agentkit.teams.citing import MARKER
from agentkit.teams.task import Task

if TYPE_CHECKING:  # loaded when there is something to shorten
    from agentkit.conversation import ConversableAgent
    from agentkit.conversation.compression import SlidingWindow
    from agentkit.conversation.compression.shape import Messages

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
_NEWEST = 6
"""Messages that go along where no model can summarise."""
_KEPT = 2
"""Messages of a shortened chat beside the newest turns: the first turn, and the summary."""


def recall_turns(task: Task) -> list[Message]:
    """The earlier turns: all of them while they are short, else the first, a summary, and the
    newest as they are.

    Markers of earlier answers are left out: they would point to other passages now. A model that
    failed to summarise is asked again when there are a quarter more turns; until then sentences are
    extracted. Told as Compressed; raises Stopped. Without a language model, the newest turns.
    """
    if task.recalled is not None:
        return task.recalled
    turns = [_without_markers(turn) for turn in task.history]
    places = {id(turn): place for place, turn in enumerate(turns)}
    recalled = _recall(task, turns)
    task.places = [places.get(id(turn)) for turn in recalled]
    task.recalled = recalled
    return recalled


def tell_turns(task: Task) -> list[Message]:
    """The same as a model is sent them."""
    return sendable_form(recall_turns(task))


def _recall(task: Task, turns: list[Message]) -> list[Message]:
    if not task.model.is_language_model:
        return turns[-_NEWEST:]
    covered, summary, rests = _find_summary(task, len(turns))
    shown = turns
    if summary:
        shown = [turns[0], summary, *turns[covered:]]
    strategies = _strategies()[rests:]
    made = _shorten(task, shown, strategies)
    whole = [turns[place] for place in sorted(task.whole)]
    back = list_new_objects(made, whole)
    return [*made[:_KEPT], *back, *made[_KEPT:]]


def _without_markers(turn: Message) -> Message:
    text = text_of(turn.get("content"))
    if turn.get("role") == "assistant":
        text = MARKER.sub("", text)
    return {**turn, "content": text}


def keep_short(agent: ConversableAgent, model: Model) -> None:
    """Keep what the agent's model is sent within one answer below its window: old results of tools
    go first.

    No model is asked for that: the results can be had again, and the answer does not wait.
    """
    from agentkit.conversation.compression import Compression, SlidingWindow, ToolOutput

    limit = UNKNOWN_WINDOW
    room = room_in(model, {})
    if room:
        limit = room.goal
    begin_at = max(1, limit * 4 // 5)
    compression = Compression([ToolOutput(), SlidingWindow()], begin_at, limit=limit)
    compression.add_to_agent(agent)


@cache
def _strategies() -> tuple[SlidingWindow, SlidingWindow]:
    """With a summary written by the model, and with extracted sentences."""
    from agentkit.conversation.compression import ModelSummary, SlidingWindow

    return SlidingWindow(ModelSummary()), SlidingWindow()


def count_covered(count: int, event: Compressed) -> int:
    """How many of the `count` turns that there were then are no longer told word for word."""
    return count - (event.messages_after - _KEPT)


def _find_summary(task: Task, turns: int) -> tuple[int, Message | None, bool]:
    """How many of the first turns the newest summary stands for, and that summary (0 and None
    without one); if the model rests.

    It rests when it failed to summarise while there were hardly fewer turns.
    """
    from agentkit.conversation.compression.shape import mark_summary

    told = [(count, event) for count, event in task.shortened() if event.agent == NOTES]
    rests = any(_has_just_failed(count, event, turns) for count, event in told)
    for count, event in told:
        is_summary = event.ok and event.summary
        if is_summary:
            covered = count_covered(count, event)
            summary = cast(Message, mark_summary(event.summary))
            return covered, summary, rests
    return 0, None, rests


def _has_just_failed(count: int, event: Compressed, turns: int) -> bool:
    """Whether the model failed to summarise when there were hardly fewer turns."""
    from agentkit.conversation.compression.recall import grown

    by_model, _ = _strategies()
    if event.ok or event.strategy != by_model.name:
        return False
    return not grown(count, turns)


def _shorten(
    task: Task, turns: list[Message], strategies: Sequence[SlidingWindow]
) -> list[Message]:
    """The turns with a summary behind the first of them; the same list when they are short, or when
    nothing can be gained.
    """
    from agentkit.conversation import ConversableAgent
    from agentkit.conversation.compression import Compression

    window = window_of(task.model) or UNKNOWN_WINDOW
    room = min(LONGEST, window // SHARE)
    # An agent of its own: what it writes is not shown as the beginning of the answer.
    agent = ConversableAgent(
        NOTES,
        human_input_mode="NEVER",
        llm_config=task.llm_config,
        code_execution_config=False,
    )
    given = cast("Messages", turns)
    for strategy in strategies:
        compression = Compression(strategy, room)
        with IOStream.set_default(Quiet()):
            made = compression.compress(given, agent)
        if made is not given:
            return cast(list[Message], made)
    return turns
