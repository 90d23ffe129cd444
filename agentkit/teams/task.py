"""What a team is, what it is given, and what it gives back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from agentkit.core import bus
from agentkit.errors import AgentkitError, ConfigError
from agentkit.events import (
    CodeRan,
    Compressed,
    Event,
    Fallback,
    MessageSent,
    MessageStatus,
    ReplyEnd,
    Retrieved,
    Thinking,
    ToolReturned,
)
from agentkit.llm.model import Model
from agentkit.llm.offline.passages import Passage
from agentkit.llm.support import Checked, Embed, check
from agentkit.messages import Message, new_id
from agentkit.reasons import ANSWERED, EndReason
from agentkit.retrieval import Hit
from agentkit.teams.approval import Allowed
from agentkit.teams.question import Question

if TYPE_CHECKING:
    from agentkit.documents import DocumentText

MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")


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


class Note(TypedDict):
    """What the person who asked should know beside the answer; it travels with it under `notes`."""

    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer points to; it keeps its own text, so that it outlives its
    document.
    """

    marker: int
    document_id: str
    document: str
    chunk_id: int
    page: int | None
    place: str
    heading: str
    start: int
    end: int
    """Character span in the document's text."""
    text: str
    score: float

    def to_json(self) -> dict[str, Any]:
        """As it travels with a message under `citations`."""
        return asdict(self)


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer rests on: its citations, and what came of checking each of its markers."""

    citations: tuple[Citation, ...] = ()
    checks: tuple[Checked, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As it travels with a message."""
        return {
            "citations": [one.to_json() for one in self.citations],
            "checks": [one.to_json() for one in self.checks],
        }


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

    @property
    def question(self) -> str:
        """What is asked, in words."""
        return self.asked.text

    def hear(self, event: Event) -> None:
        """Note what the final message has to tell of what happens in the work."""
        if isinstance(event, Retrieved) and event.fallback:
            self.fallback = event.fallback

    def evidence(self, text: str, hits: Sequence[Hit], computed: Sequence[str] = ()) -> Evidence:
        """What a finished answer rests on: the hits that it cites, and whether they say what it
        says.

        Its figures may also be from what was `computed` for it.
        """
        numbered = {
            number: (hit.text, source_line(hit)) for number, hit in enumerate(hits, start=1)
        }
        return Evidence(cited(text, hits), self.checked(text, numbered, computed))

    def checked(
        self, text: str, numbered: Mapping[int, tuple[str, str]], computed: Sequence[str] = ()
    ) -> tuple[Checked, ...]:
        """What comes of comparing each marker with its passage, by words alone where no vectors can
        be had.
        """
        try:
            return tuple(check(text, numbered, None if self.fallback else self.embed, computed))
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
        extra: Mapping[str, object] | None = None,
        cut: ReplyEnd | None = None,
        thinking: Thinking | None = None,
    ) -> None:
        """Send a message on: an inner one between agents, or the final answer; `cut` says what cut
        it.
        """
        message_id = self.answer_id if final else new_id()
        shown = {**(extra or {}), **({"cut": cut} if cut else {}), "inner": not final}
        if final and self.fallback:
            shown["fallback"] = asdict(self.fallback)
        bus.emit(
            MessageSent(
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
        )
        self.parent_id = message_id


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
    """Whether its agents call the user's own functions."""
    answers_at_once: bool = False
    """Whether all that the last agent's model writes is the answer, none of it a word to others."""
    goes_on: bool = False
    """Whether the last of its agents can go on alone with an answer that broke off."""
    variant: str = ""
    """What sets it apart from the other teams of its kind, in words."""

    @property
    def title(self) -> str:
        """The name, with what sets the variant apart."""
        return (
            f"{self.name} ({self.variant[0].lower()}{self.variant[1:]})"
            if self.variant
            else self.name
        )

    @property
    def kind(self) -> str:
        """The part of the id that all variants share."""
        return self.id.partition(":")[0]

    def check(self, model: Model) -> None:
        """Raise ConfigError when the team cannot work with this model."""
        if self.needs_language_model and not model.is_language_model:
            raise ConfigError(
                f"The team “{self.name}” needs a language model, and {model.label} is none: it only"
                " quotes. Connect a model in the settings and choose it below, or choose another"
                " team."
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


def passages(hits: Sequence[Hit]) -> list[Passage]:
    """The hits as numbered passages for a prompt, numbered from 1 in their order."""
    return [Passage(marker, source_line(hit), hit.text) for marker, hit in enumerate(hits, start=1)]


def source_line(hit: Hit) -> str:
    """Document, page or place, and heading of a hit in one line."""
    where = f"p. {hit.page}" if hit.page else hit.place
    return ", ".join(part for part in (hit.document, where, hit.heading) if part)


def covers(known: Hit, hit: Hit) -> bool:
    """Whether all of a hit stands in a known one: neighbours are merged as each search finds
    them.
    """
    return (
        known.document_id == hit.document_id and known.start <= hit.start and hit.end <= known.end
    )


def markers(text: str) -> list[int]:
    """The numbers of the markers `[n]` that occur in a text, in order, each once."""
    return sorted({int(number) for group in MARKER.findall(text) for number in group.split(",")})


def numbered_by_use(text: str, hits: Sequence[Hit]) -> tuple[str, list[Hit]]:
    """The text with its markers numbered from 1 in the order of their first use, and the hits in
    that order.

    Hits that it does not cite come last; numbers that name no hit are left as they are.
    """
    used = [int(number) for group in MARKER.findall(text) for number in group.split(",")]
    first = list(dict.fromkeys(number for number in used if 1 <= number <= len(hits)))
    new = {old: number for number, old in enumerate(first, start=1)}

    def renumbered(marker: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(new.get(int(number[0]), number[0])), marker[0])

    left = [hit for number, hit in enumerate(hits, start=1) if number not in new]
    return MARKER.sub(renumbered, text), [*(hits[number - 1] for number in first), *left]


def cited(text: str, hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The citations for the markers `[n]` that occur in `text`, by marker; numbers that name no hit
    are left out.
    """
    used = markers(text)
    return tuple(
        Citation(
            n,
            hit.document_id,
            hit.document,
            hit.chunk_id,
            hit.page,
            hit.place,
            hit.heading,
            hit.start,
            hit.end,
            hit.text,
            hit.score,
        )
        for n, hit in enumerate(hits, start=1)
        if n in used
    )
