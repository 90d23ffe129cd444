"""Which fields are remembered, said and told to the program."""

from __future__ import annotations

from typing import Any

from tests.differential.structured.kit import Better, Kit, each, scenario

PARSED = {"thought": "t", "speak": "s", "vote": None, "inner": {"thought": "u"}}


def filtered(kit: Kit, keys: Any, parsed: dict[str, Any], **options: Any) -> list[Any]:
    """What the three filters with these keys give, or which error they raise."""
    mixin = kit.DictFilterMixin(keys, keys, keys)
    found = []
    for method in (mixin.to_memory, mixin.to_content, mixin.to_metadata):
        try:
            found.append(method(parsed, **options))
        except Exception as error:  # noqa: BLE001 (which one is the question)
            found.append({"raises": kit.raised(_throw, error)})
    return found


def _throw(error: Exception) -> None:
    raise error


@each(
    true=True,
    false=False,
    key="speak",
    key_with_null="vote",
    key_with_an_object="inner",
    keys=["thought", "speak"],
    keys_in_their_own_order=["speak", "thought"],
    one_key_in_a_list=["speak"],
    tuple=("thought", "vote"),
    no_keys=[],
    a_key_twice=["speak", "speak"],
    nothing=Better(None, "no keys are no fields; the oracle failed", [None, None, None]),
    nested_key=Better("inner.thought", "a path leads to a nested field", ["u", "u", "u"]),
    nested_keys=Better(
        ["vote", "inner.thought"],
        "a path leads to a nested field",
        [{"vote": None, "inner.thought": "u"}] * 3,
    ),
)
def filters(kit: Kit, keys: Any) -> Any:
    return filtered(kit, keys, PARSED)


@each(true=True, false=False, key="absent", keys=["thought", "absent"], empty_key="", no_keys=[])
def filters_of_what_is_missing(kit: Kit, keys: Any) -> Any:
    return filtered(kit, keys, PARSED)


@each(
    true=True,
    false=False,
    present="speak",
    keys=["thought", "absent"],
    only_absent=["absent"],
    no_keys=[],
    key=Better("absent", "what may be missing may be missing alone, too", [None, None, None]),
)
def filters_allow_missing(kit: Kit, keys: Any) -> Any:
    return filtered(kit, keys, PARSED, allow_missing=True)


@scenario
def filters_each_has_its_own_keys(kit: Kit) -> Any:
    mixin = kit.DictFilterMixin("thought", ["speak"], True)
    return [mixin.to_memory(PARSED), mixin.to_content(PARSED), mixin.to_metadata(PARSED) == PARSED]


@scenario
def filters_leave_what_was_parsed(kit: Kit) -> Any:
    parsed = {"a": 1, "b": 2}
    mixin = kit.DictFilterMixin(["a"], "b", False)
    mixin.to_memory(parsed)["new"] = 1
    mixin.to_content(parsed)
    return parsed


@scenario
def filters_keys_can_be_changed(kit: Kit) -> Any:
    mixin = kit.DictFilterMixin(True, True, False)
    mixin.keys_to_content, mixin.keys_to_metadata = "speak", ["vote"]
    return [mixin.to_content(PARSED), mixin.to_metadata(PARSED)]


@scenario
def filters_by_position(kit: Kit) -> Any:
    mixin = kit.DictFilterMixin(["absent", "speak"], True, False)
    return mixin.to_memory(PARSED, True)


@each(
    json=lambda kit: kit.MarkdownJsonDictParser(
        keys_to_memory=["a"], keys_to_content="b", keys_to_metadata=True
    ),
    tags=lambda kit: kit.MultiTaggedContentParser(
        kit.TaggedContent("a", "[A]", "x", "[/A]"),
        keys_to_memory=["a"],
        keys_to_content="b",
        keys_to_metadata=True,
    ),
    regex=lambda kit: kit.RegexTaggedContentParser(
        keys_to_memory=["a"], keys_to_content="b", keys_to_metadata=True
    ),
)
def filters_of_a_parser(kit: Kit, make: Any) -> Any:
    parser, parsed = make(kit), {"a": 1, "b": [2]}
    return [parser.to_memory(parsed), parser.to_content(parsed), parser.to_metadata(parsed)]
