"""What was recorded of Lagent's ReWOO comes of teams that stand in JSON, too: as many cases as
there are settings for in a document; for the others stands why not.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentkit.agents.rewoo import ReWOOProtocol
from agentkit.events import StepDone
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import text_of
from agentkit.teams.built import planning
from agentkit.teams.built.document import TeamDocument, read_document
from agentkit.teams.built.flows import Plan
from agentkit.teams.built.team import team_from_json
from agentkit.teams.planning.team import PlanProtocol, Setup
from tests.agents.rewoo import oracle_cases as cases
from tests.agents.rewoo.test_oracle import RECORDED
from tests.teams.stage import Played, asked, play

_PROMPTS = ("planner_prompt", "worker_prompt", "solver_prompt", "reformat_prompt")
"""In the order of the arguments of ReWOOProtocol."""
_OF_ACTIONS = "what an action of Python is and gives; a document names tools, and makes none"
_OF_THE_EXECUTOR = "which actions an executor has; a team has those that its document names"
_OF_THE_NAMES = "how classes and functions of Python are called with which arguments"
_OF_RESULTS = "how values of Python are made up; in the app steps are told by events"
NOT_BY_DOCUMENT: Mapping[str, str] = {
    "describe_simple": _OF_ACTIONS,
    "describe_toolkit": _OF_ACTIONS,
    "describe_without_docstring": _OF_ACTIONS,
    "call_json": _OF_ACTIONS,
    "call_fenced_json": _OF_ACTIONS,
    "call_dict": _OF_ACTIONS,
    "call_unknown_argument": _OF_ACTIONS,
    "call_missing_argument": _OF_ACTIONS,
    "call_toolkit": _OF_ACTIONS,
    "call_toolkit_dict": _OF_ACTIONS,
    "call_toolkit_without_api": _OF_ACTIONS,
    "call_unknown_api": _OF_ACTIONS,
    "call_text_for_two": _OF_ACTIONS,
    "call_broken": _OF_ACTIONS,
    "call_base_parser": _OF_ACTIONS,
    "call_base_parser_json_text": _OF_ACTIONS,
    "call_tuple": _OF_ACTIONS,
    "call_tuple_too_long": _OF_ACTIONS,
    "call_tuple_empty": _OF_ACTIONS,
    "call_tuple_malformed": _OF_ACTIONS,
    "call_finish": _OF_ACTIONS,
    "call_no_action": _OF_ACTIONS,
    "call_no_action_empty": _OF_ACTIONS,
    "call_plain_text": _OF_ACTIONS,
    "call_invalid": _OF_ACTIONS,
    "call_wrong_type": _OF_ACTIONS,
    "call_no_tool": _OF_ACTIONS,
    "call_emoji": _OF_ACTIONS,
    "actions_info": _OF_THE_EXECUTOR,
    "names": _OF_THE_EXECUTOR,
    "names_with_finish": _OF_THE_EXECUTOR,
    "valid": _OF_THE_EXECUTOR,
    "members": _OF_THE_EXECUTOR,
    "special_actions": _OF_THE_EXECUTOR,
    "add_and_delete": _OF_THE_EXECUTOR,
    "disabled": _OF_THE_EXECUTOR,
    "one_action": _OF_THE_EXECUTOR,
    "no_action_object": _OF_THE_EXECUTOR,
    "signature_rewoo": _OF_THE_NAMES,
    "signature_chat": _OF_THE_NAMES,
    "signature_protocol": _OF_THE_NAMES,
    "signature_format_planner": _OF_THE_NAMES,
    "signature_parse_worker": _OF_THE_NAMES,
    "signature_format_solver": _OF_THE_NAMES,
    "signature_executor": _OF_THE_NAMES,
    "signature_executor_call": _OF_THE_NAMES,
    "signature_base_action": _OF_THE_NAMES,
    "signature_invalid_action": _OF_THE_NAMES,
    "signature_no_action": _OF_THE_NAMES,
    "signature_finish_action": _OF_THE_NAMES,
    "codes_action": _OF_RESULTS,
    "codes_valid": _OF_RESULTS,
    "codes_agent": _OF_RESULTS,
    "action_return_fields": _OF_RESULTS,
    "agent_return_fields": _OF_RESULTS,
    "format_result": _OF_RESULTS,
    "format_result_of_nothing": _OF_RESULTS,
    "max_turn": "the default of a class; that of a document has a test of its own",
    "chat_of_a_number": "whoever asks a team writes a text",
}
OTHERWISE: Mapping[str, tuple[str, Any]] = {
    "chat_out_of_order": (
        "a document names functions: evidence that is exactly their arguments is taken as such",
        {
            "role": "system",
            "content": (
                '[b: {"text": "b", "times": 3}][a: {"text": "a", "times": 3}]'
                '[c: {"text": "b", "times": 3}]'
            ),
        },
    ),
}
"""What teams give otherwise than ReWOO with actions that take any text, as Lagent's could."""


