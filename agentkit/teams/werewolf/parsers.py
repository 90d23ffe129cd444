"""One parser for each phase: what a player thinks, says and decides, read from one JSON object.

Thoughts go into the player's own memory only, what is said goes to the others, and decisions to the
program. Values that real models write ("true", "player 3", "I vote Player3.") are read where they
can mean one thing only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentkit.core.given import coalesce, pick
from agentkit.errors import JsonDictValidationError
from agentkit.parsers import MarkdownJsonDictParser, ModelResponse

NOBODY = "nobody"
"""The choice of nobody: an abstention."""
_LONGEST = 300  # characters of a value that is to be a name; what is longer is a speech
_UNREADABLE = "?"
_NONE = re.compile(
    r"\W*(?:i )?(?:vote )?(?:for )?(?:abstain|abstention|nobody|no["
    r" -]?one|none|no|nothing|null|n/a|skip|pass)\W*|[\s-]*"
)
# Words that may stand before a name without changing what is meant, unlike "not", "save", "trust".
_BEFORE = (
    r"\W*(?:(?:i|we|my|the|is|will|would"
    r" like|to|want|choose|pick|select|suspect|vote|voting|votes|for|against|target|kill|"
    r"eliminate|poison|check|look|at|choice|player)\b\W*)*"
)
_AFTER = r"(?:\W*|\W+(?:because|since)\b.*)"
_NUMBER = re.compile(r"\W*\d{1,4}\W*")
_YES = re.compile(r"\W*(?:true|yes|y|1)" + _AFTER, re.DOTALL)
_NO = re.compile(r"\W*(?:false|no|n|0)" + _AFTER, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Text:
    """Something said or thought; it becomes one paragraph, so that nobody can seem to speak in
    another's name.
    """

    hint: str
    passed: str
    """What stands in its place when no reply could be read."""
    required: bool = True
    schema: ClassVar[Mapping[str, Any]] = {"type": "string"}

    def read(self, value: object) -> str:
        """The text; raises ValueError for anything else, and for an empty one where something
        is to be said.
        """
        given = coalesce(value, "")
        if not isinstance(given, str):
            raise _say_no_text(value)
        text = " ".join(given.split())
        if self.required and not text:
            raise _say_no_text(value)
        return text


def _say_no_text(value: object) -> ValueError:
    return ValueError(f"must be a text with something in it, not {value!r:.200}")


@dataclass(frozen=True, slots=True)
class YesNo:
    """A decision, true or false."""

    hint: str
    passed: bool = False
    required: ClassVar[bool] = True
    schema: ClassVar[Mapping[str, Any]] = {"type": "boolean"}
    options: ClassVar[Sequence[str]] = ("yes", "no")

    def read(self, value: object) -> bool:
        """The decision; raises ValueError for anything that may mean something else."""
        text = _to_plain(value)
        if _YES.fullmatch(text):
            return True
        if _NO.fullmatch(text):
            return False
        raise ValueError(f"must be true or false, not {value!r:.200}")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the candidates, or nobody where one may abstain; `players` are all names, for telling
    what a name means.
    """

    hint: str
    candidates: Sequence[str]
    players: Sequence[str]
    may_abstain: bool = True
    passed: str = NOBODY
    required: ClassVar[bool] = True

    @property
    def schema(self) -> Mapping[str, Any]:
        """The names as JSON schema."""
        return {"type": "string", "enum": self.options}

    @property
    def options(self) -> list[str]:
        """What can be chosen, nobody included where one may abstain."""
        if not self.may_abstain:
            return list(self.candidates)
        return [*self.candidates, NOBODY]

    def read(self, value: object) -> str:
        """The name; raises ValueError when it is unclear, unknown, or that of somebody who cannot
        be chosen.
        """
        match value:
            case [only]:
                value = only
        if self.may_abstain and _means_nobody(value):
            return NOBODY
        name = _find_name(_to_plain(value), self.players)
        if name in self.candidates:
            return name
        why = f"{value!r:.200} names nobody clearly"
        if name:
            why = f"{name} cannot be chosen"
        raise ValueError(f"{why}; give exactly one of: {', '.join(self.options)}")


Field = Text | YesNo | Choice


