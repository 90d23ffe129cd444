"""Teams of conversing agents on the chat page: chosen, asked, approved, and shown as far as one
wants to see.
"""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import coding, runs
from agentkit.errors import ModelAuthFailed, NotFound
from agentkit.llm.calls.scripted import scripted_model
from agentkit.retrieval import Source
from agentkit.runs import Run
from agentkit.teams import Answer
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_cells, open_page, press, settle, until_asked
from tests.teams.stage import call

Ingest = Callable[[str, dict[str, str]], None]
TEA = "Green tea is steeped at 80 degrees."
QUESTION = "How hot for green tea?"
CODE = "```python\nprint(6 * 7)\n```"


TOOLS = """
def brew(drink: str) -> str:
    \"""Brew a drink.\"""
    return f"There is {drink}."
"""


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest, tmp_path: Path) -> ScriptableWorkspace:
    """A collection about tea, and a tool that changes something."""
    ingest("Kitchen", {"tea.txt": TEA})
    (tmp_path / "tools.py").write_text(TOOLS)
    workspace.settings = dataclasses.replace(workspace.settings, tools=str(tmp_path / "tools.py"))
    return workspace


def scripted(workspace: ScriptableWorkspace, *replies: Any) -> None:
    workspace.added.insert(0, scripted_model(replies))


def texts(app: AppTest) -> list[str]:
    shown = [*app.markdown, *app.caption, *app.error, *app.warning]
    return [re.sub(r"\\(.)", r"\1", one.value) for one in shown]


def begin(team: str) -> tuple[AppTest, Run[Answer]]:
    """Choose the team for a new chat and ask; gives the page and the run."""
    app = open_page("chat")
    app.selectbox(key="team-new").set_value(
        "group:auto" if team.startswith("group:") else team
    ).run()
    if team.startswith("group:"):
        app.selectbox(key="variant-new").set_value(team).run()
    app.chat_input[0].set_value(QUESTION).run()
    assert not app.exception, app.exception[0].stack_trace
    (run,) = [run for run in runs._registry.values() if run.chat_id == app.query_params["chat"]]
    return app, run


def open_steps(app: AppTest, run: Run[Answer]) -> None:
    app.session_state[f"steps-{run.id}"] = True  # what a click on the expander does
    app.run()
    assert not app.exception, app.exception[0].stack_trace


def labels(app: AppTest) -> list[str]:
    return [expander.label for expander in app.expander]


APPROVE, APPROVE_ALL, ALWAYS, EDIT, REJECT = (f"option-{number}" for number in range(5))


def test_the_assistant_cites_what_it_looked_up(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("search_documents", query="green tea"), "80 degrees [1].\nTERMINATE")
    app, run = begin("assistant")
    settle(app)
    assert f"80 degrees [\\[1\\]](#cite-{run.message_id}-1)." in [
        shown.value for shown in app.markdown
    ]
    assert not any("Ended:" in text for text in texts(app)), "an ordinary end goes without saying"
    open_steps(app, run)
    assert any(
        label.startswith('`search_documents("query": "green tea")` ·') for label in labels(app)
    )
    assert any("[1] tea.txt" in text for text in texts(app))


def test_how_much_is_shown_is_a_choice(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("search_documents", query="green tea"), "80 degrees [1].")
    app, run = begin("assistant")
    settle(app)
    open_steps(app, run)
    (did,) = [label for label in labels(app) if label.startswith("Steps")]
    assert re.fullmatch(r"Steps · 1 passage, \d calls, [\d.]+ s", did)
    assert not any("tokens in" in text and "Assistant, scripted" in text for text in texts(app))
    app.segmented_control(key="level-choice").set_value("everything").run()
    assert any("tokens in" in text and "Assistant, scripted" in text for text in texts(app))
    assert any("asks for `search_documents" in text for text in texts(app))
    assert any("Library and Assistant are done: " in text for text in texts(app))
    app.segmented_control(key="level-choice").set_value("answer").run()
    assert not any(label.startswith("Steps") for label in labels(app))
    assert any("80 degrees" in text for text in texts(app))


