"""The pictures of a question, on the way into the calls of a team's agents.

As with wishes, histories stay as they are: the message with the question gets its pictures when it
goes out. Until then, and in what is kept of a request, an address with the hash of each stands for
its bytes. A model that does not see is told which there are, and the person that it does not.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, cast

from agentkit.core import bus
from agentkit.errors import ModelError, NotFound, WrongArgument
from agentkit.events import ParameterRefused
from agentkit.llm import sight
from agentkit.llm.model import Model
from agentkit.llm.tokens.images import count_image
from agentkit.messages import ContentPart, Message, text_of

PARAMETER = "pictures"
"""What a refusal of pictures is called in its event."""
PLACE = "agentkit-picture:"
"""How an address begins that stands for a picture."""
_KEPT = r"[0-9a-f]{64}\.(png|jpg)"
_MIMES = {"png": "image/png", "jpg": "image/jpeg"}
_HEIGHTS = (2048, 1536, 1024, 768)
"""Of pictures of the largest width: which of them has most tiles, servers see differently."""
_EARLIER = "(Pictures that went along with this question, and are not shown again: {})"
_UNSEEN = "(Pictures go along with this question, and you cannot see them: {}. Say so.)"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that goes along with a question: what it is called, and where it lies."""

    name: str
    kept: str
    """The name under which its chat keeps it: the sha256 of its bytes, and `.png` or `.jpg`."""
    width: int
    height: int
    """In pixels."""
    chat_id: str = ""
    """The chat that keeps it; empty while it waits to be asked about."""

    def __post_init__(self) -> None:
        """Raises WrongArgument unless it is a name under which a chat keeps a picture."""
        if not re.fullmatch(_KEPT, self.kept):
            raise WrongArgument(
                f"{self.kept!r:.100} is not the name of a picture that a chat keeps."
            )

    @property
    def place(self) -> str:
        """The address that stands for it; its tokens can be counted from that."""
        return f"{PLACE}{self.kept}#{self.width}x{self.height}"

    @property
    def mime(self) -> str:
        """What its bytes are."""
        return _MIMES[self.kept.rpartition(".")[2]]

    def count_tokens(self, model: str) -> tuple[int, bool]:
        """About how many tokens it has for a model, and whether that is an estimate; counted by
        its size as `tokens.images` does, which names the sources.
        """
        return count_image(_to_part(self), model)


def count_most(model: str) -> int:
    """About how many tokens a picture has at most for a model, of the sizes that are sent."""
    largest = map(Picture, repeat(""), repeat("0" * 64 + ".png"), repeat(2048), _HEIGHTS)
    counted = map(Picture.count_tokens, largest, repeat(model))
    most: int = max(map(itemgetter(0), counted))
    return most


@dataclass(frozen=True, slots=True)
class Shown:
    """What pictures there are for the calls of these agents."""

    agents: frozenset[str]
    question: str
    pictures: Sequence[Picture]
    """Of this question."""
    read: Callable[[Picture], bytes]
    earlier: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names of those of earlier questions, by what was asked."""
    told: set[str] = field(default_factory=set)
    """Ids of models of which it was told that they do not see."""


@contextmanager
def showing(shown: Shown) -> Iterator[None]:
    """Let this hold for the enclosed work, in its threads and tasks too."""
    token = _active.set(shown)
    try:
        yield
    finally:
        _active.reset(token)


def with_pictures(messages: list[Message], agent: str) -> list[Message]:
    """The messages, the question with the places of its pictures, and earlier ones with the names
    of theirs.
    """
    shown = _find(agent)
    told = list(map(_name_earlier, messages, repeat(shown.earlier)))
    at = _find_question(messages, shown)
    if at is not None:
        question = messages[at]
        text: ContentPart = {"type": "text", "text": text_of(question.get("content"))}
        parts = [text, *map(_to_part, shown.pictures)]
        told[at] = cast(Message, {**question, "content": parts})
    return told


def to_seen(messages: list[Message], model: Model, agent: str) -> list[Message]:
    """The messages as this model takes them: for one that does not see without pictures, which is
    told once.
    """
    shown = _find(agent)
    is_blind = sight.find_sight(model) == "blind"
    if not all((shown.pictures, is_blind)):
        return messages
    names = ", ".join(map(attrgetter("name"), shown.pictures))
    if model.id not in shown.told:
        shown.told.add(model.id)
        told = ParameterRefused(agent, model.name, model.id, PARAMETER, wished=names)
        bus.emit(told)
    note = ""
    if model.is_language_model:
        note = _UNSEEN.format(names)
    return list(map(_without_pictures, messages, repeat(note)))


def to_sent(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A request with the pictures themselves, as data URIs, in their places."""
    shown = _active.get()
    if not shown.pictures:
        return request
    addresses = map(_to_address, shown.pictures, map(shown.read, shown.pictures))
    places = map(attrgetter("place"), shown.pictures)
    messages = _exchange(request["messages"], places, addresses)
    return {**request, "messages": messages}


