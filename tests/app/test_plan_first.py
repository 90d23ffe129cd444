"""A plan on the chat page that waits for the person: changed, checked, run, refused; and the
choices of the team.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.events import ModelReplied, RunStarted, StepDone
from agentkit.llm.calls.scripted import scripted_model
from agentkit.runs import Run
from agentkit.teams import Answer
from agentkit.teams.planning_settings import Planning
from agentkit.ui.composer import plan_choices
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, press, settle, texts, until_asked

Ingest = Callable[[str, dict[str, str]], None]
PLAN = """Plan: find the temperature
#E1 = search_documents[green tea]
Plan: halve it
#E2 = calculate[80 / 2]"""


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    ingest("Kitchen", {"tea.txt": "Half of what is hot is warm; green tea takes 80 degrees."})
    return workspace


def begin(kitchen: ScriptableWorkspace, *replies: str) -> tuple[AppTest, Run[Answer], str]:
    """Ask the team, and wait until its plan is there."""
    kitchen.added.insert(0, scripted_model(replies))
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("plan").run()
    app.chat_input[0].set_value("What is half of what green tea needs?").run()
    (run,) = runs.live(OWNER)
    return app, run, until_asked(app, run)


def fields(app: AppTest, name: str) -> list[str]:
    """The values of this field, from the first row on."""
    found = [(one.key, one.value) for one in (*app.selectbox, *app.text_input)]
    return [str(value) for key, value in found if str(key).startswith(f"plan-{name}-")]


def keys(app: AppTest, what: str) -> list[str]:
    """The buttons that do this to rows, from the first row on."""
    return [str(one.key) for one in app.button if str(one.key).startswith(f"plan-{what}-")]


def click(app: AppTest, key: str) -> None:
    app.button(key=key).click().run()
    assert not app.exception, app.exception[0].stack_trace


def steps(run: Run[Answer]) -> list[tuple[str, str]]:
    done = [one.event for one in run.events() if isinstance(one.event, StepDone)]
    return [(one.label, one.arguments) for one in done]


def test_a_plan_is_shown_and_runs_as_it_is(kitchen: ScriptableWorkspace) -> None:
    app, run, asked = begin(kitchen, PLAN, "40 degrees.")
    assert fields(app, "thought") == ["find the temperature", "halve it"]
    assert fields(app, "tool") == ["search_documents", "calculate"]
    assert fields(app, "arguments") == ["green tea", "80 / 2"]
    said = texts(app)
    assert "By estimate 1 look-up, 1 model call and " in said
    assert "planned 2 steps]" in said
    assert steps(run) == []
    press(app, "plan-run", asked)
    settle(app)
    assert sorted(label for label, _ in steps(run)) == ["#E1", "#E2"]
    assert run.result().text == "40 degrees."


def test_steps_are_changed_dropped_added_and_moved(kitchen: ScriptableWorkspace) -> None:
    app, run, asked = begin(kitchen, PLAN, "Thirty.")
    inputs = [one for one in app.text_input if str(one.key).startswith("plan-arguments-")]
    inputs[1].set_value("90 / 3").run()
    click(app, keys(app, "drop")[0])
    click(app, f"plan-add-{asked}")
    assert "#E3 has no input for its tool" in texts(app)
    assert app.button(key=f"plan-run-{asked}").disabled
    inputs = [one for one in app.text_input if str(one.key).startswith("plan-arguments-")]
    inputs[1].set_value("tea in general").run()
    click(app, keys(app, "up")[1])
    assert fields(app, "arguments") == ["tea in general", "90 / 3"]
    press(app, "plan-run", asked)
    settle(app)
    assert sorted(steps(run)) == [("#E2", "90 / 3"), ("#E3", "tea in general")]


def test_a_reference_to_a_later_step_is_told_and_taken_back(kitchen: ScriptableWorkspace) -> None:
    needy = PLAN.replace("80 / 2", "#E1 / 2")
    app, run, asked = begin(kitchen, needy, "Unknown.", "Unknown.", "Unknown.")
    assert app.get("graphviz_chart"), "the picture says what waits for what"
    click(app, keys(app, "down")[0])
    assert "#E2 refers to #E1, which comes later" in texts(app)
    click(app, f"plan-undo-{asked}")
    assert "comes later" not in texts(app)
    run.stop()
    settle(app)
    assert "Stopped." in texts(app)
    assert steps(run) == []


def test_another_plan_is_asked_for(kitchen: ScriptableWorkspace) -> None:
    other = "Plan: only this\n#E1 = search_documents[tea]"
    app, run, asked = begin(kitchen, PLAN, other, "80 degrees [1].")
    click(app, f"plan-other-{asked}")
    app.text_input(key=f"plan-reason-{asked}").set_value("look it up only")
    press(app, "plan-refuse", asked)
    second = until_asked(app, run, asked)
    assert fields(app, "thought") == ["only this"]
    assert "They say: look it up only" in texts(app)
    press(app, "plan-run", second)
    settle(app)
    assert steps(run) == [("#E1", "tea")]


