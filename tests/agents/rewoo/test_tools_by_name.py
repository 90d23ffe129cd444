"""Action classes by name, and agents of one's own, as lagent's scripts have them."""

from __future__ import annotations

import pytest

import agentkit.lagent as lagent
from agentkit.errors import AgentkitError
from agentkit.lagent import (
    ActionExecutor,
    AgentReturn,
    BaseAction,
    BaseAgent,
    JsonParser,
    ReWOO,
    TupleParser,
)


class Doubling(BaseAction):
    """Doubles a number."""

    def __init__(self, factor: int = 2, **kwargs: object) -> None:
        super().__init__(parser=TupleParser)
        self.factor = factor

    def run(self, number: int) -> str:
        """Doubles it.

        Args:
            number (int): any
        """
        return str(self.factor * number)


def test_action_classes_are_listed_and_made_by_name() -> None:
    names = lagent.list_tools()
    assert {"Doubling", "FinishAction", "InvalidAction", "NoAction"} <= set(names)
    assert dict(lagent.list_tools(with_class=True))["Doubling"] is Doubling
    assert lagent.get_tool_cls("Doubling") is Doubling
    tool = lagent.get_tool("Doubling", 3)
    assert tool("(5,)").result == [{"type": "text", "content": "15"}]
    assert not [
        name for name in names if name in ("FunctionAction", "RegisteredFunction", "CodeAction")
    ]


def test_the_newest_of_a_name_counts_as_in_a_cell_that_is_run_again() -> None:
    first = type("Twice", (BaseAction,), {"run": lambda self: "1"})
    second = type("Twice", (BaseAction,), {"run": lambda self: "2"})
    assert first is not second
    assert lagent.get_tool_cls("Twice") is second


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(
        KeyError, match=r"no action class 'Halving'; there are: .*Doubling"
    ) as caught:
        lagent.get_tool("Halving")
    assert isinstance(caught.value, AgentkitError)


def test_an_agent_of_ones_own_has_model_actions_and_protocol() -> None:
    class Echo(BaseAgent):
        def chat(self, message: str, **kwargs: object) -> AgentReturn:
            return AgentReturn(response=f"{self._protocol}: {message}")

    executor = ActionExecutor(Doubling())
    agent = Echo(None, executor, "Echo")
    assert agent.chat("hi").response == "Echo: hi"
    agent.del_action("Doubling")
    agent.add_action(lagent.get_tool("Doubling"))
    assert executor.action_names() == ["Doubling"]
    assert isinstance(ReWOO(str, executor), BaseAgent)
    with pytest.raises(NotImplementedError, match="chat"):
        BaseAgent(None, executor, None).chat("hi")


def test_both_parsers_read_what_models_write() -> None:
    doubling = Doubling()
    assert TupleParser(doubling).parse_inputs("(5,)") == {"number": 5}
    assert JsonParser(doubling).parse_inputs('```json\n{"number": 5}\n```') == {"number": 5}
