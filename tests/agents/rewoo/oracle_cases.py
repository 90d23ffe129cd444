"""What is played on lagent 0.2.4 (the oracle) and on agentkit: cases that give JSON, and where ours
is better on purpose.

This file runs in the oracle's environment too: standard library only.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

HOMES = {
    "lagent": ("lagent.agents.rewoo", "lagent.schema", "lagent.actions"),
    "agentkit": ("agentkit.agents.rewoo",),
}
Case = Callable[["Library"], Any]


class Library:
    """The public names of one of the two, as attributes, and what the cases share."""

    def __init__(self, package: str) -> None:
        self.package = package

    def __getattr__(self, name: str) -> Any:
        for home in HOMES[self.package]:
            if hasattr(importlib.import_module(home), name):
                return getattr(importlib.import_module(home), name)
        raise AttributeError(name)

    @functools.cache  # noqa: B019 (the oracle refuses a second class of the same name)
    def actions(self) -> dict[str, Any]:
        """Actions of every kind by name."""
        library = self

        class Bold(library.BaseAction):  # type: ignore[misc, name-defined]
            """Make text bold"""

            def run(self, text: str, times: int = 1) -> str:
                """
                Args:
                    text (str): what is made bold,
                        in any language
                    times (int): how often

                Returns:
                    str: bold text
                """
                return "**" + text * times + "**"

        class Calculator(library.BaseAction):  # type: ignore[misc, name-defined]
            """Calculates"""

            @library.tool_api  # type: ignore[untyped-decorator]
            def add(self, a: int, b: int) -> int:
                """Adds

                Args:
                    a (int): one
                    b (int): another

                Returns:
                    int: the sum
                """
                return a + b

            @library.tool_api(explode_return=True)  # type: ignore[untyped-decorator]
            def divide(self, a: float, b: float = 2.0, exact: bool = False, rest=None):  # type: ignore[no-untyped-def]
                """Divides

                Args:
                    a (float): one
                    b (float): another

                Returns:
                    dict: what came out
                        * q (float): quotient
                        * r (int): rest
                """
                return {"q": a / b, "r": 0}

        class Plain(library.BaseAction):  # type: ignore[misc, name-defined]
            """Takes what it gets"""

            effects = "none"

            def __init__(self, **options: Any) -> None:
                super().__init__(parser=library.BaseParser, **options)

            def run(self, text: str, times: int = 3) -> dict[str, Any]:
                return {"text": text, "times": times}

        class Ordered(library.BaseAction):  # type: ignore[misc, name-defined]
            """Takes values in order"""

            def __init__(self) -> None:
                super().__init__(parser=library.TupleParser)

            def run(self, text: str, times: int = 3) -> str:
                return text * times

        return {
            "Bold": Bold,
            "Calculator": Calculator,
            "Plain": Plain,
            "Ordered": Ordered,
        } | _odd_actions(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Library) and other.package == self.package

    def __hash__(self) -> int:
        return len(self.package)

    def executor(self, **options: Any) -> Any:
        """With all of them."""
        return self.ActionExecutor([make() for make in self.actions().values()], **options)

    def returned(self, name: str, command: Any) -> Any:
        """What the executor gives for a call."""
        return plain(self.executor()(name, command))

    def chat(self, replies: list[str], message: Any = "why?", max_turn: int = 2) -> dict[str, Any]:
        """What ReWOO makes of these replies, and what the model was asked, as roles."""
        asked: list[Any] = []
        queue = list(replies)

        class Scripted:
            def chat(self, messages: Any, **options: Any) -> str:
                asked.append(
                    "text" if isinstance(messages, str) else [each["role"] for each in messages]
                )
                return queue.pop(0)

        rewoo = self.ReWOO(Scripted(), self.executor(), self.ReWOOProtocol(*PROMPTS), max_turn)
        given = rewoo.chat(message)
        return {
            "asked": asked,
            "response": given.response,
            "steps": given.inner_steps,
            "state": int(given.state),
        } | {"actions": [plain(each) for each in given.actions]}


PROMPTS = (
    "plan with {tool_description}",
    "[{thought}: {action_resp}]",
    "{question}|{worker_log}|{question}",
    "wrong: {err_msg}",
)
PLAN = (
    'Plan: be bold\n#E1 = Bold[{"text": "a"}]\nPlan: add\n#E2 = Calculator.add[{"a": 1, "b": 2}]\n'
)


def plain(value: Any) -> Any:
    """As JSON gives it back; results as dicts without what they were called with."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {**dataclasses.asdict(value)}
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))


