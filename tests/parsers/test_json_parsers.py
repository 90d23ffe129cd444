"""MarkdownJsonObjectParser and MarkdownJsonDictParser: instructions, hints, schemas, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, Field

from agentkit.errors import (
    JsonParsingError,
    JsonTypeError,
    RequiredFieldNotFoundError,
    WrongArgument,
    WrongType,
)
from agentkit.parsers import (
    MarkdownJsonDictParser,
    MarkdownJsonObjectParser,
    ModelResponse,
    ParserBase,
)


class Vote(BaseModel):
    """A vote of a player."""

    target: str
    weight: int = Field(default=1, ge=1)
    sure: bool = False


class Turn(BaseModel):
    """What a player does."""

    thought: str
    vote: Vote


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('```json\n{"a": [1, 2.5, null]}\n```', {"a": [1, 2.5, None]}),
        ("```json\n[1, 2]\n```", [1, 2]),
        ("```json\n3\n```", 3),
        ("```json\nTrue\n```", True),
        ("```\n'x'\n```", "x"),
        ("[]", []),
        (" -1.5e3 ", -1500.0),
        ("null", None),
        ('"x"', "x"),
        ("The list: [1, 2]", [1, 2]),
        ('See [1]: {"a": 1} and [2]', {"a": 1}),
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    ],
)
def test_any_json_value_is_parsed(reply: str, value: Any) -> None:
    assert MarkdownJsonObjectParser().parse(reply).parsed == value


def test_a_response_keeps_its_text_and_loses_an_old_value() -> None:
    response = ModelResponse(text="no", raw={"id": 1}, parsed={"old": True})
    with pytest.raises(JsonParsingError):
        MarkdownJsonObjectParser().parse(response)
    assert (response.text, response.parsed, response.raw) == ("no", None, {"id": 1})
    response.text = '{"a": 1}'
    assert MarkdownJsonObjectParser().parse(response) is response
    assert (response.text, response.parsed) == ('{"a": 1}', {"a": 1})


def test_a_reply_without_text_is_refused() -> None:
    with pytest.raises(WrongArgument, match="has no text"):
        MarkdownJsonObjectParser().parse(ModelResponse(tool_calls=[{"id": "1"}]))


def test_errors_show_the_beginning_and_keep_the_whole() -> None:
    reply = "word " * 1000
    with pytest.raises(JsonParsingError, match=r"cut, 5,000 characters") as raised:
        MarkdownJsonObjectParser().parse(reply)
    assert len(raised.value.message) < 400
    assert raised.value.raw_response == reply


def test_hints_stand_in_the_instruction() -> None:
    assert '```json\n{"a": "ä"}\n```' in MarkdownJsonObjectParser({"a": "ä"}).format_instruction
    assert (
        "```json\n[what you like]\n```"
        in MarkdownJsonDictParser("[what you like]").format_instruction
    )
    parser = MarkdownJsonDictParser(Turn)
    assert parser.pydantic_class is Turn
    assert json.dumps(Turn.model_json_schema()) in parser.format_instruction
    parser = MarkdownJsonDictParser({"a": 1})
    parser.content_hint = "{other}"
    assert "{other}" in parser.format_instruction


def test_attributes_of_the_block() -> None:
    parser = MarkdownJsonDictParser({"a": True}, required_keys=["a"])
    assert (parser.name, parser.tag_begin, parser.tag_end) == ("json block", "```json", "```")
    assert (parser.content_hint, parser.required_keys, parser.pydantic_class) == (
        '{"a": true}',
        ["a"],
        None,
    )


def test_a_hint_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(WrongType, match="content_hint must be a text"):
        MarkdownJsonDictParser({"a": object()})


def test_missing_keys_are_named_with_those_that_are_there() -> None:
    parser = MarkdownJsonDictParser(required_keys=["speak", "vote", "end"])
    with pytest.raises(
        RequiredFieldNotFoundError,
        match=r"lacks the required keys 'vote', 'end'; it has the keys 'speak', 'x'",
    ):
        parser.parse('{"speak": 1, "x": 2}')


def test_required_keys_may_be_paths() -> None:
    parser = MarkdownJsonDictParser(
        required_keys=["vote.target", "a.b"], keys_to_content="vote.target"
    )
    parsed = parser.parse('{"Vote": {"TARGET": "Ann"}, "a.b": 1}').parsed
    assert parsed == {"vote": {"target": "Ann"}, "a.b": 1}
    assert parser.to_content(parsed) == "Ann"
    with pytest.raises(RequiredFieldNotFoundError, match=r"'vote.target'"):
        parser.parse('{"vote": {"aim": "Ann"}, "a.b": 1}')


@pytest.mark.parametrize(
    "hint",
    [
        {"end": True},
        {"end": "true/false"},
        {"end": "true or false: whether all was said"},
        {"end": "bool"},
        '{"end": true}',
        '{"thought": "what you think", "end": true/false}',
        '{"end": true/false, "speak": "a text"}',
    ],
)
def test_texts_become_bools_where_the_hint_says_so(hint: Any) -> None:
    parser = MarkdownJsonDictParser(hint)
    assert parser.parse('{"end": "True", "speak": "true"}').parsed == {"end": True, "speak": "true"}
    assert parser.parse('{"END": "false"}').parsed == {"end": False}
    assert parser.parse('{"end": "maybe"}').parsed == {"end": "maybe"}


def test_nested_hints_are_known_too() -> None:
    parser = MarkdownJsonDictParser({"votes": [{"name": "who", "guilty": True}]})
    parsed = parser.parse(
        '{"Votes": [{"Name": "Ann", "guilty": "false"}, {"NAME": "Bob", "Guilty": "true"}, "x"]}'
    ).parsed
    assert parsed == {
        "votes": [{"name": "Ann", "guilty": False}, {"name": "Bob", "guilty": True}, "x"]
    }


def test_a_key_is_not_renamed_when_it_is_not_clear_which_is_meant() -> None:
    assert MarkdownJsonDictParser({"a": 1, "A": 2}).parse('{"a": 3, "A": 4}').parsed == {
        "a": 3,
        "A": 4,
    }
    assert MarkdownJsonDictParser({"key": 1}).parse('{"Key": 3, "KEY": 4}').parsed == {
        "Key": 3,
        "KEY": 4,
    }
    assert MarkdownJsonDictParser({"key": 1, "KEY": 1}).parse('{"Key": 3}').parsed == {"Key": 3}


def test_pydantic_fills_and_converts() -> None:
    parsed = (
        MarkdownJsonDictParser(Turn)
        .parse('{"Thought": "t", "vote": {"target": "Ann", "sure": "true"}}')
        .parsed
    )
    assert parsed == {"thought": "t", "vote": {"target": "Ann", "weight": 1, "sure": True}}


def test_pydantic_errors_name_each_path() -> None:
    with pytest.raises(JsonParsingError) as raised:
        MarkdownJsonDictParser(Turn).parse('{"thought": 3, "vote": {"weight": 0}}')
    for part in ("thought: ", "vote.target: Field required", "vote.weight: "):
        assert part in raised.value.message
    assert "http" not in raised.value.message


SCHEMA = {
    "title": "The vote!",
    "type": "object",
    "properties": {
        "target": {"type": "string"},
        "sure": {"$ref": "#/$defs/flag"},
        "rank": {"type": "integer", "minimum": 1},
    },
    "required": ["target"],
    "$defs": {"flag": {"type": "boolean"}},
}


def test_a_json_schema_checks_the_reply() -> None:
    parser = MarkdownJsonDictParser(json_schema=SCHEMA)
    assert parser.parse('{"Target": "Ann", "sure": "True"}').parsed == {
        "target": "Ann",
        "sure": True,
    }
    with pytest.raises(JsonParsingError) as raised:
        parser.parse('{"target": 1, "rank": 0}')
    assert "target: 1 is not of type 'string'" in raised.value.message
    assert "rank: 0 is less than the minimum" in raised.value.message
    with pytest.raises(JsonParsingError, match="'target' is a required property"):
        parser.parse('{"rank": 1}')


def test_an_impossible_schema_is_refused_at_once() -> None:
    with pytest.raises(WrongArgument, match="not a valid JSON schema"):
        MarkdownJsonDictParser(json_schema={"type": "thing"})
    with pytest.raises(WrongArgument, match="must be a dict"):
        MarkdownJsonDictParser(json_schema=[])  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", ["#/$defs/none", "http://127.0.0.1:1/schema.json"])
def test_a_schema_that_refers_elsewhere_loads_nothing(reference: str) -> None:
    parser = MarkdownJsonDictParser(json_schema={"properties": {"a": {"$ref": reference}}})
    with pytest.raises(WrongArgument, match="which is not in it"):
        parser.parse('{"a": 1}')


def test_a_schema_that_refers_to_itself() -> None:
    schema = {"properties": {"on": {"type": "boolean"}, "next": {"$ref": "#"}}}
    parsed = (
        MarkdownJsonDictParser(json_schema=schema)
        .parse('{"ON": "true", "next": {"ON": "true", "next": {}}}')
        .parsed
    )
    assert parsed["on"] is True


def test_the_api_is_told_of_the_schema() -> None:
    assert MarkdownJsonObjectParser().api_format() is None
    assert MarkdownJsonDictParser({"a": 1}).api_format() == {"type": "json_object"}
    told = MarkdownJsonDictParser(json_schema=SCHEMA).api_format()
    assert told == {
        "type": "json_schema",
        "json_schema": {"name": "The_vote", "schema": SCHEMA, "strict": False},
    }
    named = MarkdownJsonDictParser(Turn).api_format()["json_schema"]
    assert (named["name"], named["schema"], named["strict"]) == (
        "Turn",
        Turn.model_json_schema(),
        False,
    )


def test_a_schema_that_leaves_nothing_open_is_strict() -> None:
    inner = {
        "type": "object",
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"a": inner},
        "required": ["a"],
        "additionalProperties": False,
    }
    name = MarkdownJsonDictParser(json_schema=schema).api_format()["json_schema"]
    assert (name["strict"], name["name"]) == (True, "reply")
    schema["properties"] = {"a": {**inner, "required": []}}
    assert MarkdownJsonDictParser(json_schema=schema).api_format()["json_schema"]["strict"] is False


def test_an_example_is_never_taken_for_an_answer_that_fails() -> None:
    example = '```json\n{"thought": "t", "vote": {"target": "Bob"}}\n```\n'
    for answer in (
        '{"thought": "t"}',
        '{"thought": "t", "vote": 3}',
        '{"thought": "t" "vote": {}}',
        '{"thought": "t',
    ):
        with pytest.raises(JsonParsingError):
            MarkdownJsonDictParser(Turn).parse(f"{example}```json\n{answer}\n```")
    unrelated = MarkdownJsonDictParser(Turn).parse(f'{example}```json\n{{"tokens": 3}}\n```')
    assert unrelated.parsed["vote"]["target"] == "Bob"


def test_a_list_is_no_object() -> None:
    with pytest.raises(JsonTypeError, match="is a list"):
        MarkdownJsonDictParser().parse('```json\n[{"a": 1}]\n```')


def test_parser_base_asks_for_a_parse() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ParserBase()  # type: ignore[abstract]
