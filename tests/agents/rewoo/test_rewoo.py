"""ReWOO as a whole: every kind of model, wrong plans, failures, planning again, changed plans,
stops, events.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from agentkit import OpenAIWrapper, runs
from agentkit.agents.rewoo import (
    ActionExecutor,
    ActionStatusCode,
    AgentReturn,
    AgentStatusCode,
    Plan,
    ReWOO,
    still_known,
)
from agentkit.core import bus, stopping
from agentkit.core.tools import effects
from agentkit.errors import (
    BadModelReply,
    ModelUnreachable,
    ResponseParsingError,
    Stopped,
    WrongArgument,
    WrongType,
)
from agentkit.events import Event, ModelReplied, PlanMade, StepDone, ToolCalled, ToolReturned
from agentkit.llm.calls.scripted import scripted_model

PLAN = (
    "Plan: find Ann\n#E1 = search[Ann]\nPlan: find Bob\n#E2 = search[Bob]\nPlan: compare\n#E3 ="
    " compare[#E1 | #E2]\n"
)


@effects("none")
def search(query: str) -> str:
    """Looks a name up."""
    if query == "nobody":
        raise LookupError("no such person")
    return f"{query} is tall"


@effects("none")
def compare(text: str) -> str:
    """Compares."""
    return f"compared {text}"


class Replies:
    """A model as a function: gives the replies in turn and keeps what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies, self.asked = list(replies), list[list[dict[str, Any]]]()

    def __call__(self, messages: list[dict[str, Any]], **options: Any) -> str:
        self.asked.append(messages)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def rewoo(llm: Any, **options: Any) -> ReWOO:
    return ReWOO(llm, ActionExecutor([search, compare]), **options)


def heard(work: Any) -> list[Event]:
    events: list[Event] = []
    with bus.listening(events.append):
        work()
    return events


def test_plan_evidence_answer() -> None:
    llm = Replies(PLAN, "Both are tall.")
    given = rewoo(llm).chat("Who is taller?")
    assert (given.response, given.state, given.errmsg) == (
        "Both are tall.",
        AgentStatusCode.END,
        None,
    )
    assert [(a.type, a.thought, a.format_result()) for a in given.actions] == [
        ("search", "find Ann", "Ann is tall"),
        ("search", "find Bob", "Bob is tall"),
        ("compare", "compare", "compared Ann is tall | Bob is tall"),
    ]
    assert [step["role"] for step in given.inner_steps] == ["assistant", "system", "assistant"]
    assert given.adjacency_list == {"#E1": [], "#E2": [], "#E3": ["#E1", "#E2"]}
    [[solver]] = [llm.asked[1]]
    assert solver["role"] == "user"
    assert "Who is taller?" in solver["content"]
    assert "compared Ann is tall | Bob is tall" in solver["content"]


class Chatting:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)

    def chat(self, messages: Any, **options: Any) -> str:
        return self.replies.pop(0)


class Generating:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)

    def generate(self, text: str, **options: Any) -> str:
        assert isinstance(text, str)
        return self.replies.pop(0)


def in_async(*replies: str) -> Any:
    left = list(replies)

    async def answer(messages: Any, **options: Any) -> dict[str, str]:
        await asyncio.sleep(0)
        return {"role": "assistant", "content": left.pop(0)}

    return answer


def wrapper(*replies: str) -> OpenAIWrapper:
    return OpenAIWrapper(config_list=[{"model": scripted_model(list(replies))}], cache_seed=None)


def model(*replies: str) -> Any:
    return scripted_model(list(replies))


@pytest.mark.parametrize(
    "make",
    [Replies, Chatting, Generating, in_async, wrapper, model],
    ids=lambda make: make.__name__,
)
def test_every_kind_of_model(make: Any) -> None:
    assert rewoo(make(PLAN, "Both.")).chat("Who?").response == "Both."


def test_parameters_reach_the_model() -> None:
    seen: list[Any] = []

    def answer(params: Mapping[str, Any]) -> str:
        seen.append(params.get("temperature"))
        return PLAN if len(seen) == 1 else "Both."

    rewoo(scripted_model(answer)).chat("Who?", temperature=0.5)
    assert seen == [0.5, 0.5]


def test_model_calls_are_told_with_who_asks() -> None:
    events = heard(lambda: rewoo(model(PLAN, "Both."), name="Fox").chat("Who?"))
    assert [event.agent for event in events if isinstance(event, ModelReplied)] == [
        "Fox (planner)",
        "Fox (solver)",
    ]
    named = rewoo(model(PLAN, "Both."), name="Fox", names={"solver": "Owl"})
    events = heard(lambda: named.chat("Who?"))
    assert [event.agent for event in events if isinstance(event, ModelReplied)] == [
        "Fox (planner)",
        "Owl",
    ]


