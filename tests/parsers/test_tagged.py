"""MultiTaggedContentParser."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.errors import JsonParsingError, ResponseParsingError, TagNotFoundError
from agentkit.parsers import MultiTaggedContentParser, TaggedContent

THOUGHT = TaggedContent("thought", "[THOUGHT]", "what you think", "[/THOUGHT]")
VOTE = TaggedContent("vote", "<vote>", '{"target": "a name"}', "</vote>", parse_json=True)
FENCED = TaggedContent("data", "```json", "{...}", "```", parse_json=True)


@pytest.mark.parametrize(
    ("reply", "parsed"),
    [
        (
            '[THOUGHT]hm[/THOUGHT]\n<vote>{"target": "Ann"}</vote>',
            {"thought": "hm", "vote": {"target": "Ann"}},
        ),
        ("<vote>3</vote> and [THOUGHT]\n a \n[/THOUGHT]", {"thought": "\n a \n", "vote": 3}),
        ("[thought]hm[/Thought]<VOTE>[1,]</vote>", {"thought": "hm", "vote": [1]}),
        (
            "[THOUGHT]a[/THOUGHT][THOUGHT]b[/THOUGHT]<vote>null</vote>",
            {"thought": "a", "vote": None},
        ),
        (
            '[THOUGHT][/THOUGHT]<vote>{"a": "</vote>"}</vote>',
            {"thought": "", "vote": {"a": "</vote>"}},
        ),
        (
            "[THOUGHT]x[/THOUGHT]<vote>\n```json\n{'a': True}\n```\n</vote>",
            {"thought": "x", "vote": {"a": True}},
        ),
        (
            "<think>[THOUGHT]draft[/THOUGHT]</think>[THOUGHT]x[/THOUGHT]<vote>1</vote>",
            {"thought": "x", "vote": 1},
        ),
    ],
)
def test_finds_the_fields(reply: str, parsed: dict[str, Any]) -> None:
    response = MultiTaggedContentParser(THOUGHT, VOTE).parse(reply)
    assert (response.parsed, response.text) == (parsed, reply)


def test_a_fence_in_a_json_string_is_no_end_tag() -> None:
    parser = MultiTaggedContentParser(FENCED)
    assert parser.parse('```json\n{"code": "```x```"}\n```').parsed == {"data": {"code": "```x```"}}


def test_reasoning_may_be_a_field() -> None:
    parser = MultiTaggedContentParser(
        TaggedContent("t", "<think>", "", "</think>"), TaggedContent("s", "<say>", "", "</say>")
    )
    assert parser.parse("<think>hm</think><say>hi</say>").parsed == {"t": "hm", "s": "hi"}


@pytest.mark.parametrize(
    ("reply", "begin", "end"),
    [
        ("nothing", True, True),
        ("[THOUGHT]hm", False, True),
        ("hm[/THOUGHT]", True, False),
        ("[/THOUGHT][THOUGHT]", False, True),
    ],
)
def test_says_which_tag_is_missing(reply: str, begin: bool, end: bool) -> None:
    with pytest.raises(TagNotFoundError, match="The field 'thought' has no") as raised:
        MultiTaggedContentParser(THOUGHT).parse(reply)
    assert (raised.value.missing_begin_tag, raised.value.missing_end_tag) == (begin, end)


def test_fields_may_be_allowed_to_be_missing() -> None:
    parser = MultiTaggedContentParser(THOUGHT, VOTE, keys_allow_missing=["thought"])
    assert parser.parse("<vote>1</vote>").parsed == {"vote": 1}
    with pytest.raises(TagNotFoundError, match="'vote'"):
        parser.parse("[THOUGHT]a[/THOUGHT]")


@pytest.mark.parametrize(
    "content", ["", "Ann", '{"a" 1}', '{"a": 1', '{"a": 1} {"b": 2}', 'I vote {"a": 1}', "NaN"]
)
def test_content_that_must_be_json_and_is_not(content: str) -> None:
    reply = f"<vote>{content}</vote>"
    with pytest.raises(JsonParsingError, match="Between <vote> and </vote> must be JSON") as raised:
        MultiTaggedContentParser(VOTE).parse(reply)
    assert raised.value.raw_response == reply


def test_unclosed_reasoning_is_refused() -> None:
    with pytest.raises(ResponseParsingError, match="never closed"):
        MultiTaggedContentParser(THOUGHT).parse("<think>[THOUGHT]draft[/THOUGHT]")


def test_instruction_and_attributes() -> None:
    parser = MultiTaggedContentParser(THOUGHT, VOTE, keys_allow_missing=["vote"])
    assert f"{THOUGHT}\n{VOTE}" in parser.format_instruction
    assert "<vote> and </vote>" in parser.format_instruction
    assert "JSON" not in MultiTaggedContentParser(THOUGHT).format_instruction
    assert (parser.tagged_contents, parser.keys_allow_missing) == ([THOUGHT, VOTE], ["vote"])
    assert str(VOTE) == '<vote>{"target": "a name"}</vote>'
