"""What a team is, what it is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from agentkit.core import bus
from agentkit.core.given import list_missing
from agentkit.errors import AgentkitError, ConfigError, NotFound
from agentkit.events import (
    CodeRan,
    Compressed,
    Event,
    Fallback,
    MessageSent,
    MessageStatus,
    ParameterRefused,
    ReplyEnd,
    Retrieved,
    Thinking,
    ToolReturned,
)
from agentkit.llm.model import Model
from agentkit.llm.support import Checked
from agentkit.llm.tokens.windows import window_of
from agentkit.messages import Message, new_id
from agentkit.options import InputMode
from agentkit.reasons import ANSWERED, EndReason
from agentkit.retrieval import Hit
from agentkit.teams.approval import Allowed
from agentkit.teams.citing import (
    Citation,
    Evidence,
    cite_hits,
    describe_source,
    find_markers,
)
from agentkit.teams.live import Said, Session
from agentkit.teams.planning_settings import Planning
from agentkit.teams.question import Question

if TYPE_CHECKING:
    from agentkit.documents import DocumentText
    from agentkit.llm.support import Embed
    from agentkit.teams.cells import ChatCells

_NOTHING: Mapping[str, object] = MappingProxyType({})
LOOK_UP_TOKENS = 1_500
"""What a look-up gives where nothing is known of the collection."""


LookUp = Callable[[str], list[Hit]]


class Readable(Protocol):
    """A document that can be read as a whole."""

    @property
    def id(self) -> str:
        """What it is known by."""

    @property
    def name(self) -> str:
        """How people call it."""

    def read(self) -> DocumentText:
        """Its text and sections; raises DocumentError."""


class Served(Protocol):
    """Tools of other programs, as an installation allows them."""

    def find(self, name: str) -> Callable[..., Any] | None:
        """The tool `server/tool`; None where it is not allowed."""

    def names(self) -> list[str]:
        """All that are allowed, as `server/tool`."""

    def close(self) -> None:
        """Let go of the servers that were started."""


class Note(TypedDict):
    """What the person who asked should know beside the answer; it travels with it under `notes`."""

    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class Work:
    """What a team said among itself for an earlier question."""

    place: int
    """Of the question among the turns; the answer comes next."""
    said: Sequence[Said]
    citations: Mapping[int, Citation]
    """The passages that the answer cites, by their numbers there."""
    answer_id: str = ""
    """The id of that answer: what led to it never changes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a team answered."""

    text: str
    citations: tuple[Citation, ...] = ()
    end: EndReason = ANSWERED
    """Why it works on it no more: `answered`, `no evidence`, `stopped`, or what else ended the
    chat.
    """
    cut: ReplyEnd | None = None
    """What cut the reply that the text is from; None when it is whole."""
    thinking: Thinking | None = None
    """What the model thought before it wrote the text."""
    checks: tuple[Checked, ...] = ()
    """What came of comparing each marker's sentence with its passage; empty where nothing was
    checked.
    """

    @property
    def stopped_because(self) -> str:
        """The kind of `end`."""
        return self.end.kind


@dataclass(slots=True)
class Task:
    """One question to a team, with everything it may use."""

    asked: Question
    model: Model
    retrieve: Callable[[str], list[Hit]]
    """Gives the passages that fit a question, best first."""
    history: Sequence[Message] = ()
    """Earlier turns of the chat, oldest first."""
    answer_id: str = field(default_factory=new_id)
    """The id that the final message is to carry."""
    parent_id: str | None = None
    """The message after which the next one comes."""
    find: Callable[[str], list[Hit]] | None = None
    """Gives the passages in which a text stands word for word, in the order of the documents."""
    documents: Callable[[], Sequence[Readable]] | None = None
    """Gives the documents themselves."""
    tools: Sequence[Callable[..., Any]] = ()
    """Functions of the user's own that agents may call."""
    allowed: Allowed = field(default_factory=set[str])
    """Names of tools that run without being asked about; what the person allows is added."""
    shortened: Callable[[], Iterable[tuple[int, Compressed]]] = tuple
    """Gives what was told of shortening this history for earlier answers, newest first, each with
    how many turns it had then.
    """
    embed: Embed | None = None
    """Vectors of a model on this machine, to compare sentences with passages by meaning; without it
    words alone decide.
    """
    fallback: Fallback | None = None
    """Why passages were looked up by words alone; None when none were."""
    refused: list[ParameterRefused] = field(default_factory=list)
    """Parameters that the person wished for and the model's server refuses."""
    whole: frozenset[int] = frozenset()
    """Places of turns in the history that stay as they are when it is shortened."""
    earlier: Callable[[], Sequence[Work]] = tuple
    """Gives what this kind of team did for earlier questions of the history, oldest first."""
    known: Mapping[int, Citation] = field(default_factory=dict)
    """Passages of earlier questions that the agents were told again, by their numbers."""
    recalled: list[Message] | None = None
    """The earlier turns as they are told to models, once somebody has asked for them."""
    places: list[int | None] = field(default_factory=list)
    """The place in the history of each of these; None for a summary."""
    cells: ChatCells | None = None
    """Where python code may run, so that its variables live on in the chat; None for no such
    place.
    """
    session: Session = field(default_factory=Session)
    """The agents of the chat from its questions before, as far as this process has them."""
    look_up_tokens: int = LOOK_UP_TOKENS
    """About how many tokens a look-up gives."""
    models: Callable[[str], Model] | None = None
    """Gives the connected model of an id."""
    look_ups: Callable[[str], tuple[LookUp, LookUp]] | None = None
    """Gives the ways to look into another collection: by meaning, and word for word."""
    agreed: Allowed = field(default_factory=set[str])
    """Whose first call of which tool the person agreed to in this chat, by `name_agreement`."""
    fetch: Callable[[str], DocumentText] | None = None
    """Reads a page of the web; None where the installation does not allow it."""
    served: Served | None = None
    """The tools of servers that the installation allows; None where there are none."""
    own_stores: bool = True
    """Whether an agent may open a store of its own, once the person agrees: it may read files of
    this computer.
    """

    def model_of(self, model_id: str) -> Model:
        """The connected model of that id; raises NotFound."""
        if self.models is None:
            raise NotFound(f"The model {model_id!r} is not connected here.")
        return self.models(model_id)

    def look_into(self, collection: str) -> tuple[LookUp, LookUp]:
        """The ways to look into another collection; raises NotFound."""
        if self.look_ups is None:
            raise NotFound(f"The collection {collection!r} is not at hand here.")
        return self.look_ups(collection)

    @property
    def question(self) -> str:
        """What is asked, in words."""
        return self.asked.text

    @property
    def human_input(self) -> InputMode:
        """When the person is asked meanwhile."""
        return self.asked.human_input or "NEVER"

    @property
    def planning(self) -> Planning:
        """How plans are made and run."""
        return self.asked.planning or Planning()

    @property
    def llm_config(self) -> dict[str, Any]:
        """For agents that the model speaks for."""
        return {"config_list": [{"model": self.model}], "cache_seed": None, "stream": True}

    @property
    def made_of(self) -> tuple[object, ...]:
        """What the agents of this question depend on: those of another one that are made of the
        same can take it up.
        """
        return self.llm_config, window_of(self.model), self.human_input, self.find is None

    def hear(self, event: Event) -> None:
        """Note what the final message has to tell of what happens in the work."""
        match event:
            case Retrieved(fallback=Fallback()):
                self.fallback = event.fallback
            case ParameterRefused():
                self.refused.append(event)

    def evidence(self, text: str, hits: Sequence[Hit], computed: Sequence[str] = ()) -> Evidence:
        """What a finished answer rests on: the hits that it cites, and whether they say what it
        says.

        Its figures may also be from what was `computed` for it.
        """
        given: dict[int, Hit | Citation] = dict(enumerate(hits, start=1))
        later = list_missing(find_markers(text), given)
        again = {number: self.known[number] for number in later if number in self.known}
        given |= again
        numbered = {number: (one.text, describe_source(one)) for number, one in given.items()}
        checks = self.check_markers(text, numbered, computed)
        cited = [replace(one, marker=number) for number, one in again.items()]
        return Evidence((*cite_hits(text, hits), *cited), checks)

    def check_markers(
        self, text: str, numbered: Mapping[int, tuple[str, str]], computed: Sequence[str] = ()
    ) -> tuple[Checked, ...]:
        """What comes of comparing each marker with its passage, by words alone where no vectors can
        be had.
        """
        embed = self.embed
        if self.fallback:
            embed = None
        from agentkit.llm.support import check  # no page needs it before there is an answer

        try:
            return tuple(check(text, numbered, embed, computed))
        except AgentkitError:  # of the embedding model; the answer is there, and is told
            return tuple(check(text, numbered, None, computed))

    def say(
        self,
        sender: str,
        recipient: str,
        content: str,
        *,
        status: MessageStatus = "complete",
        final: bool = False,
        extra: Mapping[str, object] = _NOTHING,
        cut: ReplyEnd | None = None,
        thinking: Thinking | None = None,
    ) -> None:
        """Send a message on: an inner one between agents, or the final answer; `cut` says what cut
        it.
        """
        message_id = new_id()
        if final:
            message_id = self.answer_id
        shown = {**extra, "inner": not final}
        if cut:
            shown["cut"] = cut
        if final:
            shown |= self._tell_heard()
        sent = MessageSent(
            message_id,
            self.parent_id,
            sender,
            recipient,
            "assistant",
            content,
            status,
            shown,
            thinking,
        )
        bus.emit(sent)
        self.parent_id = message_id

    def _tell_heard(self) -> dict[str, object]:
        """What the final message tells of what happened in the work."""
        told: dict[str, object] = {}
        if self.fallback:
            told["fallback"] = asdict(self.fallback)
        if self.refused:
            told["refused"] = [asdict(one) for one in self.refused]
        return told

    def conclude(
        self,
        sender: str,
        text: str,
        evidence: Evidence,
        end: EndReason,
        *,
        status: MessageStatus = "complete",
        told: EndReason | None = None,
        notes: Sequence[Note] = (),
        cut: ReplyEnd | None = None,
        thinking: Thinking | None = None,
    ) -> Answer:
        """Send the final message and give it as the answer; `told` is an end that the person should
        know of.
        """
        extra: dict[str, Any] = {**evidence.to_json(), "model": self.model.id}
        if told:
            extra["end"] = told.to_json()
        if notes:
            extra["notes"] = list(notes)
        self.say(
            sender,
            "user",
            text,
            status=status,
            final=True,
            extra=extra,
            cut=cut,
            thinking=thinking,
        )
        return Answer(text, evidence.citations, end, cut, thinking, evidence.checks)


