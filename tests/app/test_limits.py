"""Limits of the settings on the chat page and the command line: what was written stays, and where
to raise them is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import cli
from agentkit.errors import ConfigError, LimitReached, WrongArgument
from agentkit.events import LimitTold, ModelReplied
from agentkit.llm.calls.scripted import scripted_model
from agentkit.runs import Run
from agentkit.settings import Settings, load_settings
from agentkit.teams import Answer
from agentkit.workspace import Workspace
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle
from tests.teams.stage import call

Ingest = Callable[[str, dict[str, str]], None]
TEA = "Green tea is steeped at 80 degrees."
QUESTION = "How hot for green tea?"
ANSWER = "Green tea takes 80 degrees [1]."
NOWHERE = Path("no/such/secrets.toml")


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    ingest("Kitchen", {"tea.txt": TEA})
    return workspace


def ask(workspace: Workspace, **settings: Any) -> Run[Answer]:
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen", model_id="scripted", **settings)
    run.wait(120)
    return run


def took(run: Run[Answer]) -> int:
    return sum(
        one.event.usage.total
        for one in run.events()
        if isinstance(one.event, ModelReplied) and one.event.purpose == "chat"
    )


def test_settings_are_read_and_default_to_none() -> None:
    assert (
        Settings().run_tokens,
        Settings().run_dollars,
        Settings().chat_tokens,
        Settings().chat_dollars,
    ) == (None,) * 4
    names = {
        "RUN_TOKENS": "5000",
        "RUN_DOLLARS": "0.25",
        "CHAT_TOKENS": "50000",
        "CHAT_DOLLARS": "2",
    }
    read = load_settings({f"AGENTKIT_{name}": value for name, value in names.items()}, NOWHERE)
    assert (read.run_tokens, read.run_dollars, read.chat_tokens, read.chat_dollars) == (
        5000,
        0.25,
        50000,
        2.0,
    )
    for name, value, wanted in (
        ("RUN_TOKENS", "1.5", "a positive whole number"),
        ("CHAT_DOLLARS", "-1", "a positive number"),
    ):
        with pytest.raises(
            ConfigError, match=f"AGENTKIT_{name} is '{value}', but must be {wanted}"
        ):
            load_settings({f"AGENTKIT_{name}": value}, NOWHERE)


def test_the_page_says_which_limit_was_reached_and_where_to_raise_it(
    kitchen: ScriptableWorkspace,
) -> None:
    kitchen.settings = replace(kitchen.settings, run_tokens=30)
    model = kitchen.script(ANSWER)
    app = open_page("chat")
    app.chat_input[0].set_value(QUESTION).run()
    settle(app)
    shown = " ".join(one.value for one in app.error).replace("\\", "")
    assert (
        "The limit of 30 tokens was reached: with the next call of Assistant, the run would take at"
        " least" in shown
    )
    assert "set AGENTKIT_RUN_TOKENS" in shown
    assert model.client.requests == []  # type: ignore[attr-defined]


def test_what_was_written_stays_on_the_page_with_the_reason(kitchen: ScriptableWorkspace) -> None:
    kitchen.settings = replace(kitchen.settings, run_tokens=1_300)
    noted = {
        **call("search_documents", query="tea"),
        "content": "Tea was made in many ways by many people over the years. " * 40,
    }
    kitchen.added.insert(0, scripted_model([noted, ANSWER]))
    app: AppTest = open_page("chat")
    app.selectbox(key="team-new").set_value("assistant").run()
    app.chat_input[0].set_value(QUESTION).run()
    settle(app)
    captions = [one.value.replace("\\", "") for one in app.caption]
    assert ":material/flag: Ended: the limit of 1,300 tokens was reached." in captions
    assert any("Green tea takes 80 degrees" in one.value for one in app.markdown)


def test_a_chat_goes_on_from_what_the_ledger_knows(kitchen: ScriptableWorkspace) -> None:
    kitchen.added.insert(0, scripted_model(lambda _: ANSWER))
    first = ask(kitchen)
    ask(kitchen)  # another chat, which is none of its business
    kitchen.settings = replace(kitchen.settings, chat_tokens=took(first) + 10)
    second = ask(kitchen, chat_id=first.chat_id)
    with pytest.raises(
        LimitReached,
        match=r"the chat would take at least .* Begin a new chat, or set AGENTKIT_CHAT_TOKENS",
    ):
        second.result()
    (told,) = [one.event for one in second.events() if isinstance(one.event, LimitTold)]
    assert (told.scope, told.limit, took(second)) == ("chat", took(first) + 10, 0)
    kitchen.settings = replace(kitchen.settings, chat_tokens=1_000_000)
    third = ask(kitchen, chat_id=first.chat_id)
    assert third.result().text == ANSWER


def test_a_chat_with_calls_of_unknown_price_cannot_be_held_to_dollars(
    kitchen: ScriptableWorkspace,
) -> None:
    kitchen.added.insert(
        0,
        replace(scripted_model(lambda _: ANSWER), provider="a-server.example", price_1k=(1.0, 1.0)),
    )
    first = ask(kitchen)
    kitchen.settings = replace(kitchen.settings, chat_dollars=took(first) / 1000 + 0.001)
    second = ask(kitchen, chat_id=first.chat_id)
    with pytest.raises(
        LimitReached, match=r"The limit of \$0\.\d+ was reached: .* AGENTKIT_CHAT_DOLLARS"
    ):
        second.result()
    kitchen.database.execute("update llm_calls set cost = null where purpose = 'chat'", [])
    third = ask(kitchen, chat_id=first.chat_id)
    with pytest.raises(LimitReached, match="The price of earlier calls is unknown"):
        third.result()


def test_a_run_may_be_given_a_limit_of_its_own(kitchen: ScriptableWorkspace) -> None:
    kitchen.settings = replace(kitchen.settings, run_tokens=1_000_000)
    kitchen.script(ANSWER, ANSWER)
    with pytest.raises(LimitReached, match="The limit of 40 tokens was reached"):
        ask(kitchen, max_tokens=40).result()
    assert ask(kitchen, max_tokens=100_000).result().text == ANSWER
    with pytest.raises(WrongArgument, match="tokens of a limit is 0"):
        ask(kitchen, max_tokens=0)
    assert len(kitchen.ledger.chats(OWNER)) == 2, "no chat is made for a limit that cannot be"


@pytest.fixture
def command(
    kitchen: ScriptableWorkspace, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command line on that workspace."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(list(arguments), lambda settings: kitchen)
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


def test_the_command_line_takes_a_limit(
    command: Callable[..., tuple[int, str, str]], kitchen: ScriptableWorkspace
) -> None:
    kitchen.script(ANSWER)
    code, _, err = command(
        "ask", QUESTION, "--collection", "Kitchen", "--model", "scripted", "--max-tokens", "30"
    )
    assert code == 1
    assert err.startswith("Error: The limit of 30 tokens was reached: ")
    assert "--max-tokens" in err


def test_the_command_line_says_what_ended_the_answer(
    command: Callable[..., tuple[int, str, str]], kitchen: ScriptableWorkspace
) -> None:
    noted = {
        **call("search_documents", query="tea"),
        "content": "Tea was made in many ways by many people over the years. " * 40,
    }
    kitchen.added.insert(0, scripted_model([noted, ANSWER]))
    where = ("--collection", "Kitchen", "--team", "assistant", "--model", "scripted")
    code, out, err = command("ask", QUESTION, *where, "--max-tokens", "1300")
    assert code == 0
    assert ANSWER in out
    assert "Ended: the limit of 1,300 tokens was reached." in err
