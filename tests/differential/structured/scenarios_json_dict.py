"""JSON objects: wanted fields, and fields as a pydantic class has them."""

from __future__ import annotations

from typing import Any

import pydantic

from tests.differential.structured.kit import Better, Kit, better, each, scenario


def fenced(text: str) -> str:
    return f"```json\n{text}\n```"


def vote_class() -> Any:
    """thought (text), vote (number), weight (number, 1.0 unless said)."""
    return pydantic.create_model("Vote", thought=(str, ...), vote=(int, ...), weight=(float, 1.0))


def nested_class() -> Any:
    """votes: a list of vote_class."""
    return pydantic.create_model("Votes", votes=(list[vote_class()], ...))  # type: ignore[arg-type, misc]


@each(
    object=fenced('{"a": {"b": [1]}}'),
    empty=fenced("{}"),
    list=fenced('[{"a": 1}]'),
    number=fenced("7"),
    text=fenced('"a"'),
    null=fenced("null"),
    false=fenced("false"),
    no_json=fenced("{a 1}"),
    prose="No.",
    no_fences='{"a": 1}',
    list_without_fences="[1, 2]",
)
def dict_of(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonDictParser(), text)


@each(
    all_there=fenced('{"thought": "t", "vote": "Ann", "more": 1}'),
    one_missing=fenced('{"thought": "t"}'),
    all_missing=fenced('{"other": 1}'),
    empty_object=fenced("{}"),
    value_null=fenced('{"thought": null, "vote": null}'),
    value_empty=fenced('{"thought": "", "vote": false}'),
    only_deeper=fenced('{"inner": {"thought": "t", "vote": "Ann"}}'),
    other_case=Better(
        fenced('{"Thought": "t", "VOTE": "Ann"}'),
        "a required key in another case is that key",
        {"parsed": {"thought": "t", "vote": "Ann"}},
    ),
    no_object=fenced('["thought", "vote"]'),
)
def required(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonDictParser(required_keys=["thought", "vote"]), text)


@better(
    "a path names a nested field that is required",
    [{"parsed": {"a": {"b": 1}}}, {"raises": "RequiredFieldNotFoundError", "raw": True}],
)
def required_nested_key(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(required_keys=["a.b"])
    return [kit.read(parser, fenced(text)) for text in ('{"a": {"b": 1}}', '{"a": {"c": 1}}')]


@scenario
def required_keys_unless_given(kit: Kit) -> Any:
    return [
        kit.MarkdownJsonDictParser(required_keys=keys).required_keys for keys in (None, [], ["a"])
    ]


@scenario
def required_keys_that_are_missing_are_named(kit: Kit) -> Any:
    try:
        kit.MarkdownJsonDictParser(required_keys=["a", "b", "c"]).parse(
            kit.ModelResponse(text=fenced('{"b": 1}'))
        )
    except kit.RequiredFieldNotFoundError as error:
        return ["a" in error.message, "c" in error.message, error.raw_response]


@scenario
def required_key_of_a_reply_without_fences_is_in_the_raw_reply(kit: Kit) -> Any:
    try:
        kit.MarkdownJsonDictParser(required_keys=["a"]).parse(kit.ModelResponse(text='{"b": 1}'))
    except kit.RequiredFieldNotFoundError as error:
        return '{"b": 1}' in error.raw_response


@each(
    as_wanted=fenced('{"thought": "t", "vote": 2, "weight": 0.5}'),
    with_a_default=fenced('{"thought": "t", "vote": 2}'),
    converted=fenced('{"thought": "t", "vote": "2", "weight": 3}'),
    more_than_wanted=fenced('{"thought": "t", "vote": 2, "mood": "good"}'),
    field_missing=fenced('{"thought": "t"}'),
    wrong_type=fenced('{"thought": "t", "vote": "Ann"}'),
    null=fenced('{"thought": null, "vote": 2}'),
    list=fenced("[1]"),
    no_json=fenced("{thought 1}"),
    no_fence='{"thought": "t", "vote": 2}',
)
def pydantic_class(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonDictParser(content_hint=vote_class()), text)


@each(
    as_wanted=fenced('{"votes": [{"thought": "t", "vote": 1}, {"thought": "u", "vote": 2}]}'),
    none=fenced('{"votes": []}'),
    one_wrong=fenced('{"votes": [{"thought": "t", "vote": 1}, {"thought": "u"}]}'),
)
def pydantic_nested(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonDictParser(content_hint=nested_class()), text)


@scenario
def pydantic_and_required_keys(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(
        content_hint=vote_class(), required_keys=["thought", "mood"]
    )
    return [
        kit.read(parser, fenced('{"thought": "t", "vote": 2, "mood": "good"}')),
        parser.required_keys,
    ]


@scenario
def pydantic_fields_are_in_the_instruction(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(content_hint=vote_class())
    told = parser.format_instruction
    return [
        all(name in told for name in ("thought", "vote", "weight", "integer", "number", "string")),
        "```json" in told,
    ]


@scenario
def pydantic_class_is_an_attribute(kit: Kit) -> Any:
    vote = vote_class()
    given = kit.MarkdownJsonDictParser(content_hint=vote)
    return [
        given.pydantic_class is vote,
        isinstance(given.content_hint, str),
        kit.MarkdownJsonDictParser("h").pydantic_class,
    ]


@scenario
def a_class_that_is_no_pydantic_class_is_no_hint(kit: Kit) -> Any:
    return kit.raised(kit.MarkdownJsonDictParser, content_hint=int)


@each(
    defaults={},
    names={"keys_to_memory": "a", "keys_to_content": "b", "keys_to_metadata": "c"},
    lists={"keys_to_memory": ["a", "b"], "keys_to_content": [], "keys_to_metadata": ("c",)},
)
def dict_keys(kit: Kit, options: dict[str, Any]) -> Any:
    parser = kit.MarkdownJsonDictParser(**options)
    return [parser.keys_to_memory, parser.keys_to_content, parser.keys_to_metadata]


@scenario
def dict_by_position(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser({"a": 1}, ["a"], "a", ["a"], True)
    parsed = kit.read(parser, fenced('{"a": 1}'))["parsed"]
    return [parsed, parser.to_memory(parsed), parser.to_content(parsed), parser.to_metadata(parsed)]


@scenario
def dict_is_an_object_parser_that_filters(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser()
    return [
        isinstance(parser, kind)
        for kind in (kit.MarkdownJsonObjectParser, kit.DictFilterMixin, kit.ParserBase)
    ]


@each(
    single_quotes=Better(
        fenced("{'thought': 'it\\'s', 'vote': 'Ann'}"),
        "single quotes are unambiguous",
        {"parsed": {"thought": "it's", "vote": "Ann"}},
    ),
    plain_fence=Better(
        '```\n{"thought": "t", "vote": "Ann"}\n```',
        "a fence without a word is a fence",
        {"parsed": {"thought": "t", "vote": "Ann"}},
    ),
    a_second_object=Better(
        fenced('{"other": 1}') + " so " + fenced('{"thought": "t", "vote": "Ann"}'),
        "the answer is the object that has the fields",
        {"parsed": {"thought": "t", "vote": "Ann"}},
    ),
    an_example_before=Better(
        "As in\n" + fenced("{...}") + "\nI say\n" + fenced('{"thought": "t", "vote": "Ann"}'),
        "an example that is no JSON is passed over",
        {"parsed": {"thought": "t", "vote": "Ann"}},
    ),
)
def required_in(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonDictParser(required_keys=["thought", "vote"]), text)