def signature(function: Any) -> list[str]:
    """The parameters' names, without keyword-only ones."""
    return [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind is not p.KEYWORD_ONLY
    ]


def told(description: Any) -> Any:
    """A description without the instruction how to write the input, whose wording is each one's
    own.
    """
    if isinstance(description, list):
        return [told(each) for each in description]
    kept = {key: value for key, value in description.items() if key != "parameter_description"}
    return {**kept, "api_list": told(kept["api_list"])} if "api_list" in kept else kept


def failed(returned: Any) -> Any:
    """A failed result without the wording of the message."""
    return {**returned, "errmsg": bool(returned["errmsg"])}


CASES: dict[str, Case] = {
    "codes_action": lambda lib: {each.name: int(each) for each in lib.ActionStatusCode},
    "codes_valid": lambda lib: {each.name: int(each) for each in lib.ActionValidCode},
    "codes_agent": lambda lib: {each.name: int(each) for each in lib.AgentStatusCode},
    "action_return_fields": lambda lib: plain(lib.ActionReturn()),
    "agent_return_fields": lambda lib: plain(lib.AgentReturn()),
    "format_result": (
        lambda lib: lib.ActionReturn(
            result=[{"type": "text", "content": "a"}, {"type": "image", "content": "p.png"}]
        ).format_result()
    ),
    "format_result_of_nothing": lambda lib: lib.ActionReturn().format_result(),
    "signature_rewoo": lambda lib: signature(lib.ReWOO),
    "signature_chat": lambda lib: signature(lib.ReWOO.chat),
    "signature_protocol": lambda lib: signature(lib.ReWOOProtocol),
    "signature_format_planner": lambda lib: signature(lib.ReWOOProtocol.format_planner),
    "signature_parse_worker": lambda lib: signature(lib.ReWOOProtocol.parse_worker),
    "signature_format_solver": lambda lib: signature(lib.ReWOOProtocol.format_solver),
    "signature_executor": lambda lib: signature(lib.ActionExecutor),
    "signature_executor_call": lambda lib: signature(lib.ActionExecutor.__call__),
    "signature_base_action": lambda lib: signature(lib.BaseAction),
    "signature_invalid_action": lambda lib: signature(lib.InvalidAction),
    "signature_no_action": lambda lib: signature(lib.NoAction),
    "signature_finish_action": lambda lib: signature(lib.FinishAction),
    "max_turn": lambda lib: inspect.signature(lib.ReWOO).parameters["max_turn"].default,
    "describe_simple": lambda lib: told(lib.actions()["Bold"]().description),
    "describe_toolkit": lambda lib: told(lib.actions()["Calculator"]().description),
    "describe_without_docstring": lambda lib: told(lib.actions()["Broken"]().description),
    "actions_info": lambda lib: told(lib.executor().get_actions_info()),
    "names": lambda lib: lib.executor().action_names(),
    "names_with_finish": lambda lib: lib.executor(finish_in_action=True).action_names(),
    "valid": lambda lib: [
        lib.executor().is_valid(name) for name in ("Bold", "Calculator", "Calculator.add", "Nope")
    ],
    "members": lambda lib: [
        (a.name, a.enable, a.is_toolkit) for a in lib.executor().actions.values()
    ],
    "special_actions": lambda lib: [
        (a.name, a.enable)
        for a in (
            lib.executor().invalid_action,
            lib.executor().no_action,
            lib.executor().finish_action,
        )
    ],
    "add_and_delete": lambda lib: _add_and_delete(lib),
    "disabled": lambda lib: _disabled(lib),
    "one_action": lambda lib: lib.ActionExecutor(lib.actions()["Bold"]()).action_names(),
    "no_action_object": lambda lib: _raises(lambda: lib.ActionExecutor([3]), AssertionError),
    "call_json": lambda lib: lib.returned("Bold", '{"text": "x"}'),
    "call_fenced_json": lambda lib: lib.returned("Bold", '```json\n{"text": "x", "times": 2}\n```'),
    "call_dict": lambda lib: lib.returned("Bold", {"text": "x"}),
    "call_unknown_argument": lambda lib: failed(lib.returned("Bold", '{"tex": "x"}')),
    "call_missing_argument": lambda lib: failed(lib.returned("Bold", "{}")),
    "call_toolkit": lambda lib: lib.returned("Calculator.add", '{"a": 1, "b": 2}'),
    "call_toolkit_dict": lambda lib: lib.returned("Calculator.divide", '{"a": 1}'),
    "call_toolkit_without_api": lambda lib: failed(lib.returned("Calculator", "{}")),
    "call_unknown_api": lambda lib: failed(lib.returned("Calculator.nope", "{}")),
    "call_text_for_two": lambda lib: failed(lib.returned("Calculator.add", "one and two")),
    "call_broken": lambda lib: lib.returned("Broken", '{"x": 1}'),
    "call_base_parser": lambda lib: lib.returned("Plain", "any [text]"),
    "call_base_parser_json_text": lambda lib: lib.returned("Plain", '{"a": 1}'),
    "call_tuple": lambda lib: lib.returned("Ordered", '("a", 2)'),
    "call_tuple_too_long": lambda lib: failed(lib.returned("Ordered", '("a", 2, 3)')),
    "call_tuple_empty": lambda lib: failed(lib.returned("Ordered", "()")),
    "call_tuple_malformed": lambda lib: failed(lib.returned("Ordered", "(a")),
    "call_finish": lambda lib: lib.returned("FinishAction", "done"),
    "call_no_action": lambda lib: lib.returned("NoAction", "say it right"),
    "call_no_action_empty": lambda lib: lib.returned("NoAction", ""),
    "call_plain_text": lambda lib: failed(lib.returned("Bold", "x")),
    "call_invalid": lambda lib: lib.returned("Nope", "x")["errmsg"],
    "call_wrong_type": lambda lib: _state(lib.returned("Calculator.add", '{"a": "x", "b": "y"}')),
    "call_no_tool": lambda lib: _state(lib.returned("Bold.__init__", "{}")),
    "call_emoji": lambda lib: lib.returned("Bold", '{"text": "\\ud83d\\ude00"}')["result"],
    "format_planner": lambda lib: _planner(lib),
    "format_planner_again": lambda lib: _planner(lib, "no plan"),
    "format_solver": (
        lambda lib: lib.ReWOOProtocol(*PROMPTS).format_solver("q", ["t", "u"], _two_returns(lib))
    ),
    "format_solver_of_nothing": lambda lib: lib.ReWOOProtocol(*PROMPTS).format_solver("q", [], []),
    "format_solver_failed": (
        lambda lib: lib.ReWOOProtocol(*PROMPTS).format_solver(
            "q", ["t"], [lib.ActionReturn(errmsg="no", state=lib.ActionStatusCode.API_ERROR)]
        )
    ),
    "parse": lambda lib: lib.ReWOOProtocol().parse_worker(PLAN),
    "parse_spaces": (
        lambda lib: lib.ReWOOProtocol().parse_worker("Plan:  a \n#E1 =  Search [ x ] \n")
    ),
    "parse_fenced": lambda lib: lib.ReWOOProtocol().parse_worker(f"Here:\n```\n{PLAN}```\n"),
    "parse_count": lambda lib: _raises(
        lambda: lib.ReWOOProtocol().parse_worker("Plan: a\nPlan: b\n#E1 = S[x]"), Exception
    ),
    "parse_bracket": lambda lib: lib.ReWOOProtocol().parse_worker("Plan: a\n#E1 = S[a[0] b]")[2],
    "parse_lines": lambda lib: _or_raises(
        lambda: lib.ReWOOProtocol().parse_worker("Plan: a\n#E1 = S[a\nb]")[2]
    ),
    "parse_nothing": lambda lib: _or_raises(
        lambda: lib.ReWOOProtocol().parse_worker("I do not know.")
    ),
    "chat": lambda lib: lib.chat([PLAN, "42"])["response"],
    "chat_steps": lambda lib: lib.chat([PLAN, "42"])["steps"],
    "chat_of_a_dict": lambda lib: lib.chat([PLAN, "42"], {"role": "user", "content": "why?"})[
        "steps"
    ][-1],
    "chat_of_a_list": lambda lib: lib.chat([PLAN, "42"], [{"role": "user", "content": "why?"}])[
        "steps"
    ][-1],
    "chat_of_a_number": lambda lib: _raises(lambda: lib.chat([PLAN, "42"], 3), TypeError),
    "chat_asked": lambda lib: lib.chat([PLAN, "42"])["asked"],
    "chat_second_plan": lambda lib: lib.chat(["Plan: a", PLAN, "42"])["asked"][1],
    "chat_no_plan": lambda lib: lib.chat(["Plan: a", "Plan: b", "42"])["response"],
    "chat_actions": lambda lib: [each["result"] for each in lib.chat([PLAN, "42"])["actions"]],
    "chat_reference": lambda lib: lib.chat([SEE, "42"])["steps"][1],
    "chat_e10": lambda lib: _ten(lib),
    "chat_forward": lambda lib: _or_raises(lambda: lib.chat([FORWARD, PLAN, "4"])["response"]),
    "chat_out_of_order": lambda lib: lib.chat([OUT_OF_ORDER, "4"])["steps"][1],
    "chat_evidence_with_label": lambda lib: lib.chat([LABELLED, "4"])["steps"][1]["content"],
    "chat_failed_step": lambda lib: lib.chat(
        ['Plan: a\n#E1 = Broken[{"x": 1}]\nPlan: b\n#E2 = Plain[got #E1]', "4"]
    )["steps"][1],
}

