"""Msg and TemporaryMemory: what a message is made of, and what is remembered."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from agentkit import ConversableAgent, Msg
from agentkit.agentscope import TemporaryMemory
from agentkit.errors import WrongArgument, WrongType
from agentkit.events import Noted
from tests.agents.dialog.cast import hearing


def test_a_message_is_its_dict() -> None:
    made = Msg("Ann", "hello", "assistant", metadata={"end": True})
    assert (made.name, made.content, made.role, made.metadata) == (
        "Ann",
        "hello",
        "assistant",
        {"end": True},
    )
    assert (made["name"], made["content"], made["role"], made["metadata"]) == (
        "Ann",
        "hello",
        "assistant",
        {"end": True},
    )
    assert made.id != Msg("Ann", "hello", "assistant").id
    assert len(made.timestamp) == len("2025-12-31 23:59:59")
    made.content, made.metadata = "bye", None
    assert (made["content"], made["metadata"]) == ("bye", None)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (None, ""),
        ("", ""),
        ({"größe": 1}, '{"größe": 1}'),
        (True, "true"),
        ([1, 2], "[1, 2]"),
        ([], ""),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
    ],
)
def test_content_is_what_a_model_can_read(content: Any, kept: Any) -> None:
    assert Msg("a", content, "user").content == kept


def test_texts_and_parts() -> None:
    made = Msg("a", "look", "user", url=["u1", "u2"])
    assert made.get_text_content() == "look"
    assert [part["image_url"]["url"] for part in made.get_content_blocks("image_url")] == [
        "u1",
        "u2",
    ]
    assert Msg("a", "look", "user").get_content_blocks() == [{"type": "text", "text": "look"}]
    assert (
        Msg("a", [{"type": "image_url", "image_url": {"url": "u"}}], "user").get_text_content()
        is None
    )


def test_wrong_messages_are_told() -> None:
    with pytest.raises(TypeError, match="must be a JSON value"):
        Msg("a", "b", "user", metadata={1, 2})
    with pytest.raises(WrongArgument, match="system, user or assistant"):
        Msg("a", "b", "robot")  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="'role' is missing"):
        Msg.from_dict({"name": "a", "content": "b"})


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        copy.copy,
        lambda one: pickle.loads(pickle.dumps(one)),
        lambda one: Msg.from_dict(one.to_dict()),
    ],
)
def test_copies_are_the_same_message(copied: Any) -> None:
    made = Msg("a", "b", "user", metadata=[1])
    made.memory = "c"
    again = copied(made)
    assert again == made
    assert isinstance(again, Msg)


def test_it_goes_through_chats_as_any_message() -> None:
    ann, bob = (ConversableAgent(name, human_input_mode="NEVER") for name in ("Ann", "Bob"))
    with hearing():
        ann.send(Msg("Ann", "hello", "assistant", metadata={"k": 1}), bob)
    assert bob.last_message(ann) == {
        "content": "hello",
        "name": "Ann",
        "role": "user",
        "metadata": {"k": 1},
    }


def filled(*texts: str) -> TemporaryMemory:
    memory = TemporaryMemory()
    memory.add([Msg("a", text, "user") for text in texts])
    return memory


def texts(memory: TemporaryMemory) -> list[str]:
    return [message.content for message in memory.get_memory()]


def test_remembering_and_forgetting() -> None:
    memory = filled("a", "b", "c", "d")
    memory.add(memory.get_memory()[0])
    memory.add(None)
    assert (texts(memory), memory.size(), len(memory)) == (["a", "b", "c", "d"], 4, 4)
    assert [one.content for one in memory.get_memory(2)] == ["c", "d"]
    assert [one.content for one in memory.get_memory(9)] == ["a", "b", "c", "d"]
    assert memory.get_memory(0) == []
    assert [one.content for one in memory.get_memory(3, lambda index, one: index > 0)] == ["c", "d"]
    memory.delete([0, 3])
    memory.delete(0)
    assert texts(memory) == ["c"]
    with hearing() as heard:
        memory.delete([5])
    assert [event.text for event in heard if isinstance(event, Noted)] == [
        "there is no message at [5] to delete; there are 1, counted from 0"
    ]
    assert texts(memory) == ["c"]
    memory.clear()
    assert memory.size() == 0
    assert memory, "an empty memory is one, too"


def test_a_memory_outlives_its_process(tmp_path: Path) -> None:
    memory, file = filled("a", "ü"), tmp_path / "memory.json"
    memory.export(str(file))
    other = filled("old")
    other.load(str(file), overwrite=True)
    assert other.get_memory() == memory.get_memory() == memory.export(to_mem=True)
    other.load(Msg("a", "new", "user"))
    other.load(file.read_text("utf-8"))
    assert texts(other) == ["a", "ü", "new"]


@pytest.mark.parametrize("content", ["[1]", "{}", "no JSON"])
def test_a_file_that_is_no_memory_changes_nothing(content: str, tmp_path: Path) -> None:
    memory, file = filled("a"), tmp_path / "memory.json"
    file.write_text(content if content != "{}" else json.dumps({}), "utf-8")
    with pytest.raises(WrongArgument, match="holds no memory"):
        memory.load(str(file), overwrite=True)
    assert texts(memory) == ["a"]
    with pytest.raises(WrongArgument, match="must be a Msg"):
        memory.add(["text"])  # type: ignore[list-item]
    with pytest.raises(WrongType, match="must be a Msg"):
        memory.load(5)  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="Nothing says where"):
        memory.export()
    with pytest.raises(WrongArgument, match="recent_n is -1"):
        memory.get_memory(-1)
