"""Teams of others: workflows of AutoGen Studio and scripts, read and never run."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import ConfigError
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.built.importing import Imported, import_team, list_teams
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.team import build_team
from tests.teams.built import drafts
from tests.teams.stage import play

MODEL = {"config_list": [{"model": "gpt-4", "api_key": "sk-secret"}], "temperature": 0.1}
USER: dict[str, Any] = {
    "type": "userproxy",
    "config": {
        "name": "userproxy",
        "human_input_mode": "NEVER",
        "max_consecutive_auto_reply": 5,
        "default_auto_reply": "TERMINATE",
        "llm_config": False,
        "code_execution_config": {"work_dir": None, "use_docker": False},
    },
}


DEEP = {"type": "groupchat", "config": {"agents": [{"config": 3}]}}


def assistant(name: str, **settings: Any) -> dict[str, Any]:
    config = {"name": name, "llm_config": MODEL, "system_message": f"You are {name}."}
    return {"type": "assistant", "config": config, **settings}


def flow_of(imported: Imported) -> Any:
    return imported.document.flow


def told(imported: Imported) -> str:
    return "\n".join(f"{one.place}: {one.text}" for one in imported.remarks)


def studio(**workflow: Any) -> Imported:
    return import_team(json.dumps({"name": "Trip", "description": "Plans.", **workflow}))


def test_two_agents_of_studio() -> None:
    skill = {"title": "find_papers", "content": "import os\nos.remove('x')"}
    found = studio(sender=USER, receiver=assistant("planner", skills=[skill]), type="twoagents")
    assert find_problems(found.document) == []
    assert (found.document.name, flow_of(found).kind) == ("Trip", "two_agents")
    user, planner = found.document.agents
    assert (user.role, user.max_consecutive_auto_reply, user.llm) == ("runner", 5, None)
    assert planner.llm is not None
    assert (planner.llm.temperature, planner.llm.model) == (0.1, "")
    assert planner.system_message == "You are planner."
    assert "find_papers" in told(found)
    assert "gpt-4" in told(found)
    assert "sk-secret" not in json.dumps(found.document.to_json()) + told(found)


def test_a_group_of_studio_works() -> None:
    group = {"admin_name": "Admin", "max_round": 500, "speaker_selection_method": "round_robin"}
    agents = [assistant("ann"), assistant("bob")]
    receiver = {"type": "groupchat", "config": {"name": "m", **group}, "agents": agents}
    linked = [
        {"agent": receiver, "link": {"agent_type": "receiver"}},
        {
            "agent": {**USER, "config": {**USER["config"], "code_execution_config": "none"}},
            "link": {"agent_type": "sender"},
        },
    ]
    found = studio(agents=linked)
    assert find_problems(found.document) == []
    flow = flow_of(found)
    assert (flow.kind, flow.agents, flow.writer, flow.max_round) == (
        "group",
        ["ann", "bob"],
        "bob",
        200,
    )
    assert "max_round is 200 at most" in told(found)
    model = scripted_model(["One.", "Two. TERMINATE"])
    assert play(build_team(found.document, "my-team:1"), model).final.content == "Two."


def test_a_sequence_of_studio_is_a_queue() -> None:
    linked = [
        {"agent": assistant("two"), "link": {"agent_type": "sequential", "sequence_id": 2}},
        {
            "agent": assistant("one", task_instruction="Find."),
            "link": {"agent_type": "sequential", "sequence_id": 1},
        },
    ]
    found = studio(agents=linked, type="sequential")
    assert [chat.recipient for chat in flow_of(found).chats] == ["one", "two"]
    assert flow_of(found).chats[0].message == "Find.\n{question}"
    assert find_problems(found.document) == []


def test_of_defaults_the_first_workflow_is_taken() -> None:
    flows = [{"name": name, "sender": USER, "receiver": assistant("a")} for name in ("A", "B")]
    found = import_team(json.dumps({"models": [], "agents": [], "workflows": flows}))
    assert found.document.name == "A"
    assert "B: this workflow is a team of its own; import it, too" in told(found)
    whole = json.dumps({"models": [], "workflows": flows})
    assert list_teams(whole) == ["A", "B"]
    assert import_team(whole, 1).document.name == "B"
    assert list_teams(json.dumps(flows[0])) == list_teams("a = AssistantAgent('a')") == []


SCRIPT = """
import os
from autogen import AssistantAgent, UserProxyAgent, GroupChat, GroupChatManager
config = {"config_list": [{"model": "gpt-4", "api_key": os.environ["KEY"]}], "temperature": 0}
prompt = "You write."
writer = AssistantAgent("writer", system_message=prompt, llm_config=config)
critic = AssistantAgent(name="critic", llm_config={"temperature": 0.5}, description=make())
user = UserProxyAgent(name="user", human_input_mode="NEVER", code_execution_config=False,
    is_termination_msg=lambda m: "TERMINATE" in m["content"], default_auto_reply="Go on.")