def test_what_was_changed_is_there_after_a_reload(kitchen: ScriptableWorkspace) -> None:
    app, run, asked = begin(kitchen, PLAN, "40 degrees.")
    click(app, keys(app, "drop")[1])
    again = open_page("chat", chat=app.query_params["chat"])
    assert fields(again, "arguments") == ["green tea"]
    press(again, "plan-run", asked)
    settle(again)
    assert steps(run) == [("#E1", "green tea")]


def test_how_it_plans_is_kept_with_the_chat(kitchen: ScriptableWorkspace) -> None:
    app, _, asked = begin(kitchen, PLAN, "40 degrees.", PLAN, "40 degrees.")
    press(app, "plan-run", asked)
    settle(app)
    chat = app.query_params["chat"]
    app.toggle(key=f"plan-seen_first-{chat}").set_value(False).run()
    app.number_input(key=f"plan-most_steps-{chat}").set_value(4).run()
    assert app.selectbox(key=f"plan-language-{chat}").value == "", "as the question"
    app.selectbox(key=f"plan-language-{chat}").set_value("en").run()
    app.chat_input[0].set_value("And once more?").run()
    settle(app)
    assert texts(app).count("40 degrees.") == 2, "it runs unseen"
    asked_last = kitchen.ledger.thread(OWNER, chat)[2].extra["planning"]
    assert asked_last == {"most_steps": 4, "language": "en"}
    assert Planning(seen_first=True) == plan_choices._USUAL
    for unknown in ({"replans": 99}, {"most_steps": "many"}):
        kitchen.ledger.set(OWNER, chat, "planning", unknown)
        assert open_page("chat", chat=chat).toggle(key=f"plan-seen_first-{chat}").value


def test_a_finished_answer_is_run_again_from_a_step(kitchen: ScriptableWorkspace) -> None:
    app, run, asked = begin(kitchen, PLAN, "40 degrees.", "41 degrees.", "Warm.")
    press(app, "plan-run", asked)
    settle(app)
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    (step,) = [str(one.key) for one in app.button if str(one.key).endswith("-#E2")]
    click(app, step)
    settle(app)
    assert "41 degrees." in texts(app)
    (second,) = [one for one in runs._registry.values() if repeats(one) == run.id]
    assert sorted(label for label, _ in steps(second)) == ["#E1", "#E2"]
    app.segmented_control(key="level-choice").set_value("everything").run()
    app.session_state[f"steps-{second.id}"] = True
    replies = [one.event for one in second.events() if isinstance(one.event, ModelReplied)]
    last = [one for one in replies if one.agent == "Solver"][-1]
    app.run()
    app.button(key=f"again-from-{last.call_id}").click().run()
    app.text_area(key=f"again-reply-{last.call_id}").set_value("Thirty, I say.")
    (send,) = [one for one in app.button if one.label == "Run again"]
    send.click().run()
    settle(app)
    assert "Thirty, I say." in texts(app)


def test_a_difference_before_the_step_is_told_and_the_answer_stays(
    kitchen: ScriptableWorkspace,
) -> None:
    app, run, asked = begin(kitchen, PLAN, "40 degrees.")
    press(app, "plan-run", asked)
    settle(app)
    kitchen.ledger.database.execute(
        'update events set data = json_merge_patch(data, \'{"asked": "other"}\')'
        " where run_id = ? and kind in ('ModelCalled', 'ModelReplied')",
        [run.id],
    )
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    (step,) = [str(one.key) for one in app.button if str(one.key).endswith("-#E2")]
    click(app, step)
    settle(app)
    said = texts(app)
    assert "It was not run again. Planner would be asked something else now than in" in said
    assert "40 degrees." in said


def test_a_finished_answer_is_stepped_through(kitchen: ScriptableWorkspace) -> None:
    app, run, asked = begin(kitchen, PLAN, "40 degrees.")
    press(app, "plan-run", asked)
    settle(app)
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    app.toggle(key=f"stepping-on-{run.id}").set_value(True).run()
    assert "planned 2 steps" not in texts(app)
    seen = [texts(app)]
    while not app.button(key=f"stepping-forward-{run.id}").disabled:
        click(app, f"stepping-forward-{run.id}")
        seen.append(texts(app))
    assert f"{len(seen)} of {len(seen)}" in seen[-1]
    assert "planned 2 steps]" in seen[-1]
    click(app, f"stepping-back-{run.id}")
    assert texts(app) == seen[-2]
    app.slider(key=f"stepping-at-{run.id}").set_value(1).run()
    assert texts(app) == seen[0]


def repeats(run: Run[Answer]) -> str:
    started = next(one.event for one in run.events() if isinstance(one.event, RunStarted))
    return started.repeats
