"""Which fields go where."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.errors import RequiredFieldNotFoundError
from agentkit.parsers import (
    DictFilterMixin,
    MarkdownJsonDictParser,
    MultiTaggedContentParser,
    RegexTaggedContentParser,
    TaggedContent,
)

PARSED = {"thought": "t", "speak": "hi", "end": False, "vote": {"target": "Ann"}}


@pytest.mark.parametrize(
    ("keys", "picked"),
    [
        (True, PARSED),
        (False, None),
        (None, None),
        ("end", False),
        ("vote.target", "Ann"),
        (["speak", "thought"], {"speak": "hi", "thought": "t"}),
        (("vote.target",), {"vote.target": "Ann"}),
        ([], {}),
    ],
)
def test_each_filter_picks(keys: Any, picked: Any) -> None:
    filters = DictFilterMixin(keys, keys, keys)
    for pick in (
        filters.to_memory,
        filters.to_content,
        filters.to_metadata,
        filters.to_speak,
        filters.to_return,
    ):
        assert pick(PARSED) == picked


def test_a_missing_field_is_named() -> None:
    filters = DictFilterMixin("mood", ["speak", "mood"], "vote.weight")
    with pytest.raises(
        RequiredFieldNotFoundError,
        match=r"keys_to_memory asks for 'mood', but .* 'thought', 'speak'",
    ):
        filters.to_memory(PARSED)
    with pytest.raises(KeyError):
        filters.to_content(PARSED)
    with pytest.raises(ValueError, match=r"vote\.weight"):
        filters.to_metadata(PARSED)
    assert filters.to_memory(PARSED, allow_missing=True) is None
    assert filters.to_content(PARSED, allow_missing=True) == {"speak": "hi"}
    assert filters.to_metadata(PARSED, allow_missing=True) is None


@pytest.mark.parametrize(
    "parser",
    [
        MarkdownJsonDictParser(
            keys_to_content="mood", keys_to_metadata=["end", "mood"], keys_allow_missing=["mood"]
        ),
        MultiTaggedContentParser(
            keys_to_content="mood", keys_to_metadata=["end", "mood"], keys_allow_missing=["mood"]
        ),
    ],
    ids=["json", "tags"],
)
def test_a_field_that_may_be_missing_is_left_out(parser: DictFilterMixin) -> None:
    assert parser.to_content(PARSED) is None
    assert parser.to_metadata(PARSED) == {"end": False}
    with pytest.raises(RequiredFieldNotFoundError, match="asks for 'end', but"):
        parser.to_metadata({"speak": "hi"})


def test_the_names_of_the_seed_are_the_same_filters() -> None:
    parser = MarkdownJsonDictParser(keys_to_speak="speak", keys_to_return=["end"])
    assert (parser.keys_to_content, parser.keys_to_metadata) == ("speak", ["end"])
    parser.keys_to_content, parser.keys_to_return = ["thought"], True
    assert (parser.keys_to_speak, parser.keys_to_metadata) == (["thought"], True)
    parser.keys_to_speak = False
    assert parser.to_content(PARSED) is None


def test_defaults_and_names_are_the_same_for_every_parser() -> None:
    tagged = MultiTaggedContentParser(
        TaggedContent("a", "<a>", "", "</a>"), keys_to_speak="a", keys_to_return="a"
    )
    assert (
        tagged.to_memory({"a": 1}),
        tagged.to_content({"a": 1}),
        tagged.to_metadata({"a": 1}),
    ) == ({"a": 1}, 1, 1)
    for parser in (
        MarkdownJsonDictParser(),
        MultiTaggedContentParser(),
        RegexTaggedContentParser(),
    ):
        assert (parser.keys_to_memory, parser.keys_to_content, parser.keys_to_metadata) == (
            True,
            True,
            False,
        )
    assert RegexTaggedContentParser(keys_to_speak="a", keys_to_return="b").keys_to_return == "b"
