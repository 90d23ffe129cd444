"""Replies with tagged fields whose names are not known in advance."""

from __future__ import annotations

import re
import sys
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentkit.core.given import coalesce, list_missing
from agentkit.errors import JsonParsingError, ResponseParsingError, TagNotFoundError, WrongArgument
from agentkit.parsers.base import TextParser, excerpt
from agentkit.parsers.decoding import decode, decode_strictly
from agentkit.parsers.filters import DictFilterMixin, Keys, list_keys
from agentkit.parsers.hints import Shape, match_keys
from agentkit.parsers.reasoning import find_answer

DEFAULT_PATTERN = r"<(?P<name>[^>]+)>(?P<content>.*?)</\1?>"
TIMEOUT_S = 1.0
"""How long a pattern may take for one reply."""

# The longest name that is looked for; text between < and > that is longer is prose or hostile.
_LONGEST_NAME = 200
_OPENING = re.compile(rf"<(?=([^>]{{1,{_LONGEST_NAME}}}+)>)")
_CLOSING = re.compile(rf"</(?=([^>]{{0,{_LONGEST_NAME}}}+)>)")
_NOWHERE = sys.maxsize
_BEGIN_CONTAINERS = frozenset("{[")
# Saves most texts the attempt.
_BEGIN_SCALARS = frozenset('"-0123456789tfn')


class RegexTaggedContentParser(TextParser, DictFilterMixin):
    """Reads a dict of tagged fields out of a reply; the pattern has the groups `name` and
    `content`.

    By default a field is `<name>content</name>` or `<name>content</>`. With try_parse_json, content
    that is JSON is decoded, and all other stays text. Names in another case than the required or
    filtered keys are taken for those. Raises TagNotFoundError for required keys that are not there,
    ResponseParsingError when the pattern takes longer than a second.
    """

    def __init__(
        self,
        tagged_content_pattern: str = DEFAULT_PATTERN,
        format_instruction: str | None = None,
        try_parse_json: bool = True,
        required_keys: Sequence[str] | None = None,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
        *,
        keys_to_speak: Keys = None,
        keys_to_return: Keys = None,
    ) -> None:
        DictFilterMixin.__init__(
            self,
            keys_to_memory,
            keys_to_content,
            keys_to_metadata,
            keys_to_speak=keys_to_speak,
            keys_to_return=keys_to_return,
        )
        _check_pattern(tagged_content_pattern)
        self.tagged_content_pattern = tagged_content_pattern
        self.try_parse_json = try_parse_json
        self.required_keys = list(coalesce(required_keys, ()))
        self._instruction = format_instruction

    @property
    def format_instruction(self) -> str:
        """What the model is told at the end of the prompt; raises WrongArgument when none was
        given.
        """
        if self._instruction is None:
            raise WrongArgument(
                "There is no format_instruction: the names of the tags are not known, so give one"
                " to the parser."
            )
        return self._instruction

    @format_instruction.setter
    def format_instruction(self, instruction: str) -> None:
        """Sets what the model is told."""
        self._instruction = instruction

    def _read(self, text: str) -> dict[str, Any]:
        known = Shape()
        for key in (*self.required_keys, *self.filtered_keys()):
            known.add_path(key)
        answer = text[find_answer(text, known.fields) :]
        found = dict(self._find_fields(answer, text))
        names = match_keys(found, known.fields)
        read = _read_json if self.try_parse_json else str
        contents = map(read, found.values())
        parsed = dict(zip((names[each] for each in found), contents, strict=True))
        self._require(parsed, text)
        return parsed

    def _find_fields(self, answer: str, text: str) -> Iterator[tuple[str, str]]:
        if self.tagged_content_pattern == DEFAULT_PATTERN:
            return _find_default(answer)
        return _find_by_pattern(self.tagged_content_pattern, answer, text)

    def _require(self, parsed: Mapping[str, object], text: str) -> None:
        missing = list_missing(self.required_keys, parsed)
        if missing:
            raise TagNotFoundError(
                f"The reply lacks the tags {list_keys(missing)}; it has {list_keys(list(parsed))}."
                f" The reply: {excerpt(text)}",
                text,
            )


def _check_pattern(pattern: str) -> None:
    import regex  # type: ignore[import-untyped]

    try:
        groups = regex.compile(pattern, regex.DOTALL).groupindex
    except regex.error as error:
        raise WrongArgument(
            f"tagged_content_pattern {pattern!r} is not a regular expression: {error}."
        ) from None
    if missing := list_missing(("name", "content"), groups):
        raise WrongArgument(
            f"tagged_content_pattern {pattern!r} lacks the groups {list_keys(missing)}; write"
            " (?P<name>...) and (?P<content>...)."
        )


def _find_by_pattern(pattern: str, answer: str, text: str) -> Iterator[tuple[str, str]]:
    import regex

    until = time.monotonic() + TIMEOUT_S
    try:
        for match in regex.finditer(pattern, answer, flags=regex.DOTALL, timeout=TIMEOUT_S):
            if time.monotonic() > until:
                raise TimeoutError
            found = match.group("name", "content")
            if None not in found:
                yield found
    except TimeoutError:
        raise ResponseParsingError(
            f"The pattern {pattern!r} takes longer than {TIMEOUT_S:g} s for the reply; reply"
            f" shorter, or use a simpler pattern. The reply: {excerpt(text)}",
            text,
        ) from None


def _find_default(text: str) -> Iterator[tuple[str, str]]:
    """The same as the default pattern finds, in linear time: closing tags are looked up by their
    names.
    """
    closing = defaultdict[str, list[int]](list)
    for match in _CLOSING.finditer(text):
        closing[match[1]].append(match.start())
    start = 0
    for opening in _OPENING.finditer(text):
        name = opening[1]
        begins = opening.end() + len(name) + 1
        end, closed_by = min(
            (_find_next(closing.get(name, ()), begins), name), (_find_next(closing[""], begins), "")
        )
        if opening.start() >= start and end < _NOWHERE:
            yield name, text[begins:end]
            start = end + len(closed_by) + len("</>")


def _find_next(places: Sequence[int], start: int) -> int:
    """The first place from start on, far behind all text if there is none."""
    index = bisect_left(places, start)
    if index < len(places):
        return places[index]
    return _NOWHERE


def _read_json(content: str) -> Any:
    """The content as JSON, if it is; a text like None or NaN stays a text."""
    begins = len(content) - len(content.lstrip())
    first = content[begins : begins + 1]
    try:
        if first in _BEGIN_CONTAINERS:
            return decode(content, (begins, len(content.rstrip())))
        if first in _BEGIN_SCALARS:
            return decode_strictly(content)
        return content
    except (JsonParsingError, ValueError, RecursionError):
        return content