@pytest.mark.parametrize(
    "message",
    [
        "Who?",
        {"role": "user", "content": "Who?"},
        [{"role": "user", "content": "Who?"}],
        {"role": "user", "content": [{"type": "text", "text": "Who?"}]},
    ],
)
def test_kinds_of_messages(message: Any) -> None:
    llm = Replies(PLAN, "Both.")
    rewoo(llm).chat(message)
    assert "Question: Who?" in llm.asked[1][-1]["content"]


def test_the_conversation_before_the_question_is_told() -> None:
    llm = Replies(PLAN, "Both.")
    before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    rewoo(llm).chat([*before, {"role": "user", "content": "Who?"}])
    assert llm.asked[0][1:3] == llm.asked[1][:2] == before


@pytest.mark.parametrize("message", [3, None, [], ["x"]])
def test_other_messages_are_refused(message: Any) -> None:
    with pytest.raises(WrongType):
        rewoo(Replies()).chat(message)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(WrongArgument):
        rewoo(Replies(), max_turn=0)
    with pytest.raises(WrongType, match="not a language model"):
        rewoo("gpt")


def test_a_wrong_plan_goes_back_with_what_is_wrong() -> None:
    llm = Replies("Plan: a\n#E1 = find[x]", PLAN, "Both.")
    events = heard(lambda: rewoo(llm).chat("Who?"))
    assert "unknown tool 'find'; the tools are search, compare" in llm.asked[1][-1]["content"]
    made = [event for event in events if isinstance(event, PlanMade)]
    assert [(event.attempt, bool(event.error), len(event.steps)) for event in made] == [
        (1, True, 0),
        (2, False, 3),
    ]
    assert len({event.plan_id for event in made}) == 1


def test_no_plan_after_all_tries_is_a_clear_result() -> None:
    llm = Replies("no", "no", "no", "I cannot know.")
    given = rewoo(llm, max_turn=3).chat("Who?")
    assert given.response == "I cannot know."
    assert given.actions == []
    assert given.nodes is None
    assert "No plan could be made in 3 tries" in str(given.errmsg)
    assert "there is no plan" in str(given.errmsg)


@pytest.mark.parametrize("at", [0, 1])
def test_a_model_that_fails_is_a_result(at: int) -> None:
    replies: list[str | Exception] = [PLAN, "Both."]
    replies[at] = ModelUnreachable("no server answers")
    given = rewoo(Replies(*replies)).chat("Who?")
    assert (given.state, given.response) == (AgentStatusCode.SERVER_ERR, "")
    assert given.errmsg == "ModelUnreachable: no server answers"
    assert len(given.actions) == (0, 3)[at]


def test_a_model_that_gives_no_text_is_a_result() -> None:
    given = rewoo(lambda messages: 3).chat("Who?")
    assert given.state == AgentStatusCode.SERVER_ERR
    assert BadModelReply.__name__ in str(given.errmsg)


FAILING = (
    "Plan: find Ann\n#E1 = search[Ann]\nPlan: find N\n#E2 = search[nobody]\nPlan: compare\n#E3 ="
    " compare[#E1 | #E2]\n"
)


def test_a_failure_is_seen_by_dependents_and_solver() -> None:
    llm = Replies(FAILING, "Unknown.")
    given = rewoo(llm).chat("Who?")
    assert [a.state for a in given.actions] == [
        ActionStatusCode.SUCCESS,
        ActionStatusCode.API_ERROR,
        ActionStatusCode.SUCCESS,
    ]
    assert given.actions[2].format_result() == "compared Ann is tall | [failed: no such person]"
    assert "Result: [failed: no such person]" in llm.asked[1][0]["content"]


def test_planning_again_with_what_is_known() -> None:
    again = "Plan: find Bob instead\n#E4 = search[Bob]\nPlan: compare\n#E5 = compare[#E1 | #E4]"
    llm = Replies(FAILING, again, "Both.")
    events = heard(lambda: given.append(rewoo(llm, replans=1).chat("Who?")))
    assert "Ann is tall" in llm.asked[1][-1]["content"]
    assert "[failed: no such person]" in llm.asked[1][-1]["content"]
    assert list(given[0].nodes or {}) == ["#E1", "#E3", "#E4", "#E5"]
    assert (given[0].nodes or {})["#E5"].text == "compared Ann is tall | Bob is tall"
    ran = [event.name for event in events if isinstance(event, ToolCalled)]
    assert ran == ["search", "search", "compare", "search", "compare"]


