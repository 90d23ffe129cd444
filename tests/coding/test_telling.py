"""A program that is stopped is told with what it had put out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit import runs
from agentkit.agents.rewoo.workers import CodeAction
from agentkit.coding import LocalCommandLineCodeExecutor
from agentkit.conversation import ConversableAgent
from agentkit.errors import Stopped
from agentkit.events import CodeRan

pytestmark = pytest.mark.filterwarnings("ignore:.*isolat.*:UserWarning")


def agent(folder: Path, *, older: bool) -> ConversableAgent:
    config: dict[str, Any] = {"use_docker": False, "work_dir": str(folder)}
    if not older:
        config = {"executor": LocalCommandLineCodeExecutor(timeout=600, work_dir=folder)}
    return ConversableAgent(
        "Runner", llm_config=False, human_input_mode="NEVER", code_execution_config=config
    )


def by_message(runner: ConversableAgent, code: str) -> Any:
    return runner.generate_code_execution_reply(
        [{"role": "user", "content": f"```sh\n{code}\n```"}]
    )


def by_action(runner: ConversableAgent, code: str) -> Any:
    return CodeAction(runner).run(code, "sh")


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("way", [by_message, by_action])
def test_a_stopped_program_is_told_with_its_output(
    tmp_path: Path, way: Callable[[ConversableAgent, str], Any], older: bool
) -> None:
    begun, runner = tmp_path / "begun", agent(tmp_path, older=older)
    code = f"echo one\necho two >&2\ntouch {begun}\nsleep 600"
    run = runs.start(lambda: way(runner, code), kind="chat")
    while not begun.exists():
        assert not run.ended, run.result()
        threading.Event().wait(0.01)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    (told,) = [one.event for one in run.events() if isinstance(one.event, CodeRan)]
    assert (told.output, told.stopped, told.exit_code) == ("one\ntwo\n", True, 137)
    assert (told.agent, told.language) == ("Runner", "sh")
    assert told.code.strip() == code
