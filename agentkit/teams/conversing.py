"""Agents of the conversation engine at work on a question of the app: what all teams that converse
have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentkit.conversation import ChatResult, ConversableAgent, announcing
from agentkit.conversation.compression.shape import is_summary, marked
from agentkit.core import bus
from agentkit.core.io import IOConsole, IOStream
from agentkit.errors import LimitReached, Stopped
from agentkit.events import (
    CodeRan,
    Event,
    LimitTold,
    MessageSent,
    MessageStatus,
    ModelCalled,
    ModelReplied,
    ReplyEnd,
    Thinking,
    ToolCalled,
    ToolReturned,
)
from agentkit.llm.calls.ends import cut_by
from agentkit.llm.calls.limits import in_words
from agentkit.messages import Message, Stored, has_calls, text_of
from agentkit.reasons import ANSWERED, STOPPED, EndKind, EndReason
from agentkit.teams.answer import HISTORY, Result, answer_from, no_answer
from agentkit.teams.ending import without_ending
from agentkit.teams.findings import FIND, SEARCH, Findings
from agentkit.teams.task import MARKER, Answer, Note, Task

USER = "User"
_USED_UP: frozenset[EndKind] = frozenset({"replies", "rounds", "turns"})
"""Ends of a chat whose agents used up their steps, whatever came of them."""


def voice(task: Task) -> dict[str, Any]:
    """The `llm_config` for agents that the task's model speaks for."""
    return {"config_list": [{"model": task.model}], "cache_seed": None, "stream": True}


def earlier(task: Task, last: int = HISTORY) -> list[Message]:
    """The last turns of the chat, without markers: those of earlier answers would point to other
    passages now.
    """
    turns: list[Message] = []
    for turn in task.history[-last:]:
        text = text_of(turn.get("content"))
        turns.append(
            {**turn, "content": MARKER.sub("", text) if turn.get("role") == "assistant" else text}
        )
    return turns


def opening(task: Task) -> Message:
    """The question as the message that begins a chat, in the name of the person whoever hands it
    on.
    """
    return {"content": task.question, "name": USER}


def remember(
    agent: ConversableAgent, peer: ConversableAgent, turns: Sequence[Message], name: str
) -> None:
    """Let the agent know earlier turns as if it had had them with the peer; `name` is who answered
    then.
    """
    for turn in turns:
        answered = turn["role"] == "assistant"
        role = "assistant" if answered and agent.name == name else "user"
        known: Stored = {
            "content": turn["content"],
            "role": role,
            "name": name if answered else USER,
        }
        if is_summary(turn):
            known = {**marked(text_of(turn["content"])), **known}
        agent.chat_messages[peer].append(known)


def converse(
    task: Task,
    begin: Callable[[], ChatResult],
    speaker: str,
    findings: Findings,
    notes: Sequence[Note] = (),
) -> Answer:
    """Let agents talk, then send what `speaker` said last as the answer; `notes` are for the person
    who asked.

    Without such a text the model answers from what was found, without tools, also where it found
    nothing but used up its steps. Stopped, it sends what the speaker had written by then; raises
    Stopped when that is nothing, and AgentkitError (LimitReached where a limit is why) when there
    is no answer at all.
    """
    heard = _Heard(speaker)
    try:
        end = _talk(task, begin, heard)
    except Stopped as stopped:
        text = (
            stopped.partial if heard.writing == speaker and stopped.partial.strip() else heard.text
        )
        if not text:
            raise
        return _say(task, text, findings, STOPPED, "stopped", notes, heard)
    if heard.text:
        return _say(task, heard.text, findings, end, "complete", notes, heard)
    ended = None if end == ANSWERED else end
    if findings.hits or (not heard.refused and (heard.results or end.kind in _USED_UP)):
        return answer_from(task, findings.hits, speaker, ended, heard.results)
    if heard.refused:
        raise LimitReached(f"{in_words(heard.refused)} {speaker} wrote no answer before.")
    raise no_answer(speaker, ended)


def _talk(task: Task, begin: Callable[[], ChatResult], heard: _Heard) -> EndReason:
    with (
        IOStream.set_default(Quiet()),
        announcing.following(task.parent_id) as last,
        bus.listening(heard),
    ):
        try:
            end = begin().end
        finally:
            task.parent_id = last()
    return ANSWERED if end is None or end.kind == "terminated" else end


def _say(
    task: Task,
    text: str,
    findings: Findings,
    end: EndReason,
    status: MessageStatus,
    notes: Sequence[Note],
    heard: _Heard,
) -> Answer:
    found = task.evidence(text, findings.hits, [one.gave for one in heard.results])
    extra: dict[str, Any] = {**found.to_json(), "model": task.model.id}
    extra |= {"end": end.to_json()} if end != ANSWERED else {}
    extra |= {"notes": list(notes)} if notes else {}
    cut, thinking = (None, heard.latest) if status == "stopped" else (heard.cut, heard.thinking)
    task.say(
        heard.speaker,
        "user",
        text,
        status=status,
        final=True,
        extra=extra,
        cut=cut,
        thinking=thinking,
    )
    return Answer(text, found.citations, end, cut, thinking, found.checks)


class _Heard:
    """Listens for what the speaker said last to the others; a call of tools shows that it is not
    done yet.
    """

    def __init__(self, speaker: str) -> None:
        self.speaker = speaker
        self.text = ""
        self.writing = ""
        """Whom the model speaks for at the moment."""
        self.cut: ReplyEnd | None = None
        """What cut the reply that the text is from."""
        self.thinking: Thinking | None = None
        """What the speaker's model thought before that text."""
        self.latest: Thinking | None = None
        """What it thought in its latest call."""
        self.refused: LimitTold | None = None
        """Which limit forbade a call."""
        self.results: list[Result] = []
        """What tools and code gave beside passages."""
        self._end: ReplyEnd | None = None
        self._arguments: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case ModelCalled(purpose="chat"):
                self.writing = event.agent
            case ModelReplied(purpose="chat", agent=self.speaker):
                self._end, self.latest = event.end, event.thinking
            case LimitTold(reached=True):
                self.refused = event
            case ToolCalled():
                self._arguments[event.call_id] = event.arguments
            case ToolReturned() if event.name not in (SEARCH, FIND):
                asked = f"{event.name}({self._arguments.get(event.call_id, '')})"
                self.results.append(Result(asked, event.content))
            case CodeRan():
                self.results.append(Result(event.code, event.output))
            case MessageSent() if event.sender == self.speaker and not event.extra.get("silent"):
                self.text = "" if has_calls(event.extra) else without_ending(event.content)
                self.cut, self.thinking = cut_by(self._end), self.latest


class Quiet(IOConsole):
    """Prints nothing: the events tell everything. Questions still reach the person who watches the
    run.
    """

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Nothing."""