@dataclass(frozen=True, slots=True)
class Team:
    """A ready-made team: its name, what it is good for, who is in it, and how it works on a
    task.
    """

    id: str
    """Of a team that comes in several variants, `<kind>:<variant>`."""
    name: str
    description: str
    agents: tuple[str, ...]
    """Their names; the last one writes the answer."""
    work: Callable[[Task], Answer]
    needs_language_model: bool = False
    calls_tools: bool = False
    """Whether its agents call the user's own functions, or open stores of their own."""
    answers_at_once: bool = False
    """Whether all that the last agent's model writes is the answer, none of it a word to others."""
    goes_on: bool = False
    """Whether the last of its agents can go on alone with an answer that broke off."""
    hears: bool = False
    """Whether its agents hear what the person says while they work."""
    takes_part: bool = False
    """Whether the person may be asked meanwhile, as `human_input` of the question says."""
    keeps_secrets: bool = False
    """Whether the person sees, until it is over, only what is said to them, and no work of the
    agents.
    """
    variant: str = ""
    """What sets it apart from the other teams of its kind, in words."""
    plans: bool = False
    """Whether it plans before it works, as `planning` of the question says."""
    speaks_in_fields: bool = False
    """Whether a program reads what its agents write, and others hear parts of it."""

    @staticmethod
    def from_json(given: str | bytes | Mapping[str, Any], team_id: str = "my-team") -> Team:
        """The team of a document; raises ConfigError that says what is wrong in it, and where.

        Nothing of it runs before it is asked.
        """
        # Documents are made of teams, so this file knows where they are read, and no more.
        made: Team = import_module("agentkit.teams.built.team").team_from_json(given, team_id)
        return made

    @property
    def title(self) -> str:
        """The name, with what sets the variant apart."""
        if not self.variant:
            return self.name
        return f"{self.name} ({self.variant[0].lower()}{self.variant[1:]})"

    @property
    def kind(self) -> str:
        """The part of the id that all variants share."""
        return self.id.partition(":")[0]

    def check(self, model: Model) -> None:
        """Raise ConfigError when the team cannot work with this model."""
        if model.is_language_model:
            return
        if self.needs_language_model:
            raise ConfigError(
                f"The team “{self.name}” needs a language model, and {model.label} only quotes."
                " Connect a model in the settings and choose it below, or choose another team."
            )


class Computed:
    """Listens for what tools and code gave, passages aside."""

    def __init__(self) -> None:
        self.results: list[str] = []

    def __call__(self, event: Event) -> None:
        """Keep it if it is such a result."""
        match event:
            case ToolReturned(ok=True, passages=[], content=content):
                self.results.append(content)
            case CodeRan(exit_code=0, output=output):
                self.results.append(output)
            case _:
                pass
