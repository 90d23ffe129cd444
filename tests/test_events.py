"""Events: what goes to JSON comes back, whatever is in it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import AgentkitError
from agentkit.event_json import from_json, to_json
from agentkit.events import KINDS, Cell, Event, Fallback, ModelReplied, Unknown, Usage
from agentkit.reasons import EndKind, EndReason, end_from_json

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
usages = st.builds(Usage, *[st.integers(0, 10**9)] * 5, st.booleans())
cells = st.builds(
    Cell, texts, texts, *[st.lists(objects, max_size=3)] * 3, *[texts] * 3, st.booleans()
)
ends = st.builds(
    EndReason,
    st.sampled_from(get_args(EndKind)),
    texts,
    st.none() | numbers,
    st.none() | st.just("tokens"),
    told=texts,
)
events: st.SearchStrategy[Event] = st.one_of(
    *[
        st.builds(
            kind,
            **{
                field.name: {
                    "str": texts,
                    "int": st.integers(0, 10**9),
                    "float": numbers,
                    "Usage": usages,
                    "Fallback | None": st.none() | st.builds(Fallback, texts, texts, texts, texts),
                    "Cell | None": st.none() | cells,
                    "EndReason | None": st.none() | ends,
                    "str | None": st.none() | texts,
                    "float | None": st.none() | numbers,
                    "dict[str, Any]": objects,
                    "dict[str, float]": st.dictionaries(texts, numbers, max_size=3),
                    "list[dict[str, Any]]": st.lists(objects, max_size=3),
                }.get(str(field.type), texts)
                for field in dataclasses.fields(kind)
            },
        )
        for kind in KINDS.values()
    ]
)


@given(events)
def test_an_event_survives_json(event: Event) -> None:
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


@given(events, objects)
def test_fields_of_a_newer_version_are_dropped(event: Event, more: dict[str, Any]) -> None:
    data = to_json(event)
    assert from_json({**{f"new {name}": value for name, value in more.items()}, **data}) == event


def test_usage_fields_of_a_newer_version_are_dropped() -> None:
    data = to_json(ModelReplied("1", "a", "p", "m", usage=Usage(1, 2, 3, 4, 5)))
    data["usage"]["thinking"] = 9
    event = from_json(data)
    assert isinstance(event, ModelReplied)
    assert event.usage == Usage(1, 2, 3, 4, 5)


@given(objects)
def test_a_kind_of_a_newer_version_stays_as_it_is(data: dict[str, Any]) -> None:
    event = from_json({**data, "kind": "DreamDreamt"})
    assert isinstance(event, Unknown)
    assert event.name == "DreamDreamt"
    assert to_json(event) == {**data, "kind": "DreamDreamt"}


def test_a_kind_that_a_newer_version_made_otherwise_stays_as_it_is() -> None:
    data = {"kind": "Noted", "who": "Writer", "says": "It is late."}
    assert from_json(data) == Unknown("Noted", {"who": "Writer", "says": "It is late."})
    assert to_json(from_json(data)) == data


@pytest.mark.parametrize("kind", [None, "", 7])
def test_what_names_no_kind_is_refused(kind: object) -> None:
    with pytest.raises(AgentkitError, match="not a kind of event"):
        from_json({"kind": kind})


def test_the_union_names_every_event_with_its_docstring() -> None:
    assert len(KINDS) == 33
    assert all(kind.__doc__ and dataclasses.is_dataclass(kind) for kind in KINDS.values())


@given(usages)
def test_the_buckets_are_exclusive(usage: Usage) -> None:
    assert usage.prompt + usage.completion == usage.total


def test_a_reply_is_ok_unless_said_otherwise() -> None:
    assert ModelReplied("1", "a", "p", "m").status == "ok"


def test_a_reason_that_only_a_newer_version_knows_is_none() -> None:
    assert end_from_json({"kind": "eclipse"}) is None
    assert end_from_json({"kind": "rounds", "limit": 3, "moon": "full"}) == EndReason(
        "rounds", limit=3
    )
    assert end_from_json("the limit was reached") is None