given: list[AgentReturn] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    given.clear()


def test_planning_again_is_bounded_and_may_fail() -> None:
    llm = Replies(FAILING, FAILING, FAILING, "Unknown.")
    assert rewoo(llm, replans=2).chat("Who?").response == "Unknown."
    llm = Replies(FAILING, "no", "no", "Unknown.")
    kept = rewoo(llm, replans=1).chat("Who?")
    assert (kept.response, len(kept.actions)) == ("Unknown.", 3)


def test_a_repeated_step_is_not_run_again_when_planning_again() -> None:
    llm = Replies(FAILING, FAILING.replace("nobody", "Bob"), "Both.")
    events = heard(lambda: rewoo(llm, replans=1).chat("Who?"))
    told = [(event.label, event.cached) for event in events if isinstance(event, StepDone)]
    assert ("#E1", True) in told


def test_a_plan_is_made_changed_and_run() -> None:
    llm = Replies(FAILING, "Both.")
    agent = rewoo(llm)
    data = agent.plan("Who?").to_json()
    data["steps"][1]["arguments"] = "Bob"
    done = agent.run(Plan.from_json(data), "Who?")
    assert (done.response, done.actions[2].format_result()) == (
        "Both.",
        "compared Ann is tall | Bob is tall",
    )


def test_a_run_begins_again_from_a_step() -> None:
    llm = Replies(FAILING, "Unknown.", "Both.")
    agent = rewoo(llm)
    plan = agent.plan("Who?")
    first = agent.run(plan, "Who?")
    data = plan.to_json()
    data["steps"][1]["arguments"] = "Bob"
    changed = Plan.from_json(data)
    known = still_known(changed, first.nodes or {}, ["#E2"])
    events = heard(lambda: given.append(agent.run(changed, "Who?", known=known)))
    assert [event.label for event in events if isinstance(event, StepDone)] == ["#E2", "#E3"]
    assert given[0].actions[2].format_result() == "compared Ann is tall | Bob is tall"


def test_a_plan_that_cannot_be_made_or_run_is_an_error_when_apart() -> None:
    with pytest.raises(ResponseParsingError, match="there is no plan"):
        rewoo(Replies("no", "no")).plan("Who?")
    with pytest.raises(WrongArgument, match="unknown tool"):
        rewoo(Replies()).run(Plan.from_json({"steps": [{"label": "#E1", "tool": "x"}]}), "Who?")


def test_tools_tell_themselves() -> None:
    events = heard(lambda: rewoo(Replies(FAILING, "Unknown."), name="Fox").chat("Who?"))
    calls = {event.call_id: event.arguments for event in events if isinstance(event, ToolCalled)}
    returned = {
        calls[event.call_id]: (event.ok, event.content)
        for event in events
        if isinstance(event, ToolReturned)
    }
    assert returned["nobody"] == (False, "Error: no such person")
    assert returned["Ann"] == (True, "Ann is tall")


def test_a_stop_ends_the_chat_and_what_runs() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def wait(x: str) -> str:
        """Waits."""
        begun.set()
        if stopping.current().wait(120):
            stopped.set()
        return "late"

    agent = ReWOO(Replies("Plan: p\n#E1 = wait[x]", "never"), ActionExecutor([wait]))
    run = runs.start(lambda: agent.chat("Who?"), kind="test")
    assert begun.wait(60)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert stopped.is_set()
    ended = [r.event for r in run.events() if isinstance(r.event, ToolReturned)]
    assert [(event.ok, event.content) for event in ended] == [(False, "Error: stopped")]


def test_a_late_tool_is_told_once() -> None:
    release = threading.Event()

    def slow(x: str) -> str:
        """Slow."""
        release.wait(120)
        return "late"

    agent = ReWOO(
        Replies("Plan: p\n#E1 = slow[x]", "Unknown."), ActionExecutor([slow]), timeout_s=0.05
    )
    events = heard(lambda: given.append(agent.chat("Who?")))
    release.set()
    assert given[0].actions[0].errmsg == "no result within 0.05 s"
    assert [event.ok for event in events if isinstance(event, ToolReturned)] == [False]


def test_in_async_code() -> None:
    assert asyncio.run(rewoo(Replies(PLAN, "Both.")).a_chat("Who?")).response == "Both."


def test_actions_come_and_go() -> None:
    agent = rewoo(Replies(PLAN, PLAN, "x"))
    agent.del_action("compare")
    assert "unknown tool 'compare'" in str(agent.chat("Who?").errmsg)
    agent.add_action(compare)
    agent._llm = Replies(PLAN, "Both.")
    assert agent.chat("Who?").errmsg is None
