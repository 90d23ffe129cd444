"""Executing the functions that models ask for, and telling models about them."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agentkit import register_function, runs
from agentkit.conversation.tooling import Signatures, check_name, normalize_name, wrap
from agentkit.core import stopping
from agentkit.core.twin import takes_long
from agentkit.errors import NoModelConfig, Stopped, WrongArgument
from agentkit.events import ToolCalled, ToolReturned
from tests.conversation.cast import CALL_ADD, agent, call, chat, hearing, modelled, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


class Point(BaseModel):
    x: int
    y: int = 0


@BOTH
@pytest.mark.parametrize(
    ("arguments", "ok", "content"),
    [
        ('{"a": 1, "b": 2}', True, 3),
        ({"a": 1}, True, 2),
        ('```json\n{"a": 1}\n```', True, 2),
        ("", False, "Error: add() missing 1 required positional argument: 'a'"),
        (None, False, "Error: add() missing 1 required positional argument: 'a'"),
        ('{"a": 1, "c": 2}', False, "Error: add() got an unexpected keyword argument 'c'"),
        ('{"a": "x"}', False, 'Error: can only concatenate str (not "int") to str'),
        ("[1, 2]", False, "Error: The arguments must be a JSON object like"),
        ("{", False, "Error: The arguments are not valid JSON: they end too early"),
        (5, False, "Error: The arguments must be a JSON object, but they are 5"),
        ([1, 2], False, "Error: The arguments must be a JSON object, but they are [1, 2]"),
    ],
)
def test_a_call_gives_its_result_or_what_is_wrong(
    arguments: Any, ok: bool, content: Any, is_async: bool
) -> None:
    ann = agent("ann", function_map={"add": add})
    went_well, message = call(
        is_async, ann, "execute_function", {"name": "add", "arguments": arguments}
    )
    assert went_well is ok
    assert {"name": message["name"], "role": message["role"]} == {"name": "add", "role": "function"}
    assert message["content"] == content if ok else str(message["content"]).startswith(str(content))


@BOTH
def test_calls_are_heard_with_their_results(is_async: bool) -> None:
    def fail() -> None:
        raise ValueError

    ann = agent("ann", function_map={"add": add, "fail": fail})
    with hearing() as events:
        call(is_async, ann, "execute_function", {"name": "add", "arguments": {"a": 1}})
        call(is_async, ann, "execute_function", {"name": "fail", "arguments": "{}"})
    called, returned, failing, failed = events
    assert isinstance(called, ToolCalled)
    assert isinstance(returned, ToolReturned)
    assert isinstance(failed, ToolReturned)
    assert called == ToolCalled(called.call_id, "ann", "add", '{"a": 1}')
    assert (returned.call_id, returned.agent, returned.name, returned.ok, returned.content) == (
        called.call_id,
        "ann",
        "add",
        True,
        "2",
    )
    assert (failed.ok, failed.content) == (False, "Error: ValueError")
    assert isinstance(failing, ToolCalled)
    assert failing.call_id == failed.call_id != called.call_id
    assert returned.seconds >= 0


@BOTH
def test_registered_functions_get_objects_and_give_texts(is_async: bool) -> None:
    ann = agent("ann")

    @ann.register_for_execution()
    def mirrored(point: Annotated[Point, "a point"], labels: list[str]) -> Point:
        assert isinstance(point, Point)
        return Point(x=-point.x, y=len(labels))

    ok, message = call(
        is_async,
        ann,
        "execute_function",
        {"name": "mirrored", "arguments": '{"point": {"x": 1}, "labels": ["a"]}'},
    )
    assert (ok, message["content"]) == (True, '{"x":-1,"y":1}')
    assert ann.function_map["mirrored"]._origin is mirrored  # type: ignore[attr-defined]


@BOTH
@pytest.mark.parametrize("name", ["function", "agent", "name", "mode"])
def test_an_argument_may_have_any_name(is_async: bool, name: str) -> None:
    def told(**given: str) -> str:
        return given[name]

    ann = agent("ann", function_map={"told": told})
    asked = {"name": "told", "arguments": {name: "x**2"}}
    assert call(is_async, ann, "execute_function", asked)[1]["content"] == "x**2"
    marked = agent("bob", function_map={"told": takes_long(told)})
    assert call(is_async, marked, "execute_function", asked)[1]["content"] == "x**2"


@BOTH
@pytest.mark.parametrize("name", ["name", "agent", "function"])
def test_a_chat_may_be_given_options_of_any_name(is_async: bool, name: str) -> None:
    ann, bob = agent("ann"), agent("bob")
    options = {"message": "Hi.", "max_turns": 1, name: "Bob"}
    result = call(is_async, ann, "initiate_chat", bob, **options)
    assert result.chat_history[0]["content"] == "Hi."


def test_async_calls_of_one_message_run_side_by_side_and_answer_in_order() -> None:
    both_there = asyncio.Barrier(2)

    async def meet(name: str) -> str:
        await both_there.wait()  # alone it would wait for ever
        return name

    calls = [
        {"id": each, "function": {"name": "meet", "arguments": {"name": each}}} for each in "ab"
    ]
    _, message = asyncio.run(
        agent("ann", function_map={"meet": meet}).a_generate_tool_calls_reply(
            [{"tool_calls": calls}]
        )
    )
    assert [each["tool_call_id"] for each in message["tool_responses"]] == ["a", "b"]
    assert message["content"] == "a\n\nb"


def test_a_sync_chat_waits_for_an_async_tool_also_on_the_loops_own_thread() -> None:
    threads: list[threading.Thread] = []

    async def where() -> str:
        await asyncio.sleep(0)
        threads.append(threading.current_thread())
        return "done"

    ann = agent("ann", function_map={"where": where})

    async def main() -> Any:
        return ann.execute_function({"name": "where"})

    assert ann.execute_function({"name": "where"})[1]["content"] == "done"
    assert asyncio.run(main())[1]["content"] == "done"
    assert [each is threading.main_thread() for each in threads] == [True, False]


@BOTH
def test_a_stop_inside_a_tool_ends_the_run(is_async: bool) -> None:
    def work() -> str:
        current = runs.current()
        assert current is not None
        current.stop()
        stopping.check()
        return "never"

    ann = agent("ann", function_map={"work": work})
    bob = speaker(
        "bob",
        {
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "work", "arguments": "{}"}}],
        },
    )
    run = runs.start(lambda: chat(is_async, ann, bob), kind="chat")
    with pytest.raises(Stopped):
        run.result()
    assert said(ann, bob) == ["hi", None]


@BOTH
def test_an_overridden_execution_is_honoured(is_async: bool) -> None:
    ann = agent("ann")
    patched = (True, {"role": "function", "name": "add", "content": "patched"})

    async def a_patched(func_call: Any) -> Any:
        return patched

    vars(ann).update(execute_function=lambda func_call: patched, a_execute_function=a_patched)
    assert (
        call(is_async, ann, "generate_tool_calls_reply", [{"tool_calls": [CALL_ADD]}])[1]["content"]
        == "patched"
    )


@BOTH
def test_a_whole_chat_with_a_registered_tool(is_async: bool) -> None:
    bob, client = modelled("bob", {"content": None, "tool_calls": [CALL_ADD]}, "It is 3.")
    ann = agent("ann")
    register_function(add, caller=bob, executor=ann, description="Adds two numbers.")
    result = chat(is_async, ann, bob, "1 + 2?", max_turns=2)
    assert [message["content"] for message in result.chat_history] == [
        "1 + 2?",
        None,
        "3",
        "It is 3.",
    ]
    assert client.requests[0]["tools"][0]["function"]["name"] == "add"
    assert client.requests[1]["messages"][-1] == {
        "tool_call_id": "1",
        "role": "tool",
        "content": "3",
    }


def test_names() -> None:
    for name in ("f", "a-b_c1", "x" * 64):
        assert check_name("ann", name) == name
    wrong: Any
    for wrong in ("", "a b", "ä", "x" * 65, None, 5, "f\n"):
        with pytest.raises(WrongArgument, match=r"ann: .* cannot be the name of a function"):
            check_name("ann", wrong)


@given(st.text(min_size=1))
def test_normalized_names_are_names(text: str) -> None:
    assert check_name("ann", normalize_name(text)) == normalize_name(text)


def test_functions_are_added_replaced_and_removed_all_or_none() -> None:
    ann = agent("ann", function_map={"add": add})
    with pytest.warns(UserWarning, match="ann: function 'add' is being replaced"):
        ann.register_function({"add": max})
    assert ann.can_execute_function(["add"])
    assert not ann.can_execute_function(["add", "sub"])
    with pytest.raises(WrongArgument):
        ann.register_function({"sub": min, "not a name": min})
    assert not ann.can_execute_function("sub")
    ann.register_function({"add": None})
    assert ann.function_map == {}


def test_signatures() -> None:
    config: dict[str, Any] = {"model": "m"}
    signatures = Signatures("ann", config)
    for name in ("f", "g"):
        signatures.update("tools", {"type": "function", "function": {"name": name}}, False)
    with pytest.warns(UserWarning, match="ann: function 'f' is being overridden"):
        signatures.update(
            "tools", {"type": "function", "function": {"name": "f", "description": "new"}}, False
        )
    assert [each["function"]["name"] for each in config["tools"]] == ["g", "f"]
    signatures.update("tools", "g", True)
    signatures.update("tools", "f", True)
    assert config == {"model": "m"}
    with pytest.raises(NoModelConfig, match="ann needs an llm_config"):
        Signatures("ann", False).update("tools", {"function": {"name": "f"}}, False)


def test_wrapping_keeps_the_name_and_the_kind_of_a_function() -> None:
    async def later(a: int) -> int:
        """Later."""
        return a

    call_it: Any = wrap(add)
    assert call_it(a=1) == "2"
    assert (wrap(add).__name__, wrap(add).__doc__) == ("add", "Adds.")
    assert asyncio.iscoroutinefunction(wrap(later))
    assert asyncio.run(wrap(later)(a=5)) == "5"  # type: ignore[comparison-overlap]


def test_partials_methods_and_built_ins_can_be_tools() -> None:
    class Shop:
        def price(self, item: str) -> float:
            return float(len(item))

    ann, _ = modelled("ann")
    ann.register_for_llm(name="add_two", description="Adds 2.")(functools.partial(add, b=2))
    ann.register_for_llm(description="The price.")(Shop().price)
    ann.register_for_execution("add_two")(functools.partial(add, b=2))
    ann.register_for_execution()(Shop().price)
    assert isinstance(ann.llm_config, dict)
    assert [tool["function"]["name"] for tool in ann.llm_config["tools"]] == ["add_two", "price"]
    assert ann.execute_function({"name": "add_two", "arguments": '{"a": 1}'})[1]["content"] == "3"
    assert (
        ann.execute_function({"name": "price", "arguments": '{"item": "tea"}'})[1]["content"]
        == "3.0"
    )
