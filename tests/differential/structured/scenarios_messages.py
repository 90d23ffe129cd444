"""Msg: what it takes, what it tells, and how it travels."""

from __future__ import annotations

import re
from typing import Any

from tests.differential.structured.kit import Better, Kit, better, each, scenario

TEXT, PICTURE = (
    {"type": "text", "text": "one"},
    {"type": "image", "url": "https://example.org/a.png"},
)


@scenario
def msg_attributes(kit: Kit) -> Any:
    msg = kit.Msg("Ann", "hello", "user")
    return [msg.name, msg.content, msg.role, msg.metadata, isinstance(msg.id, str), bool(msg.id)]


@scenario
def msg_timestamp(kit: Kit) -> Any:
    return bool(
        re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", kit.Msg("Ann", "hello", "user").timestamp)
    )


@scenario
def msg_ids_differ(kit: Kit) -> Any:
    return len({kit.Msg("Ann", "hello", "user").id for _ in range(50)})


@scenario
def msg_by_names(kit: Kit) -> Any:
    msg = kit.Msg(
        content="hello", role="assistant", name="Ann", metadata={"a": 1}, echo=False, url=None
    )
    return [msg.name, msg.content, msg.role, msg.metadata]


@each(
    system="system",
    user="user",
    assistant="assistant",
    unknown="tool",
    upper_case="User",
    empty="",
    nothing=None,
)
def msg_role(kit: Kit, role: Any) -> Any:
    return kit.raised(kit.Msg, "Ann", "hello", role)


@scenario
def msg_needs_a_role(kit: Kit) -> Any:
    return kit.raised(kit.Msg, "Ann", "hello")


@each(
    text="told",
    empty_text="",
    dict={"a": {"b": [1, None]}},
    list=[1, "two", None],
    number=1.5,
    true=True,
    false=False,
    nothing=None,
)
def msg_metadata(kit: Kit, metadata: Any) -> Any:
    return kit.Msg("Ann", "hello", "user", metadata).metadata


@each(set={1}, object=object(), function=len, deeper={"a": [{1}]}, bytes=b"a")
def msg_metadata_that_is_no_json(kit: Kit, metadata: Any) -> Any:
    return kit.raised(kit.Msg, "Ann", "hello", "user", metadata)


@each(
    text="hello",
    empty="",
    unicode="Zoë 名 😀",
    blocks=[TEXT, PICTURE],
    none=Better(None, "no content is an empty text, which servers take", ""),
    empty_list=Better([], "no parts are an empty text, which servers take", ""),
    dict=Better(
        {"a": "é", "b": [None, True]},
        "JSON, which models read, not Python's repr",
        '{"a": "é", "b": [null, true]}',
    ),
    number=7,
    number_as_text=Better(True, "JSON, which models read, not Python's repr", "true"),
)
def msg_content(kit: Kit, content: Any) -> Any:
    found = kit.Msg("Ann", content, "user").content
    return found if not isinstance(found, list) else [dict(part) for part in found]


@each(
    text="hello",
    empty="",
    one_part=[TEXT],
    several=[TEXT, PICTURE, {"type": "text", "text": " two"}],
    only_a_picture=[PICTURE],
    none=Better(None, "no content is an empty text", ""),
)
def msg_get_text_content(kit: Kit, content: Any) -> Any:
    return kit.Msg("Ann", content, "user").get_text_content()


@each(all=None, text="text", image="image", audio="audio")
def msg_get_content_blocks(kit: Kit, kind: str | None) -> Any:
    made = [kit.Msg("Ann", "hello", "user"), kit.Msg("Ann", [TEXT, PICTURE], "user")]
    return [[dict(part) for part in msg.get_content_blocks(kind)] for msg in made]


@scenario
def msg_can_be_changed(kit: Kit) -> Any:
    msg = kit.Msg("Ann", "hello", "user")
    msg.content, msg.metadata = "bye", {"a": 1}
    return [msg.content, msg.metadata, msg.get_text_content()]


@scenario
def msg_name_and_role_can_be_changed(kit: Kit) -> Any:
    msg = kit.Msg("Ann", "hello", "user")
    msg.name, msg.role = "Bob", "assistant"
    return [msg.name, msg.role]


@scenario
def msg_there_and_back(kit: Kit) -> Any:
    msg = kit.Msg("Ann", [TEXT, PICTURE], "assistant", {"a": [1]})
    again = kit.Msg.from_dict(msg.to_dict())
    same = [
        getattr(again, key) == getattr(msg, key)
        for key in ("id", "timestamp", "name", "role", "metadata")
    ]
    return [same, [dict(part) for part in again.content], type(again) is type(msg)]


@scenario
def msg_to_dict(kit: Kit) -> Any:
    told = kit.Msg("Ann", "hello", "user", {"a": 1}).to_dict()
    return [told[key] for key in ("name", "content", "role", "metadata")] + [
        {"id", "timestamp"} <= set(told)
    ]


@better("the caller's dict is left as it was, so that it can be read twice", [True, "hello"])
def msg_from_dict_leaves_the_dict(kit: Kit) -> Any:
    told = kit.Msg("Ann", "hello", "user").to_dict()
    before = dict(told)
    kit.Msg.from_dict(told)
    return [told == before, kit.Msg.from_dict(told).content]


@each(
    picture="https://example.org/a.png",
    pictures=["https://example.org/a.png", "https://example.org/b.jpg"],
)
def msg_url(kit: Kit, url: Any) -> Any:
    msg = kit.Msg("Ann", "look", "user", url=url)
    return [
        len(msg.content),
        msg.get_text_content(),
        [str(one) in str(msg.content) for one in ([url] if isinstance(url, str) else url)],
    ]


@scenario
def msg_equality_is_by_value(kit: Kit) -> Any:
    one, other = kit.Msg("Ann", "hello", "user"), kit.Msg("Ann", "hello", "user")
    return [one == other, one == kit.Msg.from_dict(one.to_dict())]
