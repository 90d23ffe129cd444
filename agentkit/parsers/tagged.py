"""Replies in which each field stands between two tags of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import attrgetter
from typing import Any

from agentkit.core.given import coalesce
from agentkit.errors import JsonParsingError, TagNotFoundError
from agentkit.parsers.base import Span, TextParser, excerpt
from agentkit.parsers.candidates import read_json
from agentkit.parsers.decoding import decode
from agentkit.parsers.filters import DictFilterMixin, Keys
from agentkit.parsers.reasoning import BLANK, find_answer
from agentkit.parsers.spans import scan


class TaggedContent:
    """A field: its name in the parsed dict, the tags around it, what the model should write there,
    and whether that is JSON.
    """

    def __init__(
        self, name: str, tag_begin: str, content_hint: str, tag_end: str, parse_json: bool = False
    ) -> None:
        self.name = name
        self.tag_begin = tag_begin
        self.content_hint = content_hint
        self.tag_end = tag_end
        self.parse_json = parse_json

    def __str__(self) -> str:
        return f"{self.tag_begin}{self.content_hint}{self.tag_end}"


class MultiTaggedContentParser(TextParser, DictFilterMixin):
    """Reads a dict of tagged fields out of a reply.

    A field is what stands between the first of its begin tags and the first end tag behind that;
    where the reply has a tag in another case only, that counts. With `parse_json` the field is
    decoded (an end tag in a JSON string does not count).
    Raises TagNotFoundError for a field that is not there, unless keys_allow_missing names it, and
    JsonParsingError.
    """

    def __init__(
        self,
        *tagged_contents: TaggedContent,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
        keys_allow_missing: Sequence[str] | None = None,
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
        self.tagged_contents = list(tagged_contents)
        self.keys_allow_missing = keys_allow_missing
        self.format_instruction = _write_instruction(self.tagged_contents)

    def _read(self, text: str) -> dict[str, Any]:
        start = find_answer(text, [tagged.tag_begin.strip("<>") for tagged in self.tagged_contents])
        allowed = coalesce(self.keys_allow_missing, ())
        found = {}
        for tagged in self.tagged_contents:
            try:
                found[tagged.name] = _read_field(text, start, tagged)
            except TagNotFoundError:
                if tagged.name not in allowed:
                    raise
        return found


def _write_instruction(tagged_contents: Iterable[TaggedContent]) -> str:
    as_json = [
        f"{tagged.tag_begin} and {tagged.tag_end}"
        for tagged in tagged_contents
        if tagged.parse_json
    ]
    remark = ""
    if as_json:
        remark = f" Between {', between '.join(as_json)} write valid JSON."
    lines = "\n".join(map(str, tagged_contents))
    return f"Reply with these tags and fill in what stands between them.{remark}\n{lines}"


def _read_field(text: str, start: int, tagged: TaggedContent) -> Any:
    begin = _find(text, tagged.tag_begin, start)
    if begin is None:
        lacks_end = _find(text, tagged.tag_end, start) is None
        raise _report_missing(text, tagged, True, lacks_end)
    _, behind = begin
    end = _find_end(text, tagged, behind)
    if end is None:
        raise _report_missing(text, tagged, False, True)
    until, _ = end
    if tagged.parse_json:
        return _decode(text, (behind, until), tagged)
    return text[behind:until]


def _find_end(text: str, tagged: TaggedContent, behind: int) -> Span | None:
    """The span of the closing tag; one that stands in the JSON counts where there is no other."""
    end = None
    if tagged.parse_json:
        end = _find(text, tagged.tag_end, _find_end_of_json(text, behind))
    return end or _find(text, tagged.tag_end, behind)


def _find(text: str, tag: str, start: int) -> Span | None:
    """The span of a tag as it is written, else in any case."""
    at = text.find(tag, start)
    if at >= 0:
        return at, at + len(tag)
    found = re.compile(re.escape(tag), re.IGNORECASE).search(text, start)
    if found is None:
        return None
    return found.span()


def _find_end_of_json(text: str, start: int) -> int:
    """Where the brackets close that begin there; start if there are none."""
    begins = start + len(text[start:]) - len(text[start:].lstrip(BLANK))
    if not text.startswith(("{", "["), begins):
        return start
    spans: dict[int, int] = dict(chain.from_iterable(map(attrgetter("spans"), scan(text, begins))))
    return spans.get(begins, start)


def _decode(text: str, span: Span, tagged: TaggedContent) -> Any:
    content = text[span[0] : span[1]]
    try:
        if content.strip(BLANK).startswith(("```", "~~~")):
            return read_json(content, 0, lambda value: value)
        return decode(
            text, (span[1] - len(content.lstrip(BLANK)), span[0] + len(content.rstrip(BLANK)))
        )
    except JsonParsingError as error:
        raise JsonParsingError(
            f"Between {tagged.tag_begin} and {tagged.tag_end} must be JSON. {error.message}", text
        ) from None


def _report_missing(text: str, tagged: TaggedContent, begin: bool, end: bool) -> TagNotFoundError:
    tags = " and ".join(compress((tagged.tag_begin, tagged.tag_end), (begin, end)))
    return TagNotFoundError(
        f"The field {tagged.name!r} has no {tags} in the reply; write it as"
        f" {tagged.tag_begin}...{tagged.tag_end}. The reply: {excerpt(text)}",
        text,
        missing_begin_tag=begin,
        missing_end_tag=end,
    )
