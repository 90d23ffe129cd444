"""What scripts of Lagent and odd tools, plans and replies met: each of these once gave a wrong
result or an unclear error.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentkit import ConversableAgent
from agentkit.agents.rewoo import (
    ActionExecutor,
    ActionReturn,
    ActionStatusCode,
    AgentReturn,
    FunctionAction,
    Plan,
    ReWOO,
    ReWOOAgent,
    ReWOOProtocol,
    parse_plan,
)
from agentkit.agents.rewoo.workers import Worker
from agentkit.coding import CodeResult
from agentkit.core import bus, stopping
from agentkit.core.tools import effects
from agentkit.errors import ResponseParsingError, WrongArgument, WrongType
from agentkit.events import Event, PlanMade, StepDone, ToolReturned
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.own_tools import load_tools
from tests.conversation.cast import Executor


@effects("none")
def search(query: str) -> str:
    """Looks something up."""
    if query == "nobody":
        raise LookupError("no such person")
    return f"<{query}>"


def scripted(*replies: str) -> tuple[Callable[..., str], list[Any]]:
    left, asked = list(replies), list[Any]()

    def llm(messages: Any, **options: Any) -> str:
        asked.append(messages)
        return left.pop(0)

    return llm, asked


def chat(tool: Any, *replies: str, **options: Any) -> tuple[AgentReturn, list[Event]]:
    events: list[Event] = []
    with bus.listening(events.append):
        return ReWOO(scripted(*replies)[0], ActionExecutor([tool]), **options).chat("Who?"), events


class Lines(ReWOOProtocol):
    """As a script of Lagent reads plans of its own form: `tool: input`, one a line."""

    def parse_worker(self, message: str) -> tuple[list[str], list[str], list[str]]:
        assert ":" in message, "write tool: input"
        pairs = [line.split(":", 1) for line in message.splitlines()]
        return (
            ["why"] * len(pairs),
            [tool.strip() for tool, _ in pairs],
            [text.strip() for _, text in pairs],
        )


class Shorter(ReWOOProtocol):
    """Changes what the inherited method read."""

    def parse_worker(self, message: str) -> tuple[list[str], list[str], list[str]]:
        thoughts, tools, inputs = super().parse_worker(message)
        return thoughts, tools, [text.upper() for text in inputs]


def test_a_protocol_with_its_own_parse_worker_is_what_reads_the_plan() -> None:
    given, _ = chat(search, "search: Ann\nsearch: with #E1", "Both.", protocol=Lines())
    assert given.errmsg is None
    assert [action.format_result() for action in given.actions] == ["<Ann>", "<with <Ann>>"]
    given, _ = chat(search, "Plan: p\n#E1 = search[ann]", "Both.", protocol=Shorter())
    assert [action.format_result() for action in given.actions] == ["<ANN>"]


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ("none", "write tool: input"),
        ("find: x", "unknown tool 'find'"),
        ("search: #E2", "no such step"),
    ],
)
def test_what_is_wrong_with_such_a_plan_is_told_to_the_planner(plan: str, told: str) -> None:
    llm, asked = scripted(plan, "search: Ann", "Ann.")
    given = ReWOO(llm, ActionExecutor([search]), Lines()).chat("Who?")
    assert told in asked[1][-1]["content"]
    assert (given.response, given.errmsg) == ("Ann.", None)


LEANING = (
    "Plan: a\n#E1 = search[Ann]\nPlan: n\n#E2 = search[nobody]\nPlan: both\n#E3 = search[#E1 and"
    " #E2]\n"
)


def test_what_leaned_on_a_failure_runs_again_with_what_was_planned_anew_under_its_name() -> None:
    given, events = chat(search, LEANING, "Plan: instead\n#E2 = search[Bob]", "Both.", replans=1)
    assert {label: each.text for label, each in (given.nodes or {}).items()} == {
        "#E1": "<Ann>",
        "#E2": "<Bob>",
        "#E3": "<<Ann> and <Bob>>",
    }
    made = [event for event in events if isinstance(event, PlanMade)]
    done = [event for event in events if isinstance(event, StepDone)]
    for plan in made:  # every step that ran is one of those that were told
        assert {step["label"] for step in plan.steps} == {
            step.label for step in done if step.plan_id == plan.plan_id
        }


def test_what_the_new_steps_need_is_not_done_again() -> None:
    given, events = chat(search, LEANING, "Plan: instead\n#E2 = search[#E3]", "Both.", replans=1)
    assert (given.nodes or {})["#E2"].text == "<<<Ann> and [failed: no such person]>>"
    assert [event.label for event in events if isinstance(event, StepDone)].count("#E3") == 1


def test_a_dependent_that_misses_something_else_is_left_as_it_was() -> None:
    old = Plan.from_json(
        {
            "steps": [
                {"label": "#E1", "tool": "t"},
                {"label": "#E2", "tool": "t"},
                {"label": "#E3", "tool": "t", "arguments": "#E1 #E2"},
            ]
        }
    )
    fresh = Plan(old.steps[:1])
    assert old.redo(fresh, ["#E3"]) == fresh  # there is nothing for #E2
    assert old.redo(fresh, ["#E2", "#E3"]).labels == ("#E1", "#E3")
    assert Plan().redo(fresh, ()) == fresh


@pytest.mark.parametrize(
    "name", ["math.add", "server/add", "server:add", "2nd", "数", "web search tool"]
)
def test_actions_of_unusual_names_are_called(name: str) -> None:
    given, _ = chat(
        FunctionAction(search, name),
        f"Plan: p\n#E1 = {name}[Ann]\nPlan: p\n#E2 = {name}[#E1]",
        "Ann.",
    )
    assert [(action.type, action.format_result()) for action in given.actions] == [
        (name, "<Ann>"),
        (name, "<<Ann>>"),
    ]


def test_a_name_that_no_plan_can_write_is_refused_at_once() -> None:
    with pytest.raises(WrongArgument, match=r"'<lambda>' of an action; give it one"):
        ActionExecutor([lambda text: text])


@pytest.mark.parametrize("result", ["text", {"text": "x"}, [{"text": "x"}], ["text"]])
def test_a_result_of_another_form_is_a_clear_failure_that_is_told(result: Any) -> None:
    def odd(text: str) -> ActionReturn:
        """Odd."""
        return ActionReturn(type="odd", result=result)

    given, events = chat(odd, "Plan: p\n#E1 = odd[x]", "Unknown.")
    assert given.actions[0].state == ActionStatusCode.API_ERROR
    assert str(given.actions[0].errmsg).startswith("odd gave the result ")
    [returned] = [event for event in events if isinstance(event, ToolReturned)]
    assert (returned.ok, str(given.actions[0].errmsg) in returned.content) == (False, True)


def test_a_number_as_the_content_of_a_text_is_told_as_one() -> None:
    assert (
        ActionReturn(
            result=[{"type": "text", "content": 5}, {"type": "image", "content": "a.png"}]
        ).format_result()
        == "5\n[image](a.png)"
    )


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("print(']')", "print(']')"),
        ("a ] b", "a ] b"),
        ("x[0] ] y[1]", "x[0] ] y[1]"),
        ("print(']') + x[0]", "print(']') + x[0]"),
        ('{"code": "x = \']\'"}', '{"code": "x = \']\'"}'),
        ("x]", "x"),  # a slip of the planner
        ("x] see [1", "x"),
    ],
)
def test_a_closing_bracket_within_the_input(written: str, arguments: str) -> None:
    [step] = parse_plan(f"Plan: p\n#E1 = run[{written}]\n", ["run"]).steps
    assert step.arguments == arguments


def test_an_input_does_not_go_on_into_the_next_action_of_its_line() -> None:
    with pytest.raises(ResponseParsingError, match=r"#E2 is a second action") as wrong:
        parse_plan("Plan: p\n#E1 = run[x] then #E2 = stop[y]]", ["run"])
    assert "'stop'" in str(wrong.value)


@pytest.mark.parametrize("options", [{"at_once": 0}, {"retries": -1}, {"timeout_s": 0}])
def test_settings_that_cannot_be_are_refused_before_a_model_is_asked(
    options: dict[str, Any],
) -> None:
    with pytest.raises(WrongArgument, match="must be >= 1"):
        ReWOO(scripted()[0], ActionExecutor([search]), **options)


def test_ten_independent_steps_run_at_the_same_time_unless_told_otherwise() -> None:
    together = threading.Barrier(10)

    def meet(text: str) -> str:
        """Comes back when ten are there."""
        together.wait(60)
        return text

    given, _ = chat(meet, "".join(f"Plan: p\n#E{n} = meet[{n}]\n" for n in range(10)), "Met.")
    assert [action.errmsg for action in given.actions] == [None] * 10


def test_something_else_than_an_executor_is_refused() -> None:
    with pytest.raises(WrongType, match="give an ActionExecutor"):
        ReWOO(scripted()[0], [search])  # type: ignore[arg-type]


def test_a_tool_that_fails_at_being_told_to_stop_ends_its_step_only() -> None:
    over = threading.Event()

    def fail() -> None:
        raise OSError("it is closed already")

    def late(text: str) -> str:
        """Late."""
        with stopping.current().on_stop(fail):
            over.wait(120)
        return text

    given, _ = chat(late, "Plan: p\n#E1 = late[x]", "Unknown.", timeout_s=0.05)
    over.set()
    assert (given.response, given.actions[0].errmsg) == ("Unknown.", "no result within 0.05 s")


@pytest.mark.parametrize("is_async", [False, True])
def test_workers_that_ask_one_another_in_a_circle_end(is_async: bool) -> None:
    def planning(name: str, asked: str, *workers: ConversableAgent) -> ReWOOAgent:
        def reply(params: Mapping[str, Any]) -> str:
            solves = "Question:" in params["messages"][-1]["content"]
            return f"{name} knows" if solves else f"Plan: p\n#E1 = {asked}[why?]"

        return ReWOOAgent(
            name,
            "",
            {"config_list": [{"model": scripted_model(reply)}], "cache_seed": None},
            workers=workers,
        )

    ann = planning("ann", "bob", ConversableAgent("bob"))
    bob = planning("bob", "ann", ann)
    ann._workers[:] = [Worker("ann", bob)]
    question = [{"role": "user", "content": "Why?"}]
    answer = (
        asyncio.run(ann.a_generate_reply(question)) if is_async else ann.generate_reply(question)
    )
    assert answer == "ann knows"


@pytest.mark.parametrize(
    ("written", "ran"),
    [
        ("```python\nprint(1)\n```", ("python", "print(1)")),
        ("\n```\nx = ']'\nprint(x)\n```\n", ("python", "x = ']'\nprint(x)")),
        ("```sh\nls\n```", ("sh", "ls")),
        ("print('```')", ("python", "print('```')")),
    ],
)
def test_code_in_a_fence_is_run_without_it(written: str, ran: tuple[str, str]) -> None:
    executor = Executor(CodeResult(0, "1"))
    config = {
        "config_list": [{"model": scripted_model([f"Plan: p\n#E1 = run_code[{written}]", "1."])}],
        "cache_seed": None,
    }
    agent = ReWOOAgent("fox", llm_config=config, code_execution_config={"executor": executor})
    assert agent.generate_reply(messages=[{"role": "user", "content": "Run it."}]) == "1."
    assert [(block.language, block.code) for block in executor.ran] == [ran]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"max_turn": "2"}, WrongArgument, "max_turn='2' and replans=0, but they must be integers"),
        ({"replans": None}, WrongArgument, "replans=None"),
        ({"at_once": 1.5}, WrongType, "at_once=1.5, retries=0, timeout_s=None: must be an integer"),
        ({"timeout_s": "3"}, WrongType, "timeout_s='3'"),
        ({"timeout_s": float("nan")}, WrongArgument, "timeout_s=nan: must be"),
        ({"protocol": ReWOOProtocol}, WrongType, r"give a protocol such as ReWOOProtocol\(\)"),
        ({"on_plan": "look"}, WrongType, "on_plan must be a function of a plan, not 'look'"),
    ],
)
def test_settings_of_a_wrong_kind_are_refused(
    options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        ReWOO(scripted()[0], ActionExecutor([search]), **options)


def test_any_long_time_may_be_allowed() -> None:
    given, _ = chat(search, "Plan: p\n#E1 = search[Ann]", "Ann.", timeout_s=float("inf"))
    assert (given.response, given.actions[0].errmsg) == ("Ann.", None)


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": 3}])
def test_a_question_without_words_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(WrongType, match="its content is not a text"):
        ReWOO(scripted()[0], ActionExecutor([search])).chat({"role": "user", **content})


def test_a_message_without_a_role_is_the_users() -> None:
    llm, asked = scripted("Plan: p\n#E1 = search[Ann]", "Ann.")
    assert ReWOO(llm, ActionExecutor([search])).chat({"content": "Who?"}).response == "Ann."
    assert asked[0][-1] == {"role": "user", "content": "Who?"}


def test_a_tools_file_may_define_dataclasses(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass"
        ' Order:\n    count: int\n\ndef total(order: Order) -> int:\n    """What it costs."""\n   '
        " return order.count * 2\n",
        "utf-8",
    )
    assert [tool.__name__ for tool in load_tools(str(path))] == ["total"]