class ByDocument(cases.Library):
    """Prompts are read out of the JSON of a team, and such a team answers; `made` counts them."""

    def __init__(self) -> None:
        super().__init__("agentkit")
        self.made = 0

    def ReWOOProtocol(self, *prompts: str) -> ReWOOProtocol:
        """What a team plans by, with these prompts or Lagent's English ones."""
        flow: dict[str, Any] = {"prompts": "english"}
        if prompts:
            flow = {"prompts": "own", **dict(zip(_PROMPTS, prompts, strict=True))}
        written = self.write(flow).flow
        assert isinstance(written, Plan)
        limits = planning.merge_limits(written, None)
        setup = Setup(
            planning.choose_prompts(written, ""), limits, [], **planning.to_settings(written)
        )
        return PlanProtocol(setup, "")

    def write(self, flow: Mapping[str, Any], names: tuple[str, ...] = ()) -> TeamDocument:
        """A team that went through its JSON."""
        self.made += 1
        tools = [{"name": name, "marked": "harmless", "approval": "never"} for name in names]
        draft = {
            "name": "Plan",
            "agents": [{"name": "Planner", "tools": tools}, {"name": "Solver"}],
            "flow": {"kind": "plan", "replans": 0, "reads_results": False, **flow},
        }
        return read_document(json.dumps(read_document(draft).to_json()))

    def chat(self, replies: list[str], message: Any = "why?", max_turn: int = 2) -> dict[str, Any]:
        """What such a team makes of the replies."""
        if isinstance(message, int):
            return cases.Library("agentkit").chat(replies, message, max_turn)
        question = _read_question(message)
        tools = self._list_tools()
        own = dict(zip(_PROMPTS, cases.PROMPTS, strict=True))
        flow = {"prompts": "own", "max_turn": max_turn, **own}
        written = self.write(flow, tuple(tool.__name__ for tool in tools))
        model = scripted_model(replies)
        team = team_from_json(json.dumps(written.to_json()))
        played = play(team, model, question, tools=tools)
        assert played.error is None
        return _tell(played, asked(model), replies, question)

    def _list_tools(self) -> list[Callable[..., Any]]:
        """The functions of the actions, as they stand in AGENTKIT_TOOLS."""
        made = [kind() for kind in self.actions().values()]
        return [tool for action in made for tool in _to_functions(action)]


def _to_functions(action: Any) -> list[Callable[..., Any]]:
    if not action.is_toolkit:
        return [_rename(action.run, action.name)]
    names = [api["name"] for api in action.description["api_list"]]
    return [_rename(getattr(action, name), f"{action.name}.{name}") for name in names]


def _rename(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def tool(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    tool.__name__ = name
    return tool


def _read_question(message: Any) -> str:
    last = message[-1] if isinstance(message, list) else message
    return last if isinstance(last, str) else text_of(last["content"])


def _tell(played: Played, requests: list[Any], replies: list[str], question: str) -> dict[str, Any]:
    """As the cases have it: what was asked, said and done."""
    prompt = text_of(requests[-1][-1]["content"])
    log = prompt.removeprefix(f"{question}|").removesuffix(f"|{question}")
    *plans, answer = [{"role": "assistant", "content": reply} for reply in replies]
    done = {step.label: step.evidence for step in played.of(StepDone)}
    gave = [[{"type": "text", "content": done[label]}] for label in sorted(done)]
    return {
        "asked": [[each["role"] for each in request] for request in requests],
        "response": played.final.content,
        "steps": [*plans, {"role": "system", "content": log}, answer],
        "actions": [{"result": result} for result in gave],
    }


def _play(name: str) -> tuple[Any, ByDocument]:
    kit = ByDocument()
    return cases.plain(cases.CASES[name](kit)), kit


@pytest.mark.parametrize("name", sorted(cases.CASES.keys() - NOT_BY_DOCUMENT.keys()))
def test_a_team_of_json_gives_what_was_recorded(name: str) -> None:
    """Or what is better or different on purpose."""
    given, kit = _play(name)
    known = {**cases.BETTER, **OTHERWISE}
    why, expected = known.get(name, ("", RECORDED[name]))
    assert given == cases.plain(expected), why
    assert kit.made


def test_so_often_a_plan_is_asked_for_by_default() -> None:
    flow = ByDocument().write({}).flow
    assert isinstance(flow, Plan)
    assert flow.max_turn == RECORDED["max_turn"]


_PLAYED = [name for name, why in NOT_BY_DOCUMENT.items() if why is not _OF_THE_NAMES]


@pytest.mark.parametrize("name", _PLAYED)
def test_what_is_left_out_has_nothing_of_a_document(name: str) -> None:
    assert _play(name)[1].made == 0


def test_nothing_is_left_out_that_is_not_there() -> None:
    assert NOT_BY_DOCUMENT.keys() <= cases.CASES.keys()
