"""ReWOOAgent: plans in chats, in groups and in nested chats, by both faces; what plans can use;
changed plans; stops.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest

from agentkit import ConversableAgent, GroupChat, GroupChatManager, register_function, runs
from agentkit.agents.rewoo import ActionExecutor, BaseAction, Plan, ReWOOAgent, Step
from agentkit.conversation.compression import Compression, SlidingWindow
from agentkit.core import stopping
from agentkit.errors import ModelUnreachable, Stopped, WrongArgument, WrongType
from agentkit.events import ModelReplied, Noted, PlanMade, StepDone, ToolCalled, ToolReturned
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from tests.conversation import cast
from tests.conversation.cast import hearing, speaker

PLAN = "Plan: find Ann\n#E1 = search[Ann]\nPlan: find Bob\n#E2 = search[Bob]\n"
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def search(query: Annotated[str, "whom to look up"]) -> str:
    """Looks a name up."""
    if query == "nobody":
        raise LookupError("no such person")
    return f"{query} is tall"


def planner(*replies: Any, **settings: Any) -> tuple[ReWOOAgent, ScriptedClient]:
    """An agent with `search` whose model gives these replies."""
    model = scripted_model(list(replies))
    config = {"config_list": [{"model": model}], "cache_seed": None, "max_retries": 0}
    client = model.client
    assert isinstance(client, ScriptedClient)
    return ReWOOAgent("fox", llm_config=config, **{"tools": [search], **settings}), client


def told(client: ScriptedClient, request: int) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in client.requests[request]["messages"]]


def ask(is_async: bool, agent: ConversableAgent, question: str = "Who is tall?") -> Any:
    return cast.call(
        is_async, agent, "generate_reply", messages=[{"role": "user", "content": question}]
    )


# Chats


@BOTH
def test_in_a_chat(is_async: bool) -> None:
    agent, client = planner(PLAN, "Both are tall.")
    with hearing() as events:
        chat = cast.chat(is_async, cast.agent("ann"), agent, "Who is tall?", max_turns=1)
    assert chat.summary == "Both are tall."
    assert [event.label for event in events if isinstance(event, StepDone)] in (
        ["#E1", "#E2"],
        ["#E2", "#E1"],
    )
    assert [event.agent for event in events if isinstance(event, ModelReplied)] == [
        "fox (planner)",
        "fox (solver)",
    ]
    assert "Bob is tall" in told(client, 1)[-1][1]
    assert agent.last_return is not None
    assert [action.format_result() for action in agent.last_return.actions] == [
        "Ann is tall",
        "Bob is tall",
    ]
    assert chat.cost["usage_excluding_cached_inference"]["scripted"]["prompt_tokens"] > 0


@BOTH
def test_earlier_turns_and_the_role_are_told(is_async: bool) -> None:
    agent, client = planner(PLAN, "Both.", PLAN, "Ann.", system_message="You are brief.")
    ann = cast.agent("ann")
    cast.chat(is_async, ann, agent, "Who is tall?", max_turns=1)
    cast.chat(is_async, ann, agent, "And who else?", max_turns=1, clear_history=False)
    before = [("user", "ann: Who is tall?"), ("assistant", "Both.")]
    assert told(client, 2)[0][1].endswith("\n\nYou are brief.")
    assert told(client, 2)[1:] == [*before, ("user", "And who else?")]
    assert told(client, 3)[:-1] == [("system", "You are brief."), *before]
    assert "And who else?" in told(client, 3)[-1][1]


@pytest.mark.parametrize(
    ("role", "last"),
    [
        (None, "plan and nothing else."),
        ("", "plan and nothing else."),
        ([{"type": "text", "text": "Be brief."}], "Be brief."),
    ],
)
def test_any_system_message(role: Any, last: str) -> None:
    agent, client = planner(PLAN, "Both.", system_message=role)
    ask(False, agent)
    assert told(client, 0)[0][1].endswith(last)
    assert [text for _, text in told(client, 0)[1:]] == ["Who is tall?"]


def test_a_compressed_history_is_what_is_planned_from() -> None:
    agent, client = planner(PLAN, "Both.")
    Compression(SlidingWindow(), trigger=200, keep_last=1, limit=400).add_to_agent(agent)
    agent.generate_reply(
        messages=[
            {"role": "user", "content": f"Number {number}. " + "A word. " * 20}
            for number in range(9)
        ]
    )
    told_of = " ".join(text for _, text in told(client, 0)[1:])
    assert "Number 8." in told_of
    assert "Number 4." not in told_of


def test_long_histories_are_cut_and_the_question_never() -> None:
    agent, client = planner(PLAN, "Both.")
    history = [{"role": "user", "content": f"{number} " + "x" * 3_000} for number in range(10)]
    history += [
        {"role": "user", "content": "begin" + "y" * 9_000 + "end"},
        {"role": "user", "content": "z" * 20_000},
    ]
    agent.generate_reply(messages=history)
    asked = told(client, 0)[1:]
    assert asked[-1] == ("user", "z" * 20_000)
    assert asked[-2][1].startswith("begin")
    assert asked[-2][1].endswith("end")
    assert [text[:2] for _, text in asked[:-2]] == ["8 ", "9 "]


@BOTH
def test_in_a_group_chat(is_async: bool) -> None:
    agent, client = planner(PLAN, "Both are tall.")
    host = speaker("host", "Who is tall?", "TERMINATE")
    group = GroupChat([host, agent], [], speaker_selection_method="round_robin", max_round=4)
    chat = cast.chat(
        is_async, speaker("ann"), GroupChatManager(group, llm_config=False), "Let us talk."
    )
    assert [message["content"] for message in group.messages][:3] == [
        "Let us talk.",
        "Who is tall?",
        "Both are tall.",
    ]
    assert chat.stop_reason
    assert ("user", "ann: Let us talk.") in told(client, 0)
    assert agent.description.startswith("Plans the steps")


@BOTH
def test_in_a_nested_chat(is_async: bool) -> None:
    agent, _ = planner(PLAN, "Both are tall.")
    outer = cast.agent("outer")
    outer.register_nested_chats([{"recipient": agent, "max_turns": 1}], lambda sender: True)
    assert (
        cast.chat(is_async, cast.agent("ann"), outer, "Who?", max_turns=1).summary
        == "Both are tall."
    )


def test_a_person_is_asked_and_a_chat_ends_as_with_others() -> None:
    agent, client = planner()
    assert agent.generate_reply(messages=[{"role": "user", "content": "TERMINATE"}]) is None
    silent = ReWOOAgent("mute", tools=[search])
    assert silent.generate_reply(messages=[{"role": "user", "content": "Who?"}]) == ""
    assert client.requests == []


# What plans can use


async def weigh(name: Annotated[str, "whom"], unit: Annotated[str, "kg or lb"] = "kg") -> str:
    await asyncio.sleep(0)
    return f"{name}: 70 {unit}"


@BOTH
def test_registered_functions(is_async: bool) -> None:
    plan = 'Plan: weigh\n#E1 = weigh[{"name": "Ann", "unit": "lb"}]\nPlan: weigh\n#E2 = weigh[Bob]'
    agent, client = planner(plan, "Ann.", tools=[])
    register_function(weigh, caller=agent, executor=agent, description="Weighs somebody.")
    ask(is_async, agent)
    assert agent.last_return is not None
    assert [action.format_result() for action in agent.last_return.actions] == [
        "Ann: 70 lb",
        "Bob: 70 kg",
    ]
    system = told(client, 0)[0][1]
    assert "Weighs somebody." in system
    assert "kg or lb" in system
    assert "tools" not in client.requests[0]


def test_a_function_that_another_executes_is_noted() -> None:
    agent, client = planner(PLAN, "Both.")
    agent.register_for_llm(description="Weighs.")(weigh)
    with hearing() as events:
        ask(False, agent)
    assert [event.text for event in events if isinstance(event, Noted)] == [
        "Plans cannot use weigh: register it for execution by fox, too."
    ]
    assert "weigh" not in told(client, 0)[0][1]


def test_without_tools_the_model_replies() -> None:
    agent, client = planner("Hello.", tools=[])
    assert ask(False, agent, "Hi") == "Hello."
    assert len(client.requests) == 1


class Sky(BaseAction):
    """Knows the sky."""

    def run(self, place: str) -> str:
        """Tells how the sky is.

        Args:
            place (str): where.
        """
        return f"grey over {place}"


def test_an_executor_counts_as_it_is_at_each_reply() -> None:
    plan = "Plan: look\n#E1 = Sky[Ulm]"
    agent, _ = planner(plan, "Grey.", tools=(executor := ActionExecutor([search])))
    executor.add_action(Sky())
    assert ask(False, agent) == "Grey."
    assert agent.last_return is not None
    assert agent.last_return.actions[0].format_result() == "grey over Ulm"


@BOTH
def test_agents_as_workers(is_async: bool) -> None:
    plan = (
        "Plan: ask\n#E1 = Mr_Lee[How tall is Ann?]\nPlan: ask again\n#E2 = Mr_Lee[And is #E1 much?]"
    )
    lee, client = cast.modelled(
        "Mr Lee",
        "2 m",
        "Yes. TERMINATE",
        system_message="You measure.",
        description="Measures people.",
    )
    agent, planning = planner(plan, "Ann is tall.", workers=[lee])
    with hearing() as events:
        assert ask(is_async, agent) == "Ann is tall."
    assert agent.last_return is not None
    assert [action.format_result() for action in agent.last_return.actions] == ["2 m", "Yes."]
    assert "Measures people." in told(planning, 0)[0][1]
    assert told(client, 1) == [("system", "You measure."), ("user", "And is 2 m much?")]
    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["Mr_Lee", "Mr_Lee"]


@BOTH
def test_a_worker_uses_its_own_functions(is_async: bool) -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "weigh", "arguments": '{"name": "Ann"}'},
    }
    lee, _ = cast.modelled("lee", {"content": None, "tool_calls": [call]}, "Ann weighs 70 kg.")
    register_function(weigh, caller=lee, executor=lee, description="Weighs.")
    agent, planning = planner("Plan: ask\n#E1 = lee[Ann?]", "70 kg.", workers=[lee])
    ask(is_async, agent)
    assert "Ann weighs 70 kg." in told(planning, 1)[-1][1]


@BOTH
def test_a_group_as_a_worker(is_async: bool) -> None:
    members: list[Any] = [speaker("one", "I say 1."), speaker("two", "I say 2. TERMINATE")]
    group = GroupChat(members, [], speaker_selection_method="round_robin")
    manager = GroupChatManager(
        group, name="panel", is_termination_msg=lambda message: "TERMINATE" in message["content"]
    )
    agent, planning = planner("Plan: ask\n#E1 = panel[Which number?]", "2.", workers=[manager])
    ask(is_async, agent)
    assert "I say 2." in told(planning, 1)[-1][1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [(None, "lee gave no answer: lee gave no reply"), (RuntimeError("broken"), "broken")],
)
def test_a_worker_that_fails_is_evidence(line: Any, problem: str) -> None:
    agent, planning = planner(
        "Plan: ask\n#E1 = lee[Ann?]", "Unknown.", workers=[speaker("lee", line)]
    )
    assert ask(False, agent) == "Unknown."
    assert f"[failed: {problem}]" in told(planning, 1)[-1][1]


def test_a_worker_answers_one_question_at_a_time() -> None:
    inside, most = [0], [0]

    def count(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, str]:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        stopping.current().wait(0.01)
        inside[0] -= 1
        return True, f"about {messages[-1]['content']}"

    lee = cast.agent("lee")
    lee.register_reply(lambda sender: True, count)
    plan = "".join(f"Plan: ask\n#E{number} = lee[{number}]\n" for number in range(1, 6))
    agent, _ = planner(plan, "Done.", workers=[lee])
    ask(False, agent)
    assert agent.last_return is not None
    assert [action.format_result() for action in agent.last_return.actions] == [
        f"about {number}" for number in range(1, 6)
    ]
    assert most == [1]


@BOTH
def test_code_is_run_by_steps(is_async: bool) -> None:
    from agentkit.coding import CodeResult

    executor = cast.Executor(CodeResult(0, "42\n"), CodeResult(1, "no file"))
    plan = "Plan: compute\n#E1 = run_code[x = [1, 2]\nprint(sum(x) * 14)]\nPlan: list\n" + (
        '#E2 = run_code[{"code": "ls #E1", "language": "sh"}]'
    )
    agent, client = planner(plan, "42.", code_execution_config={"executor": executor})
    assert ask(is_async, agent, "What is this?\n```python\nprint(1)\n```") == "42."
    assert [(block.language, block.code) for block in executor.ran] == [
        ("python", "x = [1, 2]\nprint(sum(x) * 14)"),
        ("sh", "ls 42"),
    ]
    assert "Result: 42" in told(client, 1)[-1][1]
    assert "[failed: exit code 1: no file]" in told(client, 1)[-1][1]


def test_code_by_the_older_settings() -> None:
    class Boxed(ReWOOAgent):
        def run_code(self, code: str, **settings: Any) -> tuple[int, str, str | None]:
            return 0, f"ran {code}", None

    model = scripted_model(["Plan: p\n#E1 = run_code[print(1)]", "1."])
    config = {"config_list": [{"model": model}], "cache_seed": None}
    agent = Boxed("fox", llm_config=config, code_execution_config={"use_docker": False})
    ask(False, agent)
    assert agent.last_return is not None
    assert agent.last_return.actions[0].format_result() == "ran print(1)"


# What goes wrong, and what is changed


@BOTH
def test_a_tool_that_fails_does_not_end_the_chat(is_async: bool) -> None:
    agent, client = planner(
        "Plan: p\n#E1 = search[nobody]", "Plan: q\n#E2 = search[Bob]", "Bob.", replans=1
    )
    with hearing() as events:
        assert ask(is_async, agent) == "Bob."
    assert "[failed: no such person]" in told(client, 1)[-1][1]
    assert [event.ok for event in events if isinstance(event, ToolReturned)] == [False, True]


def test_no_plan_is_a_reply_without_evidence() -> None:
    agent, client = planner("Hm.", "Hm.", "I cannot know.")
    assert ask(False, agent) == "I cannot know."
    assert agent.last_return is not None
    assert "No plan could be made in 2 tries" in str(agent.last_return.errmsg)
    assert "there is no plan in it" in told(client, 1)[-1][1]


@pytest.mark.parametrize("at", [0, 1])
def test_a_model_that_fails_ends_the_chat_with_its_own_error(at: int) -> None:
    replies: list[Any] = [PLAN, "Both."]
    replies[at] = ModelUnreachable("no server answers")
    with pytest.raises(ModelUnreachable, match="no server answers"):
        ask(False, planner(*replies)[0])


@BOTH
def test_a_plan_is_looked_at_and_changed(is_async: bool) -> None:
    seen: list[Plan] = []

    def other(plan: Plan) -> Plan:
        seen.append(plan)
        return Plan((plan.steps[0], Step("#E7", "find Cid", "search", "Cid and #E1")))

    async def a_other(plan: Plan) -> Plan:
        await asyncio.sleep(0)
        return other(plan)

    agent, client = planner(PLAN, "Cid.", on_plan=a_other if is_async else other)
    with hearing() as events:
        ask(is_async, agent)
    assert seen[0].labels == ("#E1", "#E2")
    assert "Cid and Ann is tall is tall" in told(client, 1)[-1][1]
    made = [event for event in events if isinstance(event, PlanMade)]
    assert [[step["label"] for step in event.steps] for event in made] == [
        ["#E1", "#E2"],
        ["#E1", "#E7"],
    ]
    done = [event for event in events if isinstance(event, StepDone)]
    assert [event.label for event in done] == ["#E1", "#E7"]
    assert {event.plan_id for event in done} == {made[0].plan_id} == {made[1].plan_id}


def test_a_plan_that_is_only_looked_at() -> None:
    seen: list[Plan] = []
    agent, _ = planner(PLAN, "Both.", on_plan=seen.append)
    with hearing() as events:
        ask(False, agent)
    assert len(seen) == len([event for event in events if isinstance(event, PlanMade)]) == 1


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            Plan((Step("#E1", "", "dig", "x"),)),
            "on_plan gave cannot run: #E1 uses the unknown tool 'dig'",
        ),
        (Plan(), "there are no steps"),
        ("search", "on_plan must give a Plan or None, not 'search'"),
    ],
)
def test_a_changed_plan_that_cannot_run_is_an_error(given: Any, problem: str) -> None:
    with pytest.raises((WrongArgument, WrongType), match=problem):
        ask(False, planner(PLAN, on_plan=lambda plan: given)[0])


def test_what_cannot_be_is_refused_at_once() -> None:
    with pytest.raises(WrongArgument, match="search is there twice"):
        planner(workers=[cast.agent("search")])
    with pytest.raises(WrongType, match="a worker must be a ConversableAgent, not 'lee'"):
        planner(workers=["lee"])
    with pytest.raises(WrongArgument, match="max_turn=0"):
        planner(max_turn=0)


@BOTH
def test_a_stop_reaches_tools_and_workers(is_async: bool) -> None:
    begun, ended = threading.Barrier(3), threading.Semaphore(0)

    def wait(x: str = "") -> str:
        """Waits."""
        begun.wait(60)
        if stopping.current().wait(120):
            ended.release()
        return "late"

    lee = cast.agent("lee")
    lee.register_reply(lambda sender: True, lambda *_, **__: (True, wait()))
    agent, _ = planner(
        "Plan: p\n#E1 = wait[x]\nPlan: q\n#E2 = lee[x]\nPlan: r\n#E3 = lee[y]",
        tools=[wait],
        workers=[lee],
    )
    run = runs.start(lambda: ask(is_async, agent), kind="test")
    begun.wait(60)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert all(ended.acquire(timeout=60) for _ in range(2))
