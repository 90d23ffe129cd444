"""Actions and their inputs, beyond what the oracle does: plain functions, async ones, wrong values,
hostile texts.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents.rewoo import (
    ActionExecutor,
    ActionStatusCode,
    BaseAction,
    FunctionAction,
    JsonParser,
    tool_api,
)
from agentkit.agents.rewoo.describing import describe
from agentkit.errors import Stopped, WrongArgument, WrongType


def search(query: Annotated[str, "what to look for"], top_k: int = 3) -> str:
    """Looks it up.

    Args:
        top_k: how many
    """
    return f"{top_k} for {query}"


def total(numbers: list[int]) -> int:
    """The sum."""
    return sum(numbers)


async def later(text: str) -> str:
    """Takes its time."""
    await asyncio.sleep(0)
    return f"later {text}"


def test_a_function_is_an_action() -> None:
    action = FunctionAction(search)
    assert {key: action.description[key] for key in ("name", "description", "required")} == {
        "name": "search",
        "description": "Looks it up.",
        "required": ["query"],
    }
    assert action.description["parameters"] == [
        {"name": "query", "type": "STRING", "description": "what to look for"},
        {"name": "top_k", "type": "NUMBER", "description": "how many"},
    ]
    assert FunctionAction(search, "look", "Finds it.").description["description"] == "Finds it."
    with pytest.raises(WrongType):
        FunctionAction(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("cats", "3 for cats"),
        ('{"query": "cats", "top_k": "5"}', "5 for cats"),
        ({"query": "cats", "top_k": 5}, "5 for cats"),
        ("{cats}", "3 for {cats}"),
        ('["a"]', '3 for ["a"]'),
    ],
)
def test_inputs(command: Any, text: str) -> None:
    assert ActionExecutor(search)("search", command).format_result() == text


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"query": "x", "top_k": "many"}, "top_k"),
        ({"q": "x"}, "unknown arguments: 'q'; search takes 'query', 'top_k'"),
        ({}, "missing required arguments: 'query'"),
        ("", "missing required arguments: 'query'"),
    ],
)
def test_wrong_inputs_are_told(command: Any, told: str) -> None:
    returned = ActionExecutor(search)("search", command)
    assert returned.state == ActionStatusCode.ARGS_ERROR
    assert told in str(returned.errmsg)


def test_a_list_may_come_as_its_text() -> None:
    executor = ActionExecutor([total])
    assert [
        executor("total", each).format_result()
        for each in ("[1, 2]", [1, 2], {"numbers": "[1, 2]"})
    ] == ["3"] * 3


def test_async_actions_work_also_inside_a_loop() -> None:
    class Later(BaseAction):
        """Later."""

        @tool_api
        async def say(self, text: str) -> str:
            """Say it."""
            return await later(text)

    executor = ActionExecutor([later, Later()])

    async def inside() -> str:
        return executor("later", "x").format_result()

    assert executor("later", "x").format_result() == asyncio.run(inside()) == "later x"
    assert executor("Later.say", '{"text": "y"}').format_result() == "later y"


def test_an_error_of_the_action_is_told_and_a_stop_goes_through() -> None:
    def bad(x: str) -> str:
        raise WrongArgument("inside")

    def stopped(x: str) -> str:
        raise Stopped("stopped by the user")

    executor = ActionExecutor([bad, stopped])
    assert (executor("bad", "x").state, executor("bad", "x").errmsg) == (
        ActionStatusCode.API_ERROR,
        "inside",
    )
    with pytest.raises(Stopped):
        executor("stopped", "x")


def test_run_and_other_apis_do_not_go_together() -> None:
    with pytest.raises(WrongArgument, match="either one or the other"):

        class Both(BaseAction):
            def run(self) -> None: ...

            @tool_api
            def other(self) -> None: ...


def test_subclasses_keep_the_apis() -> None:
    class Kit(BaseAction):
        """A kit."""

        @tool_api
        def one(self) -> int:
            return 1

    class Bigger(Kit):
        """A bigger kit."""

        __tool_name__ = "big"

        @tool_api
        def two(self) -> int:
            return 2

    executor = ActionExecutor([Bigger()])
    assert executor.tool_names() == ["big.one", "big.two"]
    assert executor("big.one", "").format_result() == "1"


def test_a_description_that_requires_what_it_does_not_list_is_refused() -> None:
    with pytest.raises(WrongArgument, match="requires"):
        BaseAction(
            {"name": "x", "description": "", "parameters": [], "required": ["y"]}, JsonParser
        )


@given(st.text(min_size=1).filter(str.strip))
def test_evidence_reaches_the_action_as_it_is(text: str) -> None:
    """Whatever a document says: it is one text, unless it is exactly a JSON object of the action's
    own arguments.
    """
    executor = ActionExecutor([later])
    returned = executor("later", executor.as_inputs("later", text))
    assert returned.args == {"text": text}


def test_evidence_that_is_the_arguments_is_taken_as_such() -> None:
    executor = ActionExecutor([search])
    assert executor.as_inputs("search", '{"query": "x", "top_k": 1}') == {"query": "x", "top_k": 1}
    assert executor.as_inputs("search", '{"query": "x", "other": 1}') == {
        "query": '{"query": "x", "other": 1}'
    }


GOOGLE = """Weigh it.

Args:
    what (str): the thing,
        on one line
    times: how often

Returns:
    weight (float): in kg
    unit (str): kg or lb
"""
NUMPY = """Weigh it.

Parameters
----------
what : str
    the thing,
    on one line
times : int, optional
    how often

Returns
-------
weight : float
    in kg
unit : str
    kg or lb
"""
SPHINX = """Weigh it.

:param str what: the thing,
    on one line
:param times: how often
:returns: weight and unit
"""


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_parameters_are_described_in_the_usual_styles_of_docstrings(doc: str) -> None:
    def weigh(what, times: int = 1):  # type: ignore[no-untyped-def]
        return times

    weigh.__doc__ = doc
    told = describe(weigh)
    assert told["description"] == "Weigh it."
    assert told["parameters"] == [
        {"name": "what", "type": "STRING", "description": "the thing,\non one line"},
        {"name": "times", "type": "NUMBER", "description": "how often"},
    ]
    named = describe(weigh, returns_named_value=True)["return_data"]
    weight = [
        {"name": "weight", "description": "in kg", "type": "FLOAT"},
        {"name": "unit", "description": "kg or lb", "type": "STRING"},
    ]
    assert named == (weight if doc is not SPHINX else [{"description": "weight and unit"}])


def test_a_docstring_in_no_style_is_the_description() -> None:
    def odd(x: int) -> int:
        return x

    for text in ("Parameters\n----------\n:  :raisesx : int\n    text", ":param", "Args:\nx: y"):
        odd.__doc__ = text
        assert describe(odd)["description"] == text


@given(
    st.lists(
        st.sampled_from(
            [
                "Args:",
                "\n",
                "    ",
                "x (int): y",
                ":param x: y",
                "Returns\n-------\n",
                ":",
                "@param a",
            ]
        )
    )
)
def test_no_docstring_breaks_the_description(pieces: list[str]) -> None:
    def odd(x: int) -> int:
        return x

    odd.__doc__ = "".join(pieces)
    assert (
        describe(odd, returns_named_value=True)["required"]
        == describe(odd, explode_return=True)["required"]
        == ["x"]
    )
