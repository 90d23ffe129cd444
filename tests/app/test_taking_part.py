"""A person takes part, on the chat page: as was chosen for the chat, also in two windows."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.llm.calls.scripted import scripted_model
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, press, settle, until_asked
from tests.teams.stage import call
from tests.teams.werewolf.table import players

Ingest = Callable[[str, dict[str, str]], None]
OTHER_WINDOW = ":material/info: The question was answered in another window meanwhile."
SEARCH = call("search_documents", query="green tea")
FIRST, BETTER = "80 degrees [1].", "176 degrees Fahrenheit [1]."


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    return workspace


def scripted(workspace: ScriptableWorkspace, *replies: Any) -> None:
    workspace.added.insert(0, scripted_model(replies))


def texts(app: AppTest) -> list[str]:
    shown = [*app.markdown, *app.caption, *app.error, *app.warning]
    return [re.sub(r"\\(.)", r"\1", one.value) for one in shown]


def asked_to(team: str, mode: str) -> tuple[AppTest, Run[Answer]]:
    """A new chat of this team in which the person is asked so, with a question."""
    app = open_page("chat")
    app.selectbox(key="team-new").set_value(team).run()
    app.segmented_control(key="asked-new").set_value(mode).run()
    return app, sent(app, "How hot for green tea?")


def sent(app: AppTest, text: str) -> Run[Answer]:
    app.chat_input[0].set_value(text).run()
    assert not app.exception, app.exception[0].stack_trace
    return latest(app)


def latest(app: AppTest) -> Run[Answer]:
    chat_id = app.query_params["chat"]
    return [run for run in runs._registry.values() if run.chat_id == chat_id][-1]


def captions(app: AppTest) -> list[str]:
    """What the page says in small letters."""
    return [one.value for one in app.caption]


def test_what_each_choice_does_is_said_beside_it(kitchen: ScriptableWorkspace) -> None:
    app = open_page("chat")
    assert not [one for one in app.segmented_control if one.key == "asked-new"]
    app.selectbox(key="team-new").set_value("assistant").run()
    assert any("they ask you nothing" in one for one in texts(app))
    app.segmented_control(key="asked-new").set_value("TERMINATE").run()
    assert any("Before the agents end, you say" in one for one in texts(app))


def test_before_the_end_the_person_is_asked_and_answers_in_the_composer(
    kitchen: ScriptableWorkspace,
) -> None:
    scripted(kitchen, SEARCH, FIRST, BETTER)
    app, run = asked_to("assistant", "TERMINATE")
    request = until_asked(app, run)
    assert any("Assistant is done." in one for one in texts(app))
    assert app.chat_input[0].placeholder == "Answer Assistant"
    assert not [one for one in app.button if one.key == f"skip-{request}"]
    app.chat_input[0].set_value("In Fahrenheit, please.").run()
    press(app, "end", until_asked(app, run, request))
    settle(app)
    assert run.result().text == BETTER
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    shown = texts(app)
    assert any("**You:** In Fahrenheit, please." in one for one in shown)
    assert any("You ended it" in one for one in shown)


def test_the_choice_stays_with_its_chat_and_does_not_follow_into_the_next(
    kitchen: ScriptableWorkspace,
) -> None:
    scripted(kitchen, SEARCH, FIRST, BETTER)
    app, run = asked_to("assistant", "TERMINATE")
    press(app, "end", until_asked(app, run))
    settle(app)
    again = open_page("chat", chat=str(run.chat_id))
    assert again.segmented_control(key=f"asked-{run.chat_id}").value == "TERMINATE"
    (said, _) = [
        one for one in kitchen.ledger.thread(OWNER, str(run.chat_id)) if not one.extra.get("inner")
    ]
    assert said.extra["human_input"] == "TERMINATE"
    fresh = open_page("chat")
    fresh.selectbox(key="team-new").set_value("assistant").run()
    assert fresh.segmented_control(key="asked-new").value == "NEVER"


def test_asked_again_it_is_asked_as_it_was(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, SEARCH, FIRST, FIRST)
    app, run = asked_to("assistant", "TERMINATE")
    press(app, "end", until_asked(app, run))
    settle(app)
    chat_id = str(run.chat_id)
    (asked, *_) = kitchen.ledger.thread(OWNER, chat_id)
    again = kitchen.ask_again(OWNER, chat_id, asked.id, team_id="assistant", model_id="scripted")
    request = until_asked(open_page("chat", chat=chat_id), again)
    again.answer("", request)
    assert again.result().text == FIRST


def test_at_each_turn_one_may_skip_or_end(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, SEARCH, call("search_documents", query="tea"), FIRST)
    app, run = asked_to("assistant", "ALWAYS")
    request = until_asked(app, run)
    assert any("Your turn." in one for one in texts(app))
    press(app, "skip", request)
    press(app, "end", until_asked(app, run, request))
    settle(app)
    assert run.result().text == FIRST
    assert any("you ended the discussion" in one for one in texts(app))
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    assert any("You let them go on" in one for one in texts(app))


def test_in_a_group_the_person_is_a_member(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, "Found it.", "Fine.", "A draft.", "80 degrees.", "Fine.", "80. TERMINATE")
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("group:auto").run()
    app.selectbox(key="variant-new").set_value("group:round_robin").run()
    app.segmented_control(key="asked-new").set_value("ALWAYS").run()
    run = sent(app, "How hot for green tea?")
    request = until_asked(app, run)
    assert app.chat_input[0].placeholder == "Answer Writer"
    assert any("**You** have the floor, in turn" in one for one in texts(app))
    app.chat_input[0].set_value("Only the number.").run()
    press(app, "end", until_asked(app, run, request))
    settle(app)
    assert run.result().text == "80."


def test_two_windows_that_answer_the_same_question(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, SEARCH, FIRST, BETTER)
    first, run = asked_to("assistant", "TERMINATE")
    request = until_asked(first, run)
    second = open_page("chat", chat=str(run.chat_id))
    assert second.chat_input[0].placeholder == "Answer Assistant"
    first.chat_input[0].set_value("In Fahrenheit, please.").run()
    assert OTHER_WINDOW not in captions(first)
    later = until_asked(first, run, request)
    press(second, "end", request)
    assert captions(second).count(OTHER_WINDOW) == 1
    assert run.waiting_for, "the late answer did not reach the next question"
    press(first, "end", later)
    settle(first)


def test_a_window_that_only_looks_on_is_told_that_it_was_answered(
    kitchen: ScriptableWorkspace,
) -> None:
    scripted(kitchen, SEARCH, FIRST)
    first, run = asked_to("assistant", "TERMINATE")
    request = until_asked(first, run)
    second = open_page("chat", chat=str(run.chat_id))
    press(first, "end", request)
    assert run.wait(60)
    second.run()
    assert captions(second).count(OTHER_WINDOW) == 1
    assert captions(second.run()).count(OTHER_WINDOW) == 1, "it stays until something is sent"
    second.chat_input[0].set_value("And in Celsius?").run()
    assert OTHER_WINDOW not in captions(second)


def test_a_question_says_until_when_it_waits_and_what_then(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, SEARCH, FIRST)
    kitchen.settings = dataclasses.replace(kitchen.settings, answer_s=600.0)
    app, run = asked_to("assistant", "TERMINATE")
    request = until_asked(app, run)
    assert any(
        re.search(r"Waits until \d\d:\d\d:\d\d; then this is the answer", one) for one in texts(app)
    )
    press(app, "end", request)
    settle(app)


def test_a_question_that_nobody_answers_goes_on_and_that_is_told(
    kitchen: ScriptableWorkspace,
) -> None:
    scripted(kitchen, SEARCH, FIRST)
    kitchen.settings = dataclasses.replace(kitchen.settings, answer_s=0.01)
    app, run = asked_to("assistant", "TERMINATE")
    settle(app)
    assert run.result().text == FIRST
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    assert any("Nobody answered within 0.01 seconds" in one for one in texts(app))


def test_how_long_a_question_waits_is_a_limit_that_can_be_chosen(
    kitchen: ScriptableWorkspace,
) -> None:
    assert Settings().answer_s is None
    app = open_page("settings")
    assert any("Longest wait for your answer: **no limit**" in one for one in texts(app))
    app.button(key="change-answer_s").click().run()
    app.text_input(key="limit-value").set_value("90")
    app.button(key="save-limit").click().run()
    assert kitchen.settings.answer_s == 90.0


# What is gone


def test_a_chat_whose_team_and_model_are_gone_says_so_and_goes_on_with_others(
    kitchen: ScriptableWorkspace,
) -> None:
    scripted(kitchen, SEARCH, FIRST, "80 degrees [1].")
    app, run = asked_to("assistant", "NEVER")
    settle(app)
    chat_id = str(run.chat_id)
    kitchen.ledger.update_chat(OWNER, chat_id, team="orchestra", model="Theirs/gone")
    app = open_page("chat", chat=chat_id)
    told = " ".join(texts(app))
    assert "The team “orchestra” of this chat is no longer there." in told
    assert "The model “Theirs/gone” of this chat is no longer there." in told
    app.selectbox(key=f"team-{chat_id}").set_value("research").run()
    assert "orchestra" not in " ".join(texts(app)), "another was chosen"
    sent(app, "And black tea?")
    settle(app)
    assert "no longer there" not in " ".join(texts(app))


def test_what_waits_for_a_team_that_is_gone_is_asked_of_the_chosen_one(
    kitchen: ScriptableWorkspace,
) -> None:
    scripted(kitchen, SEARCH, FIRST, "80 degrees [1].")
    app, run = asked_to("assistant", "NEVER")
    settle(app)
    chat_id = str(run.chat_id)
    waiting = {"id": "q", "text": "And black tea?", "collection": "Kitchen"}
    gone = {"team_id": "orchestra", "model_id": "Theirs/gone"}
    kitchen.ledger.set(OWNER, chat_id, "queue", [waiting | gone])
    app = settle(open_page("chat", chat=chat_id))
    assert latest(app).title == "And black tea?"
    assert not any("Not asked" in one for one in texts(app))


def test_a_turn_of_a_team_that_is_gone_can_be_asked_again(kitchen: ScriptableWorkspace) -> None:
    scripted(kitchen, SEARCH, "80 degrees [1].")
    app, run = asked_to("assistant", "NEVER")
    settle(app)
    said = kitchen.ledger.thread(OWNER, str(run.chat_id))
    extra = {**said[0].extra, "team_id": "orchestra"}
    kitchen.ledger.database.execute(
        "update messages set extra = ? where id = ?", [json.dumps(extra), said[0].id]
    )
    kitchen.ledger.database.execute(
        "update messages set status = 'stopped' where id = ?", [said[-1].id]
    )
    app = open_page("chat", chat=str(run.chat_id))
    keys = [one.key for one in app.button]
    assert f"again-{run.id}" in keys
    assert f"go-on-{run.id}" not in keys


# A seat at the table


def test_a_seat_in_the_game_of_werewolf(kitchen: ScriptableWorkspace) -> None:
    kitchen.added.insert(0, scripted_model(players()))
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("werewolf").run()
    app.selectbox(key="variant-new").set_value("werewolf:seat").run()
    run = sent(app, "Play!")
    request = _next_request(app, run, "")
    while request:
        assert any("You are Player" in one for one in texts(app)), "the role"
        assert not any("thinking" in one.label for one in app.expander), "who acts at night"
        waiting = run.waiting_for
        assert waiting
        press(app, "option-0" if waiting.options else "skip", request)
        request = _next_request(app, run, request)
    settle(app)
    assert "| Player | Role | Fate |" in run.result().text


def _next_request(app: AppTest, run: Run[Answer], earlier: str) -> str:
    """The next question; empty when the game is over."""
    for _ in range(6_000):
        if run.ended or run.wait(0.02):
            return ""
        waiting = run.waiting_for
        if waiting and waiting.request_id != earlier:
            return until_asked(app, run, earlier)
    raise AssertionError("nothing happens")