@pytest.mark.skipif(
    not (coding.bubblewrap_works() or coding.docker_works()), reason="nothing to isolate code with"
)
def test_code_is_shown_approved_and_shown_with_its_output(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, f"I compute it.\n{CODE}", "It is 42.\nTERMINATE")
    app, run = begin("tools")
    request = until_asked(app, run)
    assert "print(6 * 7)" in [code.value for code in app.code]
    assert any("Runner** asks: May this Python code run?" in text for text in texts(app))
    assert texts(app).count("I compute it.") == 1, "in its bubble, and not again above the question"
    press(app, APPROVE, request)
    settle(app)
    open_steps(app, run)
    assert any(label.startswith("Ran Python · ") for label in labels(app))
    open_cells(app, run)
    assert {"print(6 * 7)", "42"} <= {code.value for code in app.code}
    assert any(
        "Runner asked: May this Python code run? **You:** yes" in text for text in texts(app)
    )
    assert "It is 42." in texts(app)


HIDDEN = (
    "level = 'user\u202e \u2066# is checked\u2069'\nprint(len(level))\n"
    + "\n" * 20
    + "print('below')"
)
ESCAPED = "level = 'user⟨U+202E⟩ ⟨U+2066⟩# is checked⟨U+2069⟩'"


@pytest.mark.skipif(
    not (coding.bubblewrap_works() or coding.docker_works()), reason="nothing to isolate code with"
)
def test_what_hides_in_code_is_shown_before_and_after_it_ran(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, f"```python\n{HIDDEN}\n```", "Done.\nTERMINATE")
    app, run = begin("tools")
    request = until_asked(app, run)
    assert any(code.value.startswith(ESCAPED) for code in app.code)
    assert "23 lines of Python" in texts(app)
    assert any("contains 3 invisible characters" in text for text in texts(app))
    press(app, EDIT, request)
    assert any("contains 3 invisible characters" in text for text in texts(app))
    press(app, "back", request)
    press(app, APPROVE, request)
    settle(app)
    open_steps(app, run)
    open_cells(app, run)
    shown = [code.value for code in app.code]
    assert any(code.startswith(ESCAPED) for code in shown)
    assert any(code.split() == ["20", "below"] for code in shown), "what ran is the code itself"


def test_what_hides_in_arguments_is_shown(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("brew", drink="tea\u202egnp\udb40\udc41"), "80 degrees [1].")
    app, run = begin("tools")
    request = until_asked(app, run)
    assert any("tea⟨U+202E⟩gnp⟨U+E0041⟩" in code.value for code in app.code)
    assert "3 lines of JSON" in texts(app)
    assert any("contains 2 invisible characters" in text for text in texts(app))
    press(app, APPROVE, request)
    settle(app)
    open_steps(app, run)
    assert any("tea" in label and "\u202e" not in label for label in labels(app))


def test_arguments_are_edited_and_must_stay_json(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("brew", drink="coffee"), "80 degrees [1].")
    app, run = begin("tools")
    request = until_asked(app, run)
    press(app, EDIT, request)
    app.text_area(key=f"draft-{request}").set_value("query: green tea")
    press(app, "run", request)
    assert any("This is not JSON" in text for text in texts(app))
    app.text_area(key=f"draft-{request}").set_value('{"drink": "green tea"}')
    press(app, "run", request)
    settle(app)
    open_steps(app, run)
    assert any('brew("drink": "green tea")' in label for label in labels(app))
    assert any("**You:** yes, with changes" in text for text in texts(app))


def test_a_rejection_takes_a_reason_to_the_model(kitchen: ScriptableWorkspace) -> None:
    heard: list[str] = []

    def answer(request: Mapping[str, Any]) -> str:
        heard.append(str(request["messages"][-1]["content"]))
        return "Then not."

    scripted(kitchen, call("brew", drink="coffee"), answer)
    app, run = begin("tools")
    request = until_asked(app, run)
    press(app, REJECT, request)
    press(app, "back", request)
    press(app, REJECT, request)
    app.text_input(key=f"reason-{request}").set_value("I drink no coffee")
    press(app, "no", request)
    settle(app)
    assert "I drink no coffee" in heard[0]
    open_steps(app, run)
    assert any(
        "**You:** no: I drink no coffee" in re.sub(r"\\(.)", r"\1", label) for label in labels(app)
    )
    assert any('"drink": "coffee"' in code.value for code in app.code), (
        "what did not run is still to be seen"
    )


def test_all_of_a_kind_are_approved_at_once(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, *[call("brew", drink="tea")] * 3, "80 degrees [1].")
    app, run = begin("tools")
    press(app, APPROVE_ALL, until_asked(app, run))
    settle(app)
    assert any("80 degrees" in text for text in texts(app))


