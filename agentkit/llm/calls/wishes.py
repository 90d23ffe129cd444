"""What somebody wishes of the replies in a run: instructions for its agents, and parameters.

They are put into each call of those agents on its way out, so that histories stay as they are. A
parameter that a server refuses is left out from then on, and the model is asked once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast, get_args

from agentkit.core import bus
from agentkit.core.given import pick_given
from agentkit.errors import BadModelReply, ModelError, WrongArgument
from agentkit.events import ParameterRefused
from agentkit.llm.model import Model
from agentkit.messages import Message, message
from agentkit.options import Effort

LONGEST_INSTRUCTIONS = 20_000  # characters
_RANGES: Mapping[str, tuple[tuple[type, ...], int, int]] = {
    "temperature": ((int, float), 0, 2),
    "max_tokens": ((int,), 1, 10_000_000),
    "seed": ((int,), -(2**63), 2**63 - 1),
}
"""What each number may be, whoever the model is: its types, the least and the most."""
_NEWER = {"max_tokens": "max_completion_tokens"}
"""Names that some models take in place of others."""
_ABOUT_VALUE = re.compile(
    r"\bvalues?\b|range|between|less than|greater than|at (most|least)|too (large|small|high|low)"
    r"|exceed|[<>]=?",
    re.I,
)
"""Words of a refusal after which another value of the same parameter may be taken."""
_REFUSALS = (ModelError, BadModelReply)
Key = tuple[str, str, str]
Own = Mapping[str, Mapping[str, Any]]
"""Parameters by the names of agents."""
_refused: dict[tuple[Key, str], str] = {}
"""By connection and name: the value that it refused, as JSON has it; empty for any."""
_renamed: set[tuple[Key, str]] = set()
"""By connection: names that it takes by their newer ones."""
_ANY = ""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a model is to answer, where its server has these; None leaves it to the server.

    Raises WrongArgument for values that no server takes.
    """

    temperature: float | None = None
    """From 0, nearly the same each time, to 2."""
    max_tokens: int | None = None
    """Most tokens of each reply."""
    seed: int | None = None
    """Where chance begins."""
    reasoning_effort: Effort | None = None
    """How much a model that thinks is to think."""

    def __post_init__(self) -> None:
        for name in _RANGES:
            _check_number(name, getattr(self, name))
        if self.reasoning_effort not in (None, *get_args(Effort)):
            raise WrongArgument(
                f"reasoning_effort must be one of {', '.join(get_args(Effort))}, not"
                f" {self.reasoning_effort!r:.80}."
            )

    def to_request(self) -> dict[str, Any]:
        """Those that are set, by the names of OpenAI's API."""
        return pick_given(asdict(self))


def _check_number(name: str, value: object) -> None:
    if value is None:
        return
    kinds, least, most = _RANGES[name]
    if type(value) not in kinds or not least <= cast(float, value) <= most:
        raise WrongArgument(
            f"{name} is {value!r:.80}; it must be a number from {least:,} to {most:,}."
        )


NOTHING = Parameters()
_NAMES = frozenset([*Parameters.__dataclass_fields__, "response_format", "tool_choice"])
"""What may be refused of a call's parameters."""


def check_instructions(text: str) -> str:
    """The text; raises WrongArgument when it is too long to stand in every request."""
    if len(text) > LONGEST_INSTRUCTIONS:
        raise WrongArgument(
            f"The instructions have {len(text):,} characters; at most {LONGEST_INSTRUCTIONS:,} go"
            " along with every request. Shorten them, or attach a long text as a file."
        )
    return text


@dataclass(frozen=True, slots=True)
class Wishes:
    """What holds for the calls of these agents."""

    agents: frozenset[str]
    instructions: str = ""
    parameters: Parameters = NOTHING
    told: set[tuple[str, str]] = field(default_factory=set)
    """Models, by their ids, and parameters of which it was told that they are refused."""
    own: Own = field(default_factory=dict)
    """What single agents are set to."""

    def find_of(self, agent: str) -> dict[str, Any]:
        """The parameters with which this agent asks where the server has them."""
        shared = {}
        if agent in self.agents:
            shared = self.parameters.to_request()
        return {**shared, **self.own.get(agent, {})}


@contextmanager
def setting_agents(own: Own) -> Iterator[None]:
    """Let agents ask with these parameters in the enclosed work: a server that refuses one is asked
    without it, as with what a person wishes.
    """
    known = _active.get()
    with wished(replace(known, told=set(known.told), own={**known.own, **own})):
        yield