def to_kept(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages that were sent, as they are kept: with places for pictures."""
    shown = _active.get()
    if not shown.pictures:
        return messages
    addresses = map(_to_address, shown.pictures, map(shown.read, shown.pictures))
    places = map(attrgetter("place"), shown.pictures)
    return _exchange(messages, addresses, places)


def learn_blindness(error: ModelError, model: Model, sent: Sequence[Message]) -> bool:
    """Whether it was the pictures that the model refused; it gets none from then on."""
    had_pictures = f'"{PLACE}' in json.dumps(sent, default=str)
    is_refused = sight.refuses_pictures(error)
    if not all((had_pictures, is_refused)):
        return False
    sight.note_blind(model.provider, model.name)
    return True


def recall_blindness(told: Iterable[ParameterRefused], model: Model) -> None:
    """What was told of this model before is known again."""
    of_pictures = filter(lambda one: one.parameter == PARAMETER, told)
    ids = set(map(attrgetter("model_id"), of_pictures))
    if model.id in ids:
        sight.note_blind(model.provider, model.name)


def _to_part(picture: Picture) -> ContentPart:
    return {"type": "image_url", "image_url": {"url": picture.place}}


def _to_address(picture: Picture, content: bytes) -> str:
    in_letters = base64.b64encode(content).decode()
    return f"data:{picture.mime};base64,{in_letters}"


def _find_question(messages: Sequence[Message], shown: Shown) -> int | None:
    """Where the question was put last, if need be within a longer text; None for nowhere, and for
    one without pictures.
    """
    asked = shown.question.strip()
    texts = list(map(_read_user, messages))

    def fits(at: int) -> tuple[bool, bool, int]:
        text = texts[at]
        return text == asked, asked in text, at

    best = max(range(len(texts)), key=fits, default=0)
    there = texts[best:][:1]
    if not all((shown.pictures, asked in "".join(there))):
        return None
    return best


def _read_user(one: Message) -> str:
    """What a user says; empty for others."""
    if one.get("role") != "user":
        return ""
    said = text_of(one.get("content"))
    return said.strip()


def _name_earlier(one: Message, earlier: Mapping[str, Sequence[str]]) -> Message:
    said = _read_user(one)
    names = earlier.get(said)
    if not names:
        return one
    listed = _EARLIER.format(", ".join(names))
    told = {**one, "content": f"{said}\n\n{listed}"}
    return cast(Message, told)


def _without_pictures(one: Message, note: str) -> Message:
    content = one.get("content")
    if not isinstance(content, list):
        return one
    texts = filter(lambda part: part.get("type") == "text", content)
    said = text_of(list(texts))
    told = {**one, "content": f"{said}\n\n{note}".strip()}
    return cast(Message, told)


def _exchange(
    messages: Sequence[Mapping[str, Any]], before: Iterable[str], after: Iterable[str]
) -> list[dict[str, Any]]:
    """The messages with other addresses in place of those, wherever one is all of a value."""
    text = json.dumps(messages, ensure_ascii=False)
    for old, new in zip(before, after, strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    made: list[dict[str, Any]] = json.loads(text)
    return made


def _find(agent: str) -> Shown:
    """What there is for this agent's calls."""
    shown = _active.get()
    if agent in shown.agents:
        return shown
    return _NOTHING


def _read_nothing(picture: Picture) -> bytes:
    raise NotFound(f"The picture {picture.name} is not there.")


_NOTHING = Shown(frozenset(), "", (), _read_nothing)
_active: ContextVar[Shown] = ContextVar("agentkit_pictures", default=_NOTHING)
