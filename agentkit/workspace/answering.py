"""What surrounds a team at work on a question: its documents, the turns before, what the chat has
used, how a failure is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.core import bus
from agentkit.documents import DocumentText
from agentkit.errors import LimitReached, Stopped
from agentkit.events import Compressed, LimitTold, MessageSent
from agentkit.ledger import Chat, Ledger, StoredMessage, queries
from agentkit.llm.calls.limits import Used, in_words
from agentkit.messages import Message, message, new_id
from agentkit.retrieval import Library
from agentkit.retrieval.types import Scope
from agentkit.runs import Run
from agentkit.teams import Question, Task, Team
from agentkit.teams.written import citations_in, streamed, written


@dataclass(frozen=True, slots=True)
class Stored:
    """A document in the store, read when somebody wants it."""

    id: str
    name: str
    library: Library
    owner: str
    scope: Scope

    def read(self) -> DocumentText:
        """Its text and sections; raises DocumentError, and NotFound when it was deleted
        meanwhile.
        """
        return self.library.reading(self.owner, self.id, self.scope)


def used_in(ledger: Ledger, chat: Chat) -> Used:
    """What the language models have taken in a chat, in all its branches."""
    took = queries.totals(ledger, queries.CallFilter(chat.owner, purpose="chat", chat=chat.id))
    return Used(
        took.prompt_tokens + took.completion_tokens, None if took.unpriced else took.cost or 0.0
    )


def advised(error: Exception, run: Run[Any]) -> Exception:
    """The error; of a limit that was reached, with where it can be raised."""
    told = [
        one.event for one in run.events() if isinstance(one.event, LimitTold) and one.event.reached
    ]
    if not (told and isinstance(error, LimitReached)):
        return error
    instead = "Begin a new chat" if told[-1].scope == "chat" else "Ask for less"
    setting = f"AGENTKIT_{told[-1].scope}_{told[-1].unit}".upper()
    option = " (or --max-tokens of the command `ask`)" if setting == "AGENTKIT_RUN_TOKENS" else ""
    return LimitReached(
        f"{in_words(told[-1])} {instead}, or set {setting}{option} higher: "
        "at once on the Settings page, or in the environment and start again."
    )


def say_question(
    question: Question, thread: Sequence[StoredMessage], facts: Mapping[str, object]
) -> str:
    """The person says it, after the thread; gives the message's id."""
    asked, before = new_id(), thread[-1].id if thread else None
    extra = {**question.to_json(), **facts}
    del extra["text"]  # it is what the message says
    bus.emit(MessageSent(asked, before, "user", "team", "user", question.text, extra=extra))
    return asked


def say_end(run: Run[Any], task: Task, asked: Team, error: Exception) -> None:
    """The chat keeps what there is of an answer, and why there is no more."""
    events, agent = [one.event for one in run.events()], asked.agents[-1]
    text = (written if asked.goes_on else streamed)(events, agent)
    extra: dict[str, Any] = {"model": task.model.id}
    if text:
        extra["citations"] = [citation.to_json() for citation in citations_in(text, events)]
    stopped = isinstance(error, Stopped)
    if not stopped:
        extra["error"] = str(error) or type(error).__name__
        extra["error_type"] = type(error).__name__
    task.say(
        agent, "user", text, status="stopped" if stopped else "failed", final=True, extra=extra
    )


def history(thread: Sequence[StoredMessage]) -> list[Message]:
    """The turns of a chat as a model is told them: what was asked and finally answered, not what
    agents said among themselves.
    """
    return [
        message("user" if turn.role == "user" else "assistant", turn.content)
        for turn in thread
        if turn.content and not turn.extra.get("inner")
    ]


def shortened(
    ledger: Ledger, owner: str, thread: Sequence[StoredMessage]
) -> Iterator[tuple[int, Compressed]]:
    """What was told of shortening this branch of a chat, newest first, each with how many turns
    there were before the question.

    Only runs count that a message of the branch is from: what they knew are the messages before,
    which never change.
    """
    begins: dict[str, int] = {}
    for place, turn in enumerate(thread):
        begins.setdefault(turn.run_id or "", place)
    for run_id, event in queries.told(ledger, owner, list(begins), Compressed):
        yield len(history(thread[: begins[run_id]])), event