RESULT = [{"type": "text", "content": "**x**"}]
BETTER: dict[str, tuple[str, Any]] = {
    "chat_second_plan": (
        "many chat templates take no system message but the first",
        ["system", "user", "assistant", "user"],
    ),
    "call_plain_text": (
        "a plain text is taken where only one parameter can be meant",
        {
            "args": {"text": "x"},
            "url": None,
            "type": "Bold",
            "result": RESULT,
            "errmsg": False,
            "state": 0,
            "thought": None,
        }
        | {"valid": 0},
    ),
    "call_invalid": (
        "the message tells what is wrong, and not the input again",
        (
            "There is no action 'Nope'; the actions are Bold, Calculator.add, Calculator.divide,"
            " Plain, Ordered, Broken, Label."
        ),
    ),
    "call_wrong_type": (
        "arguments are checked against the annotations before the action begins",
        -1001,
    ),
    "call_no_tool": ("only described methods can be called", -1002),
    "call_emoji": ("no character is lost", [{"type": "text", "content": "**😀**"}]),
    "format_solver_failed": (
        "a failure is told as one",
        ["q|[t: [failed: no]]|q", "[t: [failed: no]]"],
    ),
    "parse_bracket": ("brackets nest", ["a[0] b"]),
    "parse_lines": ("arguments may have several lines", ["a\nb"]),
    "parse_nothing": ("no plan is an error that the planner is told", "raises"),
    "chat_asked": (
        "the solver is asked with messages, not with a bare text",
        [["system", "user"], ["user"]],
    ),
    "chat_actions": (
        "actions are filled",
        [[{"type": "text", "content": "**a**"}], [{"type": "text", "content": "3"}]],
    ),
    "chat_e10": ("#E10 is not #E1 and a 0", True),
    "chat_forward": ("a wrong plan goes back to the planner", "4"),
    "chat_out_of_order": (
        "labels are bound by name",
        {
            "role": "system",
            "content": (
                '[b: {"text": "b", "times": 3}][a: {"text": "a", "times": 3}]'
                '[c: {"text": "{\\"text\\": \\"b\\", \\"times\\": 3}", "times": 3}]'
            ),
        },
    ),
    "chat_evidence_with_label": ("evidence is put in once", "[a: one][b: #E1][c: #E1 one]"),
    "chat_failed_step": (
        "the failure of a step is seen by those who need it",
        {
            "role": "system",
            "content": (
                '[a: [failed: out of order]][b: {"text": "got [failed: out of order]", "times": 3}]'
            ),
        },
    ),
}