def tool(x): os.remove(x)
"""
GROUPED = """
chat = GroupChat(agents=[user, writer, critic], messages=[], max_round=6)
manager = GroupChatManager(groupchat=chat, llm_config=config)
user.initiate_chat(manager, message="Hello")
"""


def test_a_script_with_two_agents() -> None:
    found = import_team(SCRIPT + "user.initiate_chat(writer, message='Hi', max_turns=3)")
    flow = flow_of(found)
    assert (flow.kind, flow.starts, flow.answers, flow.max_turns) == (
        "two_agents",
        "user",
        "writer",
        3,
    )
    assert found.document.agent("writer").system_message == "You write."
    assert found.document.agent("user").role == "person"
    critic = found.document.agent("critic").llm
    assert critic is not None
    assert critic.temperature == 0.5
    assert find_problems(found.document) == []
    assert "critic: description is computed" in told(found)
    assert "functions that no agent may call were not taken (tool)" in told(found)
    assert "is_termination_msg" not in told(found)


def test_a_script_with_a_group() -> None:
    flow = flow_of(import_team(SCRIPT + GROUPED))
    assert (flow.kind, flow.agents, flow.max_round, flow.writer) == (
        "group",
        ["user", "writer", "critic"],
        6,
        "critic",
    )


def test_a_script_that_begins_nothing() -> None:
    found = import_team("from agentkit import AssistantAgent\na = AssistantAgent('solo')")
    assert flow_of(found).agent == "solo"
    assert "no chat is begun" in told(found)


def test_what_else_a_script_does_with_its_agents_is_told() -> None:
    circle = """
writer.register_nested_chats([{"recipient": critic, "message": "Well?"}], trigger=user)
critic.register_nested_chats([{"recipient": writer, "message": "Well?"}], trigger=writer)
user.initiate_chat(writer, message="Hi")
user.initiate_chat(critic, message="Hi")
initiate_chats([{"sender": user, "recipient": writer, "message": "Hi"}])
"""
    found = import_team(SCRIPT + circle)
    for place, what in (
        ("writer", "register_nested_chats"),
        ("critic", "register_nested_chats"),
        ("user", "a further chat"),
        ("script", "initiate_chats"),
    ):
        assert f"{place}: {what} was not taken" in told(found)
    assert find_problems(found.document) == []


def test_a_document_of_ours_is_itself() -> None:
    found = import_team(json.dumps(drafts.group()))
    assert (found.document.name, found.remarks) == ("Three", ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x" * 2_000_001, "characters"),
        ("#" * 200_001, "characters"),
        ("a = (", "cannot be read as Python"),
        ("\0", "cannot be read as Python"),
        ("(" * 5_000, "cannot be read as Python"),
        ("print(1)", "makes no agents"),
        ('{"a": ', "not JSON"),
        ('{"a":' * 100_000, "not JSON"),
        ('{"name": "x"}', "no workflow"),
        ('{"workflows": [3], "sender": 3}', "cannot be read"),
        ('{"sender": {"type": []}, "receiver": {"config": {"name": "a\\nb"}}}', "cannot be read"),
        (json.dumps({"sender": USER, "receiver": DEEP}), "cannot be read"),
        ("\n".join(f"a{n} = AssistantAgent('a{n}')" for n in range(51)), "more than 50 agents"),
    ],
    ids=lambda text: text[:12],
)
def test_what_cannot_be_taken_is_told(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        import_team(text)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "type",
                    "config",
                    "agents",
                    "agent",
                    "link",
                    "sender",
                    "receiver",
                    "workflows",
                    "llm_config",
                    "skills",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["sender", "receiver", "agents", "workflows"]), ANYTHING))
def test_any_json_is_a_team_or_told(data: dict[str, Any]) -> None:
    with contextlib.suppress(ConfigError):
        assert import_team(json.dumps(data)).document.agents
