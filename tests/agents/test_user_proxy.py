"""UserProxyAgent: asks a person, runs code isolated, and says what it is."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import ConversableAgent, UserProxyAgent
from agentkit.coding import CodeResult
from tests.conversation.cast import Console, Executor, call, hearing, modelled, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def test_defaults() -> None:
    made = UserProxyAgent("user")
    assert isinstance(made, ConversableAgent)
    assert (made.human_input_mode, made.llm_config, made.client, made.system_message) == (
        "ALWAYS",
        False,
        None,
        "",
    )
    assert made.use_docker is True  # isolated; what isolates it is looked for when there is code
    assert "generate_code_execution_reply" in {
        entry["reply_func"].__name__ for entry in made._reply_func_list
    }


@pytest.mark.parametrize("mode", ["ALWAYS", "TERMINATE", "NEVER"])
def test_each_mode_has_its_description(mode: Any) -> None:
    assert (
        UserProxyAgent("user", human_input_mode=mode).description
        == UserProxyAgent.DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS[mode]
    )
    assert UserProxyAgent("user", human_input_mode=mode, description="Eva.").description == "Eva."
    assert UserProxyAgent("user", human_input_mode=mode, system_message="s").system_message == "s"


def test_the_default_settings_are_not_shared() -> None:
    one, other = UserProxyAgent("one"), UserProxyAgent("other")
    assert isinstance(one._code_execution_config, dict)
    one._code_execution_config["work_dir"] = "x"
    assert isinstance(other._code_execution_config, dict)
    assert "work_dir" not in other._code_execution_config


@pytest.mark.parametrize(
    ("default", "reply"),
    [("", ""), ("go on", "go on"), ({"content": "d"}, {"content": "d"}), (None, None)],
)
def test_what_is_replied_when_the_person_skips(default: Any, reply: Any) -> None:
    user = UserProxyAgent("user", default_auto_reply=default, code_execution_config=False)
    with hearing(Console("")):
        assert (
            user.generate_reply(messages=[{"content": "x", "role": "user"}], sender=speaker("bob"))
            == reply
        )


@BOTH
def test_a_person_and_code_in_one_chat(is_async: bool) -> None:
    user = UserProxyAgent("user", code_execution_config={"executor": Executor(CodeResult(0, "1"))})
    bob, _ = modelled("bob", "```python\nprint(1)\n```", "It is 1.", "You are welcome.")
    with hearing(Console("Run something.", "", "thanks", "exit")):
        result = call(is_async, user, "initiate_chat", bob, silent=True)
    assert said(user, bob) == [
        "Run something.",
        "```python\nprint(1)\n```",
        "exitcode: 0 (execution succeeded)\nCode output: 1",
        "It is 1.",
        "thanks",
        "You are welcome.",
    ]
    assert result.human_input == ["Run something.", "", "thanks", "exit"]
    assert result.stop_reason == "the person behind user ended the chat"