def test_a_tool_is_allowed_for_always_and_the_settings_take_that_back(
    kitchen: ScriptableWorkspace,
) -> None:
    tea = call("brew", drink="tea")
    scripted(kitchen, tea, tea, "There is tea.", tea)
    app, run = begin("tools")
    press(app, ALWAYS, until_asked(app, run))
    settle(app)
    open_steps(app, run)
    assert any("**You:** yes, and always" in text for text in texts(app))
    settings = open_page("settings")
    assert any(
        "brew** runs without asking: you always allow it." in text for text in texts(settings)
    )
    settings.button(key="ask-again-brew").click().run()
    assert any("brew** asks before it runs." in text for text in texts(settings))
    until_asked(*begin("tools"))


def test_the_settings_say_when_there_are_no_tools_and_when_they_cannot_be_used(
    workspace: ScriptableWorkspace,
) -> None:
    assert any("AGENTKIT_TOOLS" in text for text in texts(open_page("settings")))
    workspace.settings = dataclasses.replace(workspace.settings, tools="nowhere.py")
    page = open_page("settings")
    assert any("nowhere.py cannot be read" in text for text in texts(page))
    assert page.header[-1].value == "Versions", "the rest of the page is there"


def test_a_question_survives_a_refresh_and_is_answered_once(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("brew", drink="tea"), "80 degrees [1].")
    app, run = begin("tools")
    request = until_asked(app, run)
    again = open_page("chat", chat=app.query_params["chat"])
    assert any("asks: May `brew` run" in text for text in texts(again))
    press(again, APPROVE, request)
    assert run.wait(120)
    with pytest.raises(NotFound):
        run.answer("Approve", request)
    app.run()
    assert not app.exception, app.exception[0].stack_trace


def test_stopping_a_run_that_waits_ends_it(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("brew", drink="tea"))
    app, run = begin("tools")
    until_asked(app, run)
    press(app, "stop", run.id)
    settle(app)
    assert any("Stopped. Nothing had been written yet." in text for text in texts(app))


def test_a_group_remembers_how_its_speakers_are_chosen(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, "It is 80.", "Fine.", "80 degrees.\nTERMINATE")
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("group:auto").run()
    app.selectbox(key="variant-new").set_value("group:round_robin").run()
    app.chat_input[0].set_value(QUESTION).run()
    settle(app)
    chat_id = app.query_params["chat"]
    assert kitchen.ledger.chat(OWNER, chat_id).team == "group:round_robin"
    assert any("Group of three (in turn)" in text for text in texts(app))
    stored = kitchen.database.value("select count(*) from messages where chat_id = ?", [chat_id])
    assert stored == 6, "what a group hands on to each of its members is not stored once more"
    again = open_page("chat", chat=chat_id)
    assert again.selectbox(key=f"team-{chat_id}").value == "group:round_robin"
    again.selectbox(key=f"variant-{chat_id}").set_value("group:random").run()
    assert kitchen.ledger.chat(OWNER, chat_id).team == "group:random"
    again.selectbox(key=f"team-{chat_id}").set_value("answer").run()
    assert kitchen.ledger.chat(OWNER, chat_id).team == "answer"


def test_in_a_group_one_picks_the_next_speaker_by_buttons(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, "Green tea: 80 degrees.", "A fine answer: 80 degrees.")
    app, run = begin("group:manual")
    request = until_asked(app, run)
    press(app, "option-0", request)
    request = until_asked(app, run, request)
    assert "Green tea: 80 degrees." in texts(app)
    assert QUESTION in texts(app)
    assert [app.button(key=f"option-{number}-{request}").label for number in range(3)] == [
        "Critic",
        "Writer",
        "Finish here",
    ]
    press(app, "option-1", request)
    press(app, "option-2", until_asked(app, run, request))
    settle(app)
    assert "A fine answer: 80 degrees." in texts(app)
    assert any("Ended: you ended the discussion." in text for text in texts(app))
    open_steps(app, run)
    assert any("**Researcher** speaks, chosen by you · message 1" in text for text in texts(app))


