"""RegexTaggedContentParser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import ResponseParsingError, TagNotFoundError, WrongArgument
from agentkit.parsers import RegexTaggedContentParser
from agentkit.parsers.regex_tagged import DEFAULT_PATTERN
from tests.timing import processor_time


@pytest.mark.parametrize(
    ("reply", "parsed"),
    [
        ("<a>x</a><b>y</b>", {"a": "x", "b": "y"}),
        ("<a>x</>", {"a": "x"}),
        ("<a>x</b></a>", {"a": "x</b>"}),
        ("<a>1</a><a>2</a>", {"a": 2}),
        ("<a>\n{'k': True,}\n</a>", {"a": {"k": True}}),
        ("<a>[1, 2</a>", {"a": "[1, 2"}),
        ("<a>None</a><b>NaN</b><c>null</c>", {"a": "None", "b": "NaN", "c": None}),
        ("<a> 3 </a><b>007</b><c>true</c>", {"a": 3, "b": "007", "c": True}),
        ("<think>hm</think><say>hi</say>", {"say": "hi"}),
        ("no tags, x < y > z", {}),
    ],
)
def test_default_pattern(reply: str, parsed: dict[str, Any]) -> None:
    response = RegexTaggedContentParser().parse(reply)
    assert (response.parsed, response.text) == (parsed, reply)


@given(st.text(alphabet="<>/ab\n", max_size=60))
def test_the_default_pattern_finds_what_the_regular_expression_finds(text: str) -> None:
    expected = {
        match["name"]: match["content"] for match in re.finditer(DEFAULT_PATTERN, text, re.DOTALL)
    }
    assert RegexTaggedContentParser(try_parse_json=False).parse(text).parsed == expected


def test_json_is_left_alone_on_demand() -> None:
    assert RegexTaggedContentParser(try_parse_json=False).parse("<a>1</a>").parsed == {"a": "1"}


def test_own_pattern() -> None:
    parser = RegexTaggedContentParser(
        r"\[(?P<name>\w+)\](?P<content>[^\[]*)", "Write [name] content."
    )
    assert parser.parse("[a]1[b]two").parsed == {"a": 1, "b": "two"}
    assert parser.format_instruction == "Write [name] content."
    assert parser.tagged_content_pattern.startswith(r"\[")
    optional = RegexTaggedContentParser(r"(?P<name>\w)(?:=(?P<content>\w))?")
    assert optional.parse("a b=c").parsed == {"b": "c"}


def test_required_keys() -> None:
    parser = RegexTaggedContentParser(required_keys=["speak", "vote"])
    assert parser.parse("<Speak>hi</Speak><VOTE>2</>").parsed == {"speak": "hi", "vote": 2}
    with pytest.raises(TagNotFoundError, match="lacks the tags 'vote'; it has 'speak', 'x'"):
        parser.parse("<speak>hi</speak><x>1</x>")


def test_reasoning_is_a_field_when_it_is_asked_for() -> None:
    reply = "<think>hm</think><say>hi</say>"
    assert RegexTaggedContentParser(required_keys=["think"]).parse(reply).parsed == {
        "think": "hm",
        "say": "hi",
    }
    assert RegexTaggedContentParser(keys_to_memory=["think"]).parse(reply).parsed == {
        "think": "hm",
        "say": "hi",
    }


@pytest.mark.parametrize(
    ("pattern", "part"),
    [("(?P<name>a)", "'content'"), ("a", "'name', 'content'"), ("(", "not a regular")],
)
def test_an_impossible_pattern_is_refused(pattern: str, part: str) -> None:
    with pytest.raises(WrongArgument, match=part) as raised:
        RegexTaggedContentParser(pattern)
    assert isinstance(raised.value, AssertionError)


def test_there_is_no_instruction_unless_given() -> None:
    parser = RegexTaggedContentParser()
    with pytest.raises(ValueError, match="give one to the parser"):
        _ = parser.format_instruction
    parser.format_instruction = "Use tags."
    assert parser.format_instruction == "Use tags."


def test_a_pattern_that_takes_too_long_is_stopped() -> None:
    with processor_time(10), pytest.raises(ResponseParsingError, match="takes longer than 1 s"):
        RegexTaggedContentParser(r"(?P<name>(a+)+b)(?P<content>c)").parse("a" * 5000)
