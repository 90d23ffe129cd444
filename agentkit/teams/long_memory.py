"""The memory of long chats: a team is told the whole chat, its older turns as a summary that is made once and gone on with.

The model writes the summary, since a question may come back to anything that was said; where it cannot, sentences are extracted.
Summaries are kept in this process: after a restart the older turns of a chat are summarised once more.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import cast

from agentkit.conversation import ConversableAgent
from agentkit.conversation.compression import Compression, ModelSummary, SlidingWindow, ToolOutput
from agentkit.conversation.compression.shape import Messages
from agentkit.core.io import IOStream
from agentkit.llm.client import Model
from agentkit.llm.token_limits import window_of
from agentkit.messages import Message, text_of
from agentkit.teams.conversing import Quiet, earlier, voice
from agentkit.teams.task import Task

NOTES = "Note taker"
LONGEST = 16_000
"""Tokens of earlier turns at most, however large the window: every question pays for them, several times when it searches."""
SHARE = 3
"""They take one part in so many of the window; the rest is for the passages, the answer, and the question."""
UNKNOWN_WINDOW = 16_000
"""Tokens that are counted on where nobody knows the model's window."""
_KEPT = 500


class Summaries:
    """Summaries by the turns that they stand for; the oldest go when there are too many."""

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._by_turns: OrderedDict[bytes, Message] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, turns: Sequence[Message], summary: Message) -> None:
        """Know this summary for these turns."""
        *_, mark = _marks(turns)
        with self._lock:
            self._by_turns[mark] = summary
            while len(self._by_turns) > self._most:
                self._by_turns.popitem(last=False)

    def longest(self, turns: Sequence[Message]) -> tuple[int, Message | None]:
        """How many of the first turns a summary stands for, as many as possible, and that summary; 0 and None without one."""
        marks = list(_marks(turns))
        with self._lock:
            for count in range(len(marks), 0, -1):
                if summary := self._by_turns.get(marks[count - 1]):
                    self._by_turns.move_to_end(marks[count - 1])
                    return count, summary
        return 0, None


def _marks(turns: Sequence[Message]) -> Iterator[bytes]:
    """For each turn a digest of all turns up to it: an edited turn begins another chat."""
    digest = hashlib.blake2b(digest_size=16)
    for turn in turns:
        text = text_of(turn.get("content")).encode("utf-8", "surrogatepass")
        digest.update(f"{turn['role']} {len(text)} ".encode() + text)
        yield digest.digest()


_summaries = Summaries()


def remembered(task: Task, summaries: Summaries = _summaries) -> list[Message]:
    """The earlier turns: all of them while they are short, else the first, a summary, and the newest as they are.

    Markers of earlier answers are left out, as in `earlier`. Told as Compressed; raises Stopped.
    """
    turns = earlier(task, len(task.history))
    count, known = summaries.longest(turns)
    told: list[Message] = [turns[0], known, *turns[count:]] if known else turns
    made = _shortened(task, told)
    if made is told:
        return told
    summary, *newest = made[1:]
    summaries.keep(turns[: len(turns) - len(newest)], summary)
    return made


def keep_short(agent: ConversableAgent, model: Model) -> None:
    """Keep what the agent's model is sent within one answer below its window: old results of tools go first.

    No model is asked for that: the results can be had again, and the answer does not wait.
    """
    Compression([ToolOutput(), SlidingWindow()], limit=_window(model)).add_to_agent(agent)


def _window(model: Model) -> int:
    return window_of(model) or UNKNOWN_WINDOW


def _shortened(task: Task, turns: list[Message]) -> list[Message]:
    """The turns with a summary behind the first of them; the same list when they are short, or when nothing can be gained."""
    room = min(LONGEST, _window(task.model) // SHARE)
    # An agent of its own: what it writes is not shown as the beginning of the answer.
    agent = ConversableAgent(NOTES, human_input_mode="NEVER", llm_config=voice(task), code_execution_config=False)
    given = cast(Messages, turns)
    for strategy in (SlidingWindow(ModelSummary()), SlidingWindow()):
        with IOStream.set_default(Quiet()):
            made = Compression(strategy, room).compress(given, agent)
        if made is not given:
            return cast(list[Message], made)
    return turns