_NO_WISHES = Wishes(frozenset())


@contextmanager
def wished(wishes: Wishes) -> Iterator[None]:
    """Let this hold for the enclosed work, in its threads and tasks too."""
    token = _active.set(wishes)
    try:
        yield
    finally:
        _active.reset(token)


def with_instructions(messages: list[Message], agent: str) -> list[Message]:
    """The messages with what this agent was told beside its own words, in its system message."""
    instructions = _find(agent).instructions
    if not instructions:
        return messages
    first = next(iter(messages), message("user", ""))
    content = first.get("content")
    if first.get("role") != "system" or not isinstance(content, str):
        return [message("system", instructions), *messages]
    joined = f"{content.rstrip()}\n\n{instructions}"
    return [cast(Message, {**first, "content": joined}), *messages[1:]]


def with_parameters(options: dict[str, Any], agent: str) -> dict[str, Any]:
    """The parameters of a call with those that are wished; what the call says itself goes first."""
    return {**_find(agent).parameters.to_request(), **options}


def to_sendable(model: Model, options: Mapping[str, Any], agent: str) -> dict[str, Any]:
    """The parameters as this model takes them: without those that it has refused, which is told
    once.
    """
    wishes, key, sent = _active.get(), _key(model), dict(options)
    asked = wishes.find_of(agent)
    if "tool_choice" in asked and not sent.get("tools"):
        sent.pop("tool_choice", None)  # servers refuse it where there is nothing to choose
    for name, value in asked.items():
        if sent.get(name) != value:
            continue  # the call says otherwise
        if _is_refused(key, name, value):
            del sent[name]
            _tell(wishes, agent, model, name, value)
        elif (key, name) in _renamed:
            sent[_NEWER[name]] = sent.pop(name)
    return sent


def learn_refusal(error: ModelError, model: Model, sent: Mapping[str, Any], agent: str) -> bool:
    """Whether it was a wished parameter that the model refused; it is sent otherwise, or no more,
    from then on.
    """
    if type(error) not in _REFUSALS:
        return False
    said = str(error)
    for name, wish in _active.get().find_of(agent).items():
        newer = _NEWER.get(name, name)
        was_sent = wish in (sent.get(name), sent.get(newer))
        if was_sent and re.search(rf"\b({name}|{newer})\b", said):
            _learn(_key(model), name, wish, said, is_renamed=newer in said and newer not in sent)
            return True
    return False


def _learn(key: Key, name: str, wish: object, said: str, *, is_renamed: bool) -> None:
    """What follows from the words in which a server refused a parameter."""
    if is_renamed:
        _renamed.add((key, name))
    elif _ABOUT_VALUE.search(said):
        _refused[key, name] = repr(wish)
    else:
        _refused[key, name] = _ANY


def recall_refusals(told: Sequence[ParameterRefused], model: Model) -> set[tuple[str, str]]:
    """What was told before of this model's refusals: it is known again, and not told again."""
    names = _NAMES  # pictures are refused by an event of this kind, too
    known: set[tuple[str, str]] = set()
    for one in told:
        if one.model_id == model.id and one.parameter in names:
            _refused.setdefault((_key(model), one.parameter), one.value)
            known.add((model.id, one.parameter))
    return known


def find_refused(model: Model) -> list[str]:
    """The parameters that this model is known to refuse, whatever their value."""
    key = _key(model)
    return [name for (of, name), value in _refused.items() if of == key and value == _ANY]


def _tell(wishes: Wishes, agent: str, model: Model, name: str, value: object) -> None:
    if (model.id, name) in wishes.told:
        return
    wishes.told.add((model.id, name))
    refused = _refused[_key(model), name]
    bus.emit(ParameterRefused(agent, model.name, model.id, name, refused, repr(value)))


def _is_refused(key: Key, name: str, value: object) -> bool:
    return _refused.get((key, name)) in (_ANY, repr(value))


def _find(agent: str) -> Wishes:
    """What holds for the calls of an agent."""
    wishes = _active.get()
    if agent in wishes.agents:
        return wishes
    return _NO_WISHES


def _key(model: Model) -> Key:
    return model.id, model.provider, model.name


_active: ContextVar[Wishes] = ContextVar("agentkit_wishes", default=_NO_WISHES)