def _odd_actions(library: Library) -> dict[str, Any]:
    class Broken(library.BaseAction):  # type: ignore[misc, name-defined]
        def run(self, x: int) -> int:
            raise ValueError("out of order")

    class Label(library.BaseAction):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(parser=library.BaseParser)

        def run(self, text: str) -> str:
            return "#E1" if text == "label" else text

    return {"Broken": Broken, "Label": Label}


def _add_and_delete(lib: Library) -> list[Any]:
    executor = lib.ActionExecutor([])
    executor.add_action(lib.actions()["Bold"]())
    names = [executor.action_names()]
    executor.del_action("nobody")
    executor.del_action("Bold")
    return [*names, executor.action_names()]


def _disabled(lib: Library) -> list[Any]:
    executor = lib.ActionExecutor([lib.actions()["Plain"](enable=False)])
    return [
        executor.action_names(),
        executor.action_names(False),
        executor.get_actions_info(),
        executor.is_valid("Plain"),
    ]


def _raises(function: Callable[[], Any], kind: type[Exception]) -> bool:
    try:
        function()
    except kind:
        return True
    return False


def _or_raises(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception:  # noqa: BLE001 (that it raises is the answer)
        return "raises"


def _state(returned: dict[str, Any]) -> int:
    return int(returned["state"])


def _planner(lib: Library, request: str = "") -> Any:
    executor = lib.ActionExecutor(lib.actions()["Plain"]())
    history, inner = [{"role": "user", "content": "before"}], [{"role": "user", "content": "now"}]
    return lib.ReWOOProtocol(*PROMPTS).format_planner(history, inner, executor, request)


def _two_returns(lib: Library) -> list[Any]:
    return [lib.ActionReturn(result=[{"type": "text", "content": text}]) for text in ("x", "y {z}")]


def _ten(lib: Library) -> bool:
    """Whether the eleventh step got the evidence of the tenth."""
    steps = "".join(f"Plan: p\n#E{n} = Plain[{n}]\n" for n in range(1, 11))
    log = lib.chat([steps + "Plan: q\n#E11 = Plain[#E1 got #E10]\n", "42"])["steps"][1]["content"]
    return "got " + json.dumps('{"text": "10"')[1:-1] in log


FORWARD = "Plan: a\n#E1 = Plain[#E2]\nPlan: b\n#E2 = Plain[x]"
OUT_OF_ORDER = "Plan: b\n#E2 = Plain[b]\nPlan: a\n#E1 = Plain[a]\nPlan: c\n#E3 = Plain[#E2]"
LABELLED = "Plan: a\n#E1 = Label[one]\nPlan: b\n#E2 = Label[label]\nPlan: c\n#E3 = Label[#E2 #E1]"
SEE = 'Plan: a\n#E1 = Bold[{"text": "a"}]\nPlan: b\n#E2 = Plain[see #E1]'
