"""Finished answers that are run again from one of their steps: what is served of them, and what is
done anew.

A step is a call of a language model, counted from 1 in the order in which they were asked; or a
step of a plan.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

from agentkit.core.given import pick_kind
from agentkit.core.replay import Change, Messages, Recording
from agentkit.errors import AgentkitError, ConfigError, NotFound
from agentkit.events import (
    Event,
    ModelCalled,
    ModelReplied,
    Retrieved,
    StepDone,
    ToolCalled,
    ToolReturned,
    Usage,
)
from agentkit.ledger import Ledger, RunKey, queries
from agentkit.messages import text_of
from agentkit.teams import Question
from agentkit.teams.planning_settings import READ, READER
from agentkit.teams.repeating import Repeat
from agentkit.workspace.resuming import BrokenOff, find_question, find_root, is_complete

ReadRequest = Callable[[str], Messages]
_GOING_ON = ("running", "waiting", "interrupted")


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that can be run again."""

    run: RunKey
    question_id: str
    """The message that asked it."""
    question: Question
    events: list[Event]

    @property
    def calls(self) -> list[ModelCalled]:
        """The calls of language models, each once, in their order."""
        return list_calls(self.events)


def list_calls(events: Sequence[Event]) -> list[ModelCalled]:
    """The calls of language models, each once, in their order: the steps of a run."""
    calls: dict[str, ModelCalled] = {}
    for call in filter(_is_of_text, pick_kind(events, ModelCalled)):
        calls.setdefault(call.call_id, call)
    return list(calls.values())


def _is_of_text(call: ModelCalled) -> bool:
    """Whether it asks a language model."""
    return call.purpose == "chat"


def find_step(events: Sequence[Event], call_id: str) -> int:
    """Which step the call is; raises NotFound."""
    ids = list(map(attrgetter("call_id"), list_calls(events)))
    if call_id not in ids:
        raise NotFound(f"The run has no call {call_id!r} of a language model.")
    return ids.index(call_id) + 1


def find_finished(ledger: Ledger, owner: str, run_id: str) -> Finished:
    """The answer of a run that has ended; raises NotFound, and ConfigError where it cannot be run
    again.
    """
    known = queries.run_state(ledger, owner, run_id)
    if known.state in _GOING_ON or not known.key.chat_id:
        raise ConfigError(
            f"The run {run_id} is not an answer that has ended, so it cannot be run again from a"
            " step."
        )
    said = find_question(ledger, known.key)
    chat = ledger.chat(owner, known.key.chat_id)
    first = Question.from_message(said, chat.team)
    question = replace(first, model_id=first.model_id or chat.model)
    return Finished(known.key, said.id, question, _read_events(ledger, owner, run_id))


def _read_events(ledger: Ledger, owner: str, run_id: str) -> list[Event]:
    heard = queries.events(ledger, owner, run_id, with_requests=False)
    return list(map(attrgetter("event"), heard))


def ask_again(finished: Finished, repeat: Repeat) -> Question:
    """The question once more, to begin from that run; raises ConfigError for a step that there is
    not, or about which too little is known.
    """
    served = select_served(finished.events, repeat, lambda call_id: ())
    if not is_complete(served):
        raise ConfigError(
            "An older version made this answer and noted too little to begin from it; ask again."
        )
    before, chat_id = finished.question, finished.run.chat_id
    return replace(
        before,
        chat_id=chat_id,
        again=finished.question_id,
        go_on=False,
        repeat=_complete(finished, repeat),
    )


def _complete(finished: Finished, repeat: Repeat) -> Repeat:
    """With what an earlier run that this one begins from had changed itself."""
    earlier, calls = finished.question.repeat, finished.calls
    name = ""
    if calls:
        name = calls[0].model
    if earlier and earlier.model_name:
        name = earlier.model_name
    made = replace(repeat, model_name=name)
    if repeat.instructions is not None:
        return replace(made, agent=calls[repeat.from_step - 1].agent)
    if earlier is None or repeat.label:
        return made
    return replace(made, agent=earlier.agent, instructions=earlier.instructions)


def make_change(repeat: Repeat, model_name: str) -> Change:
    """What is different when this model answers."""
    return Change(
        run_id=repeat.run_id,
        from_step=repeat.from_step,
        is_strict=not repeat.label,
        agent=repeat.agent,
        instructions=repeat.instructions,
        model_name=repeat.model_name,
        instead_of_it=model_name,
    )


def find_recording(
    ledger: Ledger, owner: str, question: Question, broken: BrokenOff | None, model_name: str
) -> Recording | None:
    """What is served to a run: of the one that broke off, or of the finished one it begins from;
    None for one that begins at the beginning. Raises NotFound when that is gone.
    """
    repeat = question.repeat
    change = None
    if repeat:
        change = make_change(repeat, model_name)
    if broken:
        return broken.record(ledger, change)
    if repeat:
        return _record(ledger, owner, repeat, model_name)
    return None


