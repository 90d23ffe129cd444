"""TemporaryMemory: what is remembered, found and forgotten."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.differential.structured.kit import Better, Kit, better, each, said, scenario


def filled(kit: Kit, count: int = 4) -> Any:
    """A memory of "0", "1", ..."""
    memory = kit.TemporaryMemory()
    memory.add([kit.msg("Ann", str(number)) for number in range(count)])
    return memory


def contents(memory: Any) -> list[Any]:
    return [message.content for message in memory.get_memory()]


@scenario
def memory_add(kit: Kit) -> Any:
    memory = kit.TemporaryMemory()
    memory.add(kit.msg("Ann", "one"))
    memory.add([kit.msg("Bob", "two"), kit.msg("Cid", "three")])
    memory.add((kit.msg("Dan", "four"),))
    memory.add(None)
    memory.add([])
    return [memory.size(), said(memory.get_memory())]


@each(text="one", number=1, dict={"name": "Ann"}, texts=["one"], nothing_in_a_list=[None])
def memory_add_what_is_no_message(kit: Kit, given: Any) -> Any:
    memory = kit.TemporaryMemory()
    return [kit.raised(memory.add, given), memory.size()]


@scenario
def memory_adds_a_message_once(kit: Kit) -> Any:
    memory, message = kit.TemporaryMemory(), kit.msg("Ann", "one")
    memory.add(message)
    memory.add(message)
    memory.add([message, kit.msg("Ann", "one")])
    return [memory.size(), contents(memory)]


@better("a message is there once, also when it comes twice in a list", 1)
def memory_adds_a_message_once_of_a_list(kit: Kit) -> Any:
    memory, message = kit.TemporaryMemory(), kit.msg("Ann", "one")
    memory.add([message, message])
    return memory.size()


@scenario
def memory_a_changed_message_is_the_same(kit: Kit) -> Any:
    memory, message = kit.TemporaryMemory(), kit.msg("Ann", "one")
    memory.add(message)
    message.content = "two"
    memory.add(message)
    return contents(memory)


@scenario
def memory_of_a_message_is_that_message(kit: Kit) -> Any:
    memory, message = kit.TemporaryMemory(), kit.msg("Ann", "one", {"a": 1})
    memory.add(message)
    return [memory.get_memory()[0] is message, memory.get_memory()[0].metadata]


@each(
    first=0,
    last=3,
    middle=1,
    several=[0, 2],
    all=[0, 1, 2, 3],
    none=[],
    twice=[1, 1],
    too_far=9,
    below_zero=-1,
    some_too_far=[1, 9],
)
def memory_delete(kit: Kit, index: Any) -> Any:
    memory = filled(kit)
    memory.delete(index)
    return contents(memory)


@each(
    tuple=Better((0, 1), "any iterable, as its annotation promises", [None, ["2", "3"]]),
    range=Better(range(2), "any iterable, as its annotation promises", [None, ["2", "3"]]),
)
def memory_delete_by(kit: Kit, index: Any) -> Any:
    memory = filled(kit)
    return [kit.raised(memory.delete, index), contents(memory)]


@scenario
def memory_delete_from_an_empty_one(kit: Kit) -> Any:
    memory = kit.TemporaryMemory()
    return [kit.raised(memory.delete, 0), kit.raised(memory.delete, [0, 1]), memory.size()]


@each(one=1, some=2, all=4, more_than_there_are=9, nothing_said=None)
def memory_recent(kit: Kit, number: int | None) -> Any:
    return [message.content for message in filled(kit).get_memory(recent_n=number)]


@better("the newest none are none; the oracle gave all", [])
def memory_recent_none(kit: Kit) -> Any:
    return [message.content for message in filled(kit).get_memory(recent_n=0)]


@each(
    by_place=lambda place, message: place % 2 == 0,
    by_content=lambda place, message: message.content > "1",
    nobody=lambda place, message: False,
)
def memory_filter(kit: Kit, wanted: Any) -> Any:
    return [message.content for message in filled(kit).get_memory(filter_func=wanted)]


@scenario
def memory_filter_of_the_recent(kit: Kit) -> Any:
    places: list[int] = []

    def wanted(place: int, message: Any) -> bool:
        places.append(place)
        return bool(message.content == "3")

    return [[message.content for message in filled(kit).get_memory(2, wanted)], places]


@better("the list is the caller's own; the oracle handed out its inside", 4)
def memory_is_not_changed_by_the_list_that_was_got(kit: Kit) -> Any:
    memory = filled(kit)
    memory.get_memory().clear()
    return memory.size()


@scenario
def memory_clear(kit: Kit) -> Any:
    memory = filled(kit)
    memory.clear()
    memory.clear()
    sizes = [memory.size(), contents(memory)]
    memory.add(kit.msg("Ann", "new"))
    return [*sizes, memory.size()]


@scenario
def memory_cleared_takes_the_same_message_again(kit: Kit) -> Any:
    memory, message = kit.TemporaryMemory(), kit.msg("Ann", "one")
    memory.add(message)
    memory.clear()
    memory.add(message)
    return memory.size()


@scenario
def memory_load_a_list(kit: Kit) -> Any:
    memory = filled(kit, 1)
    memory.load([kit.msg("Bob", "b"), kit.msg("Cid", "c")])
    return contents(memory)


@scenario
def memory_load_one_message(kit: Kit) -> Any:
    memory = filled(kit, 1)
    memory.load(kit.msg("Bob", "b"))
    return contents(memory)


@scenario
def memory_load_overwrites(kit: Kit) -> Any:
    memory = filled(kit, 3)
    memory.load([kit.msg("Bob", "b")], overwrite=True)
    return contents(memory)


@scenario
def memory_load_what_is_there(kit: Kit) -> Any:
    memory = filled(kit, 2)
    memory.load(memory.get_memory())
    return contents(memory)


@each(numbers=[1], number=1, dict={"a": 1}, mixed=[None])
def memory_load_what_is_no_message(kit: Kit, given: Any) -> Any:
    memory = filled(kit, 1)
    return [kit.raised(memory.load, given, overwrite=True), contents(memory)]


@scenario
def memory_load_a_text_that_is_none(kit: Kit) -> Any:
    memory = filled(kit, 1)
    return [kit.raised(memory.load, "[this is no JSON", overwrite=True), contents(memory)]


@scenario
def memory_export_as_a_list(kit: Kit) -> Any:
    memory = filled(kit, 2)
    return [said(memory.export(to_mem=True)), memory.size()]


@better("an argument is missing, not an implementation", "ValueError")
def memory_export_nowhere(kit: Kit) -> Any:
    return kit.raised(filled(kit).export)


@scenario
def memory_export_and_load(kit: Kit) -> Any:
    memory, from_file, from_text = kit.TemporaryMemory(), filled(kit, 1), kit.TemporaryMemory()
    memory.add(
        [
            kit.Msg("Ann", "é 名", "assistant", {"a": 1}),
            kit.Msg("Bob", [{"type": "text", "text": "b"}], "user"),
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.json"
        told = memory.export(str(file))
        from_file.load(str(file), overwrite=True)
        from_text.load(file.read_text(encoding="utf-8"))
    same = [
        [m.id for m in one.get_memory()] == [m.id for m in memory.get_memory()]
        for one in (from_file, from_text)
    ]
    return [
        told,
        same,
        [[m.name, m.role, m.get_text_content(), m.metadata] for m in from_file.get_memory()],
    ]


@scenario
def memory_is_true_also_when_empty(kit: Kit) -> Any:
    return bool(kit.TemporaryMemory())