class PhaseParser(MarkdownJsonDictParser):
    """Reads a reply with these fields; `says` is the one that is heard, `tells` the one that the
    program sees.
    """

    def __init__(self, fields: Mapping[str, Field], says: str, tells: str | None = None) -> None:
        self.fields = dict(fields)
        hint = {key: field.hint for key, field in fields.items()}
        needed = [key for key, field in fields.items() if field.required]
        remembered = pick(fields, ("thought", says))
        super().__init__(
            hint,
            needed,
            keys_to_memory=list(remembered),
            keys_to_content=says,
            keys_to_metadata=tells or False,
        )

    def parse(self, response: ModelResponse | str) -> ModelResponse:
        """Fill `parsed` with the values as they are meant; raises JsonDictValidationError for what
        cannot be.
        """
        read = super().parse(response)
        values: dict[str, Any] = {}
        problems: list[str] = []
        for key, field in self.fields.items():
            given = read.parsed.get(key)
            try:
                values[key] = field.read(given)
            except ValueError as error:
                problems.append(f'"{key}" {error}')
        if problems:
            read.parsed = None
            told = "; ".join(problems)
            raise JsonDictValidationError(f"{told}.", read.text)
        read.parsed = values
        return read

    def to_content(self, parsed_response: Mapping[str, object], allow_missing: bool = False) -> Any:
        """What the others hear; a decision in a word."""
        heard = super().to_content(parsed_response, allow_missing)
        if heard is True:
            return "yes"
        if heard is False:
            return "no"
        return heard

    def api_format(self) -> dict[str, Any]:
        """The fields as a JSON schema, for servers that hold the model to it."""
        properties: dict[str, Any] = {}
        for key, field in self.fields.items():
            properties[key] = {**field.schema, "description": field.hint}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": True},
        }

    @property
    def passed(self) -> dict[str, Any]:
        """What counts when no reply could be read: silence, no, nobody."""
        return {key: field.passed for key, field in self.fields.items()}


def for_scheme(player: str) -> PhaseParser:
    """For the werewolves among themselves; tells whether this one agrees with the other."""
    finish = YesNo(
        "true once you and the other werewolf agree on one name, else false", passed=True
    )
    fields = {**_talk(player, "the other werewolf"), "finish_discussion": finish}
    return PhaseParser(fields, "speak", "finish_discussion")


def for_talk(player: str) -> PhaseParser:
    """For the discussion by day."""
    return PhaseParser(_talk(player, "everybody"), "speak")


def for_choice(
    key: str,
    what: str,
    candidates: Sequence[str],
    players: Sequence[str],
    *,
    may_abstain: bool = True,
) -> PhaseParser:
    """For the choice of a player, under this key; tells the name, or `NOBODY`."""
    hint = f"{what}: exactly one of {', '.join(candidates)}"
    if may_abstain:
        hint += f", or {NOBODY}"
    choice = Choice(hint, candidates, players, may_abstain)
    fields: dict[str, Field] = {"thought": _THOUGHT, key: choice}
    return PhaseParser(fields, key, key)


def for_decision(key: str, what: str) -> PhaseParser:
    """For a yes or no, under this key; tells it."""
    decision = YesNo(f"{what}: true or false")
    fields: dict[str, Field] = {"thought": _THOUGHT, key: decision}
    return PhaseParser(fields, key, key)


_THOUGHT = Text(
    "what you think, one or two sentences; nobody else reads it",
    "(no reply that could be read)",
    required=False,
)


def _talk(player: str, audience: str) -> dict[str, Field]:
    words = f"what you, {player}, say to {audience}, at most three sentences"
    return {"thought": _THOUGHT, "speak": Text(words, "I have nothing to say.")}


def _to_plain(value: object) -> str:
    """A value as it is compared; anything too long to be a name, or other than a text or
    number, is like nothing.
    """
    if not isinstance(value, str | int):
        return _UNREADABLE
    text = str(value)
    if len(text) > _LONGEST:
        return _UNREADABLE
    return unicodedata.normalize("NFKC", text).strip().casefold()


def _means_nobody(value: object) -> bool:
    if value is None or value is False:
        return True
    plain = _to_plain(value)
    return _NONE.fullmatch(plain) is not None


def _find_name(text: str, players: Sequence[str]) -> str:
    """The one player that a text names; empty when it may be another, or says more than a name."""
    found = [name for name in players if _name_pattern(name).fullmatch(text)]
    if not found and _NUMBER.fullmatch(text):
        number = int(re.sub(r"\D", "", text))
        ends = re.compile(rf"(?<!\d)0*{number}\Z")
        found = list(filter(ends.search, players))
    match found:
        case [only]:
            return only
    return ""


def _name_pattern(name: str) -> re.Pattern[str]:
    """A pattern for the name with any separators between its words and numbers: `player 3`,
    `Player_3`, `player-3`.
    """
    plain = _to_plain(name)
    parts = re.findall(r"[^\W\d_]+|\d+", plain) or [plain]
    loose = r"[\s_#.-]*".join(map(re.escape, parts))
    return re.compile(rf"{_BEFORE}(?<!\w){loose}(?!\w){_AFTER}", re.DOTALL)
