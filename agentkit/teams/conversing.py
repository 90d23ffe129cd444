"""Agents of the conversation engine at work on a question of the app: what all teams that converse
have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agentkit.conversation import ChatResult, ConversableAgent, announcing
from agentkit.conversation.compression.shape import is_summary, mark_summary
from agentkit.core import bus
from agentkit.core.io import IOStream, Quiet
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
from agentkit.teams.answer import Result, answer_from, explain_no_answer
from agentkit.teams.drafts import is_audible
from agentkit.teams.ending import without_ending
from agentkit.teams.findings import FIND, SEARCH, Findings
from agentkit.teams.live import Said
from agentkit.teams.memory.long_memory import recall_turns
from agentkit.teams.memory.session import as_history, restore
from agentkit.teams.task import Answer, Note, Task

USER = "User"
_USED_UP: frozenset[EndKind] = frozenset({"replies", "rounds", "turns"})
"""Ends of a chat whose agents used up their steps, whatever came of them."""


def make_opening(task: Task) -> Message:
    """The question as the message that begins a chat, in the name of the person whoever hands it
    on.
    """
    return {"content": task.question, "name": USER}


Talk = list[Message | Sequence[Said]]
"""Earlier turns, in place of some of them all that the team said for a question."""


def recall_talk(task: Task) -> Talk:
    """The earlier turns, and what the team said and found for the newest of them; the passages in
    it can be cited again.
    """
    turns, remembered = recall_turns(task), restore(task)
    task.known = remembered.citations
    talk: Talk = []
    for turn, place in zip(turns, task.places, strict=True):
        if place is None:
            talk.append(turn)
            continue
        said = remembered.said.get(place)
        if said is not None:
            talk.append(said)
            continue
        answers_that = place - 1 in remembered.said
        if not answers_that:
            talk.append(turn)
    return talk


def remember(agent: ConversableAgent, peer: ConversableAgent, talk: Talk, name: str) -> None:
    """Let the agent know earlier turns, and nothing else, as if it had had them with the peer;
    `name` is who answered then.
    """
    agent.reset()
    agent.chat_messages[peer] += as_told(talk, agent.name, name)


def as_told(talk: Talk, agent: str, name: str) -> list[Stored]:
    """The earlier turns as an agent keeps them, its own words as its own."""
    told: list[Stored] = []
    for turn in talk:
        if isinstance(turn, Mapping):
            told.append(_keep_turn(turn, agent, name))
        else:
            told += as_history(turn, agent, USER)
    return told


def _keep_turn(turn: Message, agent: str, name: str) -> Stored:
    """A turn as the agent keeps it, where `name` answered."""
    known: Stored = {
        "content": turn["content"],
        "role": "user",
        "name": USER,
    }
    if turn["role"] == "assistant":
        known["name"] = name
        if agent == name:
            known["role"] = "assistant"
    if is_summary(turn):
        return {**mark_summary(text_of(turn["content"])), **known}
    return known


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
        heard.take_partial(stopped.partial)
        if not heard.text:
            raise
        end = STOPPED
    if heard.text:
        return _conclude(task, heard, findings, end, notes)
    return _answer_silent(task, heard, findings, end)


def _answer_silent(task: Task, heard: _Heard, findings: Findings, end: EndReason) -> Answer:
    """The answer where the speaker gave none: from what was found, as far as that goes."""
    if heard.refused and not findings.hits:
        limit = in_words(heard.refused)
        raise LimitReached(f"{limit} {heard.speaker} wrote no answer before.")
    told = _select_told(end)
    has_found = findings.hits or heard.results
    if has_found or end.kind in _USED_UP:
        return answer_from(task, findings.hits, heard.speaker, told, heard.results)
    raise explain_no_answer(heard.speaker, told)


def _talk(task: Task, begin: Callable[[], ChatResult], heard: _Heard) -> EndReason:
    following = announcing.following(task.parent_id)
    with IOStream.set_default(Quiet()), following as last, bus.listening(heard):
        try:
            end = begin().end
        finally:
            task.parent_id = last()
    if end is None or end.kind == "terminated":
        return ANSWERED
    if end.kind == "person":
        return EndReason("finished")
    return end


def _conclude(
    task: Task, heard: _Heard, findings: Findings, end: EndReason, notes: Sequence[Note]
) -> Answer:
    computed = [one.gave for one in heard.results]
    found = task.evidence(heard.text, findings.hits, computed)
    status: MessageStatus = "complete"
    if end == STOPPED:
        status = "stopped"
    return task.conclude(
        heard.speaker,
        heard.text,
        found,
        end,
        status=status,
        told=_select_told(end),
        notes=notes,
        cut=heard.cut,
        thinking=heard.thinking,
    )


def _select_told(end: EndReason) -> EndReason | None:
    """The end if it says more than that there is an answer."""
    if end == ANSWERED:
        return None
    return end


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
                given = self._arguments.get(event.call_id, "")
                asked = f"{event.name}({given})"
                self.results.append(Result(asked, event.content))
            case CodeRan():
                self.results.append(Result(event.code, event.output))
            case MessageSent(sender=self.speaker) if is_audible(event):
                self._take_said(event)

    def _take_said(self, message: MessageSent) -> None:
        """What the speaker told the others; with calls of tools it is not an answer yet."""
        self.text = ""
        if not has_calls(message.extra):
            self.text = without_ending(message.content)
        self.cut = cut_by(self._end)
        self.thinking = self.latest

    def take_partial(self, partial: str) -> None:
        """What the speaker had written when it was stopped, after what it had said."""
        was_writing = self.writing == self.speaker
        if was_writing and partial.strip():
            self.text = partial
        self.cut, self.thinking = None, self.latest
