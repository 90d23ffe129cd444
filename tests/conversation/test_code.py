"""Which code an agent runs: of which messages, by what, and what it replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit import ConversableAgent
from agentkit.coding import CodeResult, LocalCommandLineCodeExecutor
from agentkit.errors import WrongArgument
from agentkit.events import CodeRan
from tests.conversation.cast import Executor, agent, chat, hearing, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def block(code: str, language: str = "python") -> str:
    return f"Run this:\n```{language}\n{code}\n```\n"


def messages(*said: str | None) -> list[dict[str, Any]]:
    """User messages; None stands for one that the agent itself said."""
    return [
        {"role": "assistant", "content": block("own")}
        if each is None
        else {"role": "user", "content": each}
        for each in said
    ]


def runner(*results: CodeResult | Exception, **settings: Any) -> tuple[ConversableAgent, Executor]:
    executor = Executor(*results)
    return agent("ann", code_execution_config={"executor": executor, **settings}), executor


@pytest.mark.parametrize(
    ("last_n", "said", "ran"),
    [
        ("auto", [block("one"), "text"], "one"),
        ("auto", [block("one"), block("two")], "two"),
        ("auto", [block("one"), None, "text"], None),
        ("auto", [block("one"), None, block("two"), "text"], "two"),
        (1, [block("one"), "text"], None),
        (1, ["text", block("one")], "one"),
        (2, [block("one"), "text"], "one"),
        (2, [block("one")], "one"),
        (0, [block("one")], None),
        (2.0, [block("one"), "text"], "one"),
        ("auto", ["text"], None),
        ("auto", [], None),
        ("auto", [""], None),
    ],
)
def test_how_far_back_code_is_looked_for(last_n: Any, said: list[Any], ran: str | None) -> None:
    ann, executor = runner(CodeResult(0, "out"), last_n_messages=last_n)
    final, reply = ann.generate_code_execution_reply(messages(*said))
    assert [each.code for each in executor.ran] == ([ran] if ran else [])
    assert (final, reply) == (
        (True, "exitcode: 0 (execution succeeded)\nCode output: out") if ran else (False, None)
    )


def test_the_settings_of_a_call_count_before_those_of_the_agent() -> None:
    ann, executor = runner(CodeResult(0, "out"), last_n_messages=5)
    assert ann.generate_code_execution_reply(
        messages(block("one"), "text"), config={"last_n_messages": 1}
    ) == (False, None)
    assert ann.generate_code_execution_reply(messages(block("one")), config=False) == (False, None)
    assert executor.ran == []


def test_all_blocks_of_the_message_run_and_are_heard() -> None:
    ann, executor = runner(CodeResult(3, "oh no"))
    with hearing() as events:
        _, reply = ann.generate_code_execution_reply(messages(block("one") + block("two", "sh")))
    assert reply == "exitcode: 3 (execution failed)\nCode output: oh no"
    assert [(each.language, each.code) for each in executor.ran] == [
        ("python", "one"),
        ("sh", "two"),
    ]
    ran = events[0]
    assert isinstance(ran, CodeRan)
    assert (ran.agent, ran.language, ran.code, ran.exit_code, ran.output, ran.executor) == (
        "ann",
        "python",
        "one\n\ntwo",
        3,
        "oh no",
        "Executor",
    )


@BOTH
def test_code_of_a_chat_runs_on_this_machine(is_async: bool, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="without isolation"):
        executor = LocalCommandLineCodeExecutor(work_dir=tmp_path, timeout=30)
    ann = agent("ann", code_execution_config={"executor": executor})
    result = chat(is_async, ann, speaker("bob", block("print(6 * 7)"), "TERMINATE"))
    assert (
        result.chat_history[2]["content"] == "exitcode: 0 (execution succeeded)\nCode output: 42\n"
    )


def test_an_agent_without_code_execution_has_no_such_reply_function() -> None:
    names = {entry["reply_func"].__name__ for entry in agent("ann")._reply_func_list}
    assert "generate_code_execution_reply" not in names
    assert agent("ann").code_executor is None
    assert agent("ann").use_docker is None


class Recording(ConversableAgent):
    """Runs nothing: notes what it is asked to run by the older settings."""

    def run_code(self, code: str, **kwargs: Any) -> tuple[int, str, str | None]:
        self.ran = [
            *getattr(self, "ran", []),
            (code, kwargs.get("lang"), kwargs.get("filename"), kwargs.get("timeout")),
        ]
        return (1, "failed", None) if "fail" in code else (0, "ran", None)


def test_the_older_settings_hand_every_block_to_run_code() -> None:
    ann = Recording(
        "ann", code_execution_config={"use_docker": False, "timeout": 5, "last_n_messages": 1}
    )
    text = block("# filename: a.py\none") + block("two", "sh") + block("fail") + block("never")
    _, reply = ann.generate_code_execution_reply(messages(text))
    assert ann.ran == [
        ("# filename: a.py\none", "python", "a.py", 5),
        ("two", "sh", None, 5),
        ("fail", "python", None, 5),
    ]
    assert reply == "exitcode: 1 (execution failed)\nCode output: \nran\nran\nfailed"


def test_an_unknown_language_fails_with_its_name() -> None:
    ann = Recording("ann", code_execution_config={"use_docker": False})
    assert ann.execute_code_blocks([("cobol", "x")]) == (1, "\nunknown language cobol")
    assert not hasattr(ann, "ran")


def test_an_overridden_execution_of_blocks_is_honoured() -> None:
    class Own(ConversableAgent):
        def execute_code_blocks(self, code_blocks: Any) -> tuple[int, str]:
            return 0, f"{len(code_blocks)} blocks"

    own = Own("own", human_input_mode="NEVER", code_execution_config={"use_docker": False})
    assert own.generate_code_execution_reply(messages(block("a") + block("b")))[1].endswith(
        "output: 2 blocks"
    )


def test_the_given_settings_are_not_changed() -> None:
    given: dict[str, Any] = {"use_docker": False, "work_dir": "x"}
    ann = Recording("ann", code_execution_config=given)
    ann.execute_code_blocks([("python", "1")])
    assert given == {"use_docker": False, "work_dir": "x"}
    assert ann.use_docker is False


@pytest.mark.parametrize("clash", [{"use_docker": False}, {"use_docker": True}])
def test_an_executor_does_not_go_with_the_older_settings(clash: dict[str, Any]) -> None:
    with pytest.raises(WrongArgument, match=r"ann: .*use_docker.* executor"):
        agent("ann", code_execution_config={"executor": Executor(), **clash})
    with pytest.raises(WrongArgument, match="Unknown code executor 'fastest'"):
        agent("ann", code_execution_config={"executor": "fastest"})


def test_code_in_a_content_that_is_a_function_is_run() -> None:
    executor = Executor(CodeResult(0, "fine"))
    ann = agent("ann", code_execution_config={"executor": executor})
    message = {
        "role": "user",
        "content": lambda context: block(context["code"]),
        "context": {"code": "1 + 1"},
    }
    assert ann.generate_code_execution_reply([message])[1].endswith("output: fine")
    assert [each.code for each in executor.ran] == ["1 + 1"]