def _record(ledger: Ledger, owner: str, repeat: Repeat, model_name: str) -> Recording:
    read_request = partial(_read_request, ledger, owner)
    events = _read_events(ledger, owner, repeat.run_id)
    served = select_served(events, repeat, read_request)
    root = find_root(ledger, owner, events) or repeat.run_id
    change = make_change(repeat, model_name)
    return Recording(served, root, read_request=read_request, change=change)


def _read_request(ledger: Ledger, owner: str, call_id: str) -> Messages:
    try:
        return ledger.request_of(owner, call_id).messages
    except AgentkitError:  # it is gone: then nothing of it can be shown
        return ()


def select_served(
    events: Sequence[Event], repeat: Repeat, read_request: ReadRequest
) -> list[Event]:
    """What of a run's events is served; raises ConfigError for a step that it does not have."""
    if repeat.label:
        return _leave_out(events, repeat.label, read_request)
    calls = list_calls(events)
    if repeat.from_step > len(calls):
        raise ConfigError(
            f"The run has {len(calls)} model calls, so it cannot be run again from number"
            f" {repeat.from_step}."
        )
    call = calls[repeat.from_step - 1]
    before = list(events[: events.index(call)])
    served = _without_unfinished(before)
    if repeat.reply is None:
        return served
    return [*served, *_answer(events, call, repeat.reply)]


def _without_unfinished(events: Sequence[Event]) -> list[Event]:
    """Without calls of tools that had not returned by then: they are made anew."""
    find_id = attrgetter("call_id")
    returned = set(map(find_id, pick_kind(events, ToolReturned)))
    unfinished = set(map(find_id, pick_kind(events, ToolCalled))) - returned
    return [one for one in events if getattr(one, "call_id", None) not in unfinished]


def _answer(events: Sequence[Event], call: ModelCalled, text: str) -> list[Event]:
    """The call with what it is to have replied, which takes nothing."""
    replies = {one.call_id: one for one in pick_kind(events, ModelReplied)}
    made = replies.get(call.call_id, _make_reply(call))
    edited = replace(
        made,
        status="ok",
        text=text,
        usage=Usage(),
        cost=0.0,
        error="",
        error_type="",
        end="whole",
        thinking=None,
        asked=call.asked,
        message={"role": "assistant"},
    )
    return [call, edited]


def _make_reply(call: ModelCalled) -> ModelReplied:
    return ModelReplied(call.call_id, call.agent, call.provider, call.model)


def _leave_out(events: Sequence[Event], label: str, read_request: ReadRequest) -> list[Event]:
    """All but what a plan's step did, and what planner and solver said after it."""
    done = {one.label: one for one in pick_kind(events, StepDone)}.get(label)
    if done is None:
        raise ConfigError(f"The run did no step {label}, so it cannot be done again.")
    end = max(number for number, one in enumerate(events) if one is done)
    before, after = events[:end], events[end:]
    return [
        *_leave_out_own(before, done, read_request),
        *itertools.filterfalse(_is_of_planner, after),
    ]


def _is_of_planner(event: Event) -> bool:
    match event:
        case ModelCalled(purpose="chat", agent=agent) | ModelReplied(purpose="chat", agent=agent):
            return agent != READER
        case _:
            return False


def _leave_out_own(
    events: Sequence[Event], done: StepDone, read_request: ReadRequest
) -> list[Event]:
    """All but what the step did: its tool, and what that looked up or asked."""
    calls = {(one.name, one.arguments): one for one in pick_kind(events, ToolCalled)}
    call = calls.get((done.tool, done.arguments))
    if call is None:
        return list(events)
    first, texts = events.index(call), _list_texts(done.arguments)
    belongs = partial(_belongs, call=call, texts=texts, read_request=read_request)
    return [*events[:first], *itertools.filterfalse(belongs, events[first:])]


def _belongs(
    event: Event, *, call: ToolCalled, texts: Sequence[str], read_request: ReadRequest
) -> bool:
    """Whether it is of that call of a tool, among what other steps did meanwhile."""
    match event:
        case ToolCalled(call_id=call_id) | ToolReturned(call_id=call_id):
            return call_id == call.call_id
        case Retrieved(query=query):
            return query in texts
        case ModelReplied(agent=agent, call_id=call_id) if call.name == READ and agent == READER:
            asked = read_request(call_id)
            return not asked or text_of(asked[-1].get("content")) in texts
        case _:
            return False


def _list_texts(arguments: str) -> list[str]:
    """A step's arguments as a tool may have got them."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return [arguments]
    values = list(value.values()) if isinstance(value, dict) else [value]
    return [arguments, *map(str, values)]