@pytest.mark.parametrize("team", ["tools", "group:auto"])
def test_without_a_language_model_a_team_says_so_and_leads_to_the_settings(
    kitchen: ScriptableWorkspace, team: str
) -> None:
    app, run = begin(team)
    settle(app)
    assert any(
        "needs a language model" in text for text in texts(app) if text.startswith("No answer.")
    )
    assert any("Choose one below, or connect one first." in text for text in texts(app))
    options = app.selectbox(key=f"team-{run.chat_id}").options
    assert [option for option in options if option.endswith("(needs a language model)")] == [
        "Assistant with tools and code (needs a language model)",
        "Group of three (needs a language model)",
        "Werewolf for six (needs a language model)",
    ]
    stored = kitchen.ledger.thread(OWNER, str(run.chat_id))
    assert [(said.role, said.status) for said in stored] == [
        ("user", "complete"),
        ("assistant", "failed"),
    ]


def test_with_a_language_model_no_team_says_that_it_needs_one(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, "Tea.")
    options = open_page("chat").selectbox(key="team-new").options
    assert len(options) > 3
    assert not [option for option in options if "needs a language model" in option]


def test_an_error_in_the_middle_keeps_what_was_said_before(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, call("search_documents", query="tea"))
    app, run = begin("assistant")
    settle(app)
    assert any(text.startswith("No answer.") for text in texts(app))
    stored = kitchen.ledger.thread(OWNER, str(run.chat_id))
    assert [said.sender for said in stored] == [
        "user",
        "Library",
        "Assistant",
        "Library",
        "Assistant",
    ]


def test_an_attached_file_that_cannot_be_read_is_told_beside_the_answer(
    kitchen: ScriptableWorkspace, tmp_path: Path
) -> None:
    scripted(kitchen, "The kettle is blue.")
    sources = []
    for name, text in (("kettle.txt", "The kettle is blue."), ("broken.pdf", "no PDF")):
        (tmp_path / name).write_text(text)
        sources.append(Source(name, tmp_path / name, name))
    model = kitchen.added[0].id
    run = kitchen.ask(
        OWNER,
        "Which colour?",
        collection="Kitchen",
        team_id="assistant",
        model_id=model,
        attachments=sources,
    )
    run.result()
    app = open_page("chat", chat=str(run.chat_id))
    (told,) = [re.sub(r"\\(.)", r"\1", warning.value) for warning in app.warning]
    assert "broken.pdf was not taken in." in told
    assert "The kettle is blue." in texts(app)


def test_a_call_that_took_nothing_has_no_figures(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, ModelAuthFailed("The key is refused."))
    app, _ = begin("assistant")
    settle(app)
    assert any(text.startswith("No answer.") for text in texts(app))
    assert not any("tokens in" in text for text in texts(app))


@pytest.mark.parametrize("late", [False, True])
def test_what_is_said_now_is_heard_by_the_group_and_else_asked_next(
    kitchen: ScriptableWorkspace, late: bool
) -> None:
    halted, go_on = threading.Event(), threading.Event()

    def reply(request: Mapping[str, Any]) -> str:
        system = str(request["messages"][0]["content"])
        part = "writer" if late else "critic"
        if f"you are the {part}" in system and not go_on.is_set():
            halted.set()
            assert go_on.wait(60)
        return f"It is 80 degrees. {'TERMINATE' if 'you are the writer' in system else ''}"

    model = scripted_model(reply)
    kitchen.added.insert(0, model)
    app, run = begin("group:round_robin")
    assert halted.wait(60)
    app.chat_input[0].set_value("Think of oolong").run()
    (said,) = [one for one in app.button if one.label == "Say it now"]
    said.click().run()
    assert not app.exception, app.exception[0].stack_trace
    assert ":material/campaign: Said now: Think of oolong" in texts(app)
    if late:
        run.stop()
    go_on.set()
    for _ in range(3):
        settle(app)
    assert not any("Think of oolong" in text and "campaign" in text for text in texts(app))
    client: Any = model.client
    heard = [str(request["messages"][-1]["content"]) for request in client.requests]
    asked = [
        said.content
        for said in kitchen.ledger.thread(OWNER, str(run.chat_id))
        if said.role == "user" and not said.extra.get("inner")
    ]
    if late:
        assert asked == [QUESTION], "the person stopped it, and says when to go on"
        assert "Still to be asked: Think of oolong" in " ".join(texts(app))
    else:
        assert "Think of oolong" in heard
        assert asked == [QUESTION]
