"""Whatever JSON is written comes back, and whatever text comes, nothing but our error is raised."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentkit.errors import ResponseParsingError
from agentkit.parsers import (
    MarkdownCodeBlockParser,
    MarkdownJsonDictParser,
    MarkdownJsonObjectParser,
    MultiTaggedContentParser,
    ParserBase,
    RegexTaggedContentParser,
    TaggedContent,
)

PIECES = [
    "```",
    "```json\n",
    "~~~",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "\\",
    ",",
    ":",
    "\n",
    "</a>",
    "<a>",
    "“",
    "//",
    "True",
    "x",
    "é",
]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
)
OBJECTS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4)
PROSE = st.text(alphabet="ab ,.:;!()-_*#\n", max_size=40)
INDENTS = st.sampled_from([None, 2])
PARSERS: dict[str, ParserBase] = {
    "object": MarkdownJsonObjectParser(),
    "dict": MarkdownJsonDictParser({"a": "true/false"}, required_keys=["a"]),
    "code": MarkdownCodeBlockParser("python"),
    "tagged": MultiTaggedContentParser(TaggedContent("a", "<a>", "", "</a>", parse_json=True)),
    "regex": RegexTaggedContentParser(required_keys=["a"]),
    "regex, own": RegexTaggedContentParser(r"\[(?P<name>\w+)\](?P<content>[^\[]*)"),
}


@given(value=VALUES, before=PROSE, after=PROSE, indent=INDENTS)
def test_any_json_comes_back_out_of_a_fence(
    value: Any, before: str, after: str, indent: int | None
) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    assert PARSERS["object"].parse(
        f"{before}\n```json\n{written}\n```\n{after}"
    ).parsed == value or _holds_a_fence(value)
    assert PARSERS["object"].parse(written).parsed == value


def _holds_a_fence(value: Any) -> bool:
    """A bare string with a fence in it ends there, for it has no brackets to tell where it ends."""
    return isinstance(value, str) and ("```" in value or "~~~" in value)


@given(value=OBJECTS, before=PROSE, after=PROSE, indent=INDENTS, example_=OBJECTS)
def test_an_object_comes_back_out_of_prose(
    value: Any, before: str, after: str, indent: int | None, example_: Any
) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    parser = MarkdownJsonDictParser()
    assert parser.parse(f"{before} {written} {after}").parsed == value
    assert parser.parse(f"<think>{before}{{</think>{before}\n{written}").parsed == value
    fenced = f"```json\n{json.dumps(example_)}\n```\n{before}\n```json\n{written}\n```\n{after}"
    assert parser.parse(fenced).parsed == value


@given(value=OBJECTS, indent=INDENTS)
def test_json_comes_back_out_of_tags(value: Any, indent: int | None) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    assert PARSERS["tagged"].parse(f"So: <a>{written}</a>.").parsed == {"a": value}


@given(value=OBJECTS, indent=INDENTS, cut=st.integers(min_value=1))
def test_an_object_that_is_cut_off_is_never_parsed(
    value: Any, indent: int | None, cut: int
) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    with pytest.raises(ResponseParsingError):
        MarkdownJsonDictParser().parse(f"```json\n{written[: -(cut % len(written)) or -1]}")


@settings(max_examples=300)
@given(
    text=st.lists(
        st.sampled_from([*PIECES, "[1]", '{"a": 1}', "<think>", "</think>", "a"]), max_size=40
    ).map("".join)
)
@example(text="[" * 5000 + "]" * 5000)
@example(text='{"a":' * 5000 + "1" + "}" * 5000)
@example(text="{'a':" * 300 + "1" + "}" * 300)
@example(text='{"a": ' + "9" * 5000 + "}")
@example(text="{'a': " + "9" * 5000 + "}")
@example(text="```python")
def test_nothing_but_our_error_is_raised(text: str) -> None:
    for parser in PARSERS.values():
        parsed = _parsed(parser, text)
        if isinstance(parsed, ResponseParsingError):
            assert (parsed.raw_response, len(parsed.message) < 1000) == (text, True)
        else:
            json.dumps(parsed, allow_nan=False)


HOSTILE = [
    "{",
    '["',
    '{"a": ',
    "{}",
    '{"a',
    "```json\n{\n",
    "```json\n```js\n~~~\n",
    "a ```x\n",
    "`",
    '{"\\',
    '[\\"',
    "{[}]",
    "{“a‘'",
    "<a>",
    "<a><b>",
    "</a></",
    "<",
    "<think>",
    '```json\n"b": {}\n```\n',
]


@pytest.mark.parametrize("part", HOSTILE)
def test_a_long_hostile_text_is_refused_or_read(part: str) -> None:
    text = part * (300_000 // len(part))
    for name in ("dict", "code", "tagged", "regex"):
        parsed = _parsed(PARSERS[name], text)
        assert isinstance(parsed, ResponseParsingError | dict | str), name
        if isinstance(parsed, ResponseParsingError):
            assert parsed.raw_response == text


def _parsed(parser: ParserBase, text: str) -> Any:
    try:
        return parser.parse(text).parsed
    except ResponseParsingError as error:
        return error


def test_the_answer_behind_a_long_text_of_anything_is_found() -> None:
    answer = '\n```json\n{"a": "true"}\n```'
    for part in (
        "prose [1] {x} ",
        '{"b": 1}\n',
        '```json\n{"b": {\n```\n',
        "<a><b>",
        '"quoted" it\'s ',
    ):
        assert PARSERS["dict"].parse(part * (300_000 // len(part)) + answer).parsed == {"a": True}


def test_ten_thousand_tags() -> None:
    text = "".join(f"<t{number}>{number}</t{number}>" for number in range(10_000))
    assert RegexTaggedContentParser().parse(text).parsed == {
        f"t{number}": number for number in range(10_000)
    }
