"""A plan on the chat page: its steps as they are carried out, and later the same from what is
stored.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.llm.calls.scripted import scripted_model
from agentkit.runs import Run
from agentkit.teams import Answer
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page, settle

Ingest = Callable[[str, dict[str, str]], None]
PLAN = """Plan: find the temperature
#E1 = search_documents[green tea]
Plan: read it
#E2 = read_result[How many degrees? #E1]
Plan: halve it
#E3 = calculate[#E2 / 2]"""


def choose_unseen(app: AppTest) -> None:
    """Choose the team, and let its plans run at once."""
    app.selectbox(key="team-new").set_value("plan").run()
    app.toggle(key="plan-seen_first-new").set_value(False).run()


def begin() -> tuple[AppTest, Run[Answer]]:
    app = open_page("chat")
    choose_unseen(app)
    app.chat_input[0].set_value("What is half of what green tea needs?").run()
    assert not app.exception, app.exception[0].stack_trace
    (run,) = [run for run in runs._registry.values() if run.chat_id == app.query_params["chat"]]
    return app, run


def steps(app: AppTest) -> list[str]:
    """The labels of the plan's steps, without their seconds."""
    return [
        one.label.replace("\\", "").split(" · ")[0]
        for one in app.expander
        if one.label.startswith("\\#E")
    ]


def states(app: AppTest) -> list[str]:
    """Icon and the words behind the last dot."""
    return [
        f"{one.icon.strip(':').removeprefix('material/')} {one.label.rpartition(' · ')[2]}".replace(
            "\\", ""
        )
        for one in app.expander
        if one.label.startswith("\\#E")
    ]


def stored(app: AppTest, run: Run[Answer]) -> AppTest:
    """The page when the run has ended, with its steps unfolded."""
    settle(app)
    app.session_state[f"steps-{run.id}"] = True  # what a click on the expander does
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def until(app: AppTest, true: Callable[[], bool]) -> None:
    for _ in range(600):
        app.run()
        assert not app.exception, app.exception[0].stack_trace
        if true():
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"still {states(app)}")


def said(app: AppTest) -> str:
    return "\n".join(one.value.replace("\\", "") for one in [*app.markdown, *app.caption])


def test_steps_are_seen_waiting_running_and_done_and_look_the_same_when_stored(
    kitchen: ScriptableWorkspace,
) -> None:
    go_on = threading.Event()

    def read(request: Mapping[str, Any]) -> str:
        assert go_on.wait(120)
        return "80"

    kitchen.added.insert(
        0, scripted_model([PLAN, read, "It is 40 degrees; green tea needs 80 [1]."])
    )
    app, run = begin()
    until(app, lambda: any(state.startswith("check") for state in states(app)))
    assert steps(app) == ["#E1 find the temperature", "#E2 read it", "#E3 halve it"]
    first, *others = states(app)
    assert re.match(r"check \d", first)
    assert others == ["spinner running", "schedule waits for #E2"]
    assert "**Planner** planned 3 steps, 1 of them done" in said(app)
    assert "Looked up" not in said(app), "the step shows the same"
    assert '"#E1" -> "#E2"; "#E2" -> "#E3";' in app.get("graphviz_chart")[0].proto.spec
    assert "read_result[How many degrees? #E1]" in [code.value for code in app.code]
    assert "**[1] tea.txt, line 1** Green tea is steeped at 80 degrees." in said(app)
    go_on.set()
    stored(app, run)
    assert steps(app) == ["#E1 find the temperature", "#E2 read it", "#E3 halve it"]
    assert [state.split(" ")[0] for state in states(app)] == ["check"] * 3
    assert "**Planner** planned 3 steps]" in said(app)
    assert {"80", "40"} <= {code.value for code in app.code}
    assert "With the evidence: 80 / 2" in said(app)
    assert not any("search_documents(" in one.label for one in app.expander), (
        "no call is shown twice"
    )
    assert f"It is 40 degrees; green tea needs 80 [\\[1\\]](#cite-{run.message_id}-1)." in [
        one.value for one in app.markdown
    ]


def test_a_plan_that_was_sent_back_a_failed_step_and_another_plan(
    kitchen: ScriptableWorkspace,
) -> None:
    replies = [
        "#E1 = look_around[tea]",
        "Plan: halve it\n#E1 = calculate[80 degrees / 2]",
        "Plan: again\n#E2 = calculate[80 / 2]",
    ]
    kitchen.added.insert(0, scripted_model([*replies, "40 degrees."]))
    app, run = begin()
    stored(app, run)
    assert "Planner's plan was sent back: " in said(app)
    assert "unknown tool 'look_around'" in said(app)
    assert steps(app) == ["#E1 halve it", "#E2 again"]
    failed, again = states(app)
    assert re.match(r"error \d", failed)
    assert failed.endswith(", failed")
    assert re.match(r"check \d", again)
    assert any(code.value.startswith("'80 degrees / 2' cannot be computed") for code in app.code)
    assert "Why it failed" in said(app)


def test_a_stop_in_the_middle_leaves_the_rest_undone(kitchen: ScriptableWorkspace) -> None:
    go_on, asked = threading.Event(), threading.Event()

    def read(request: Mapping[str, Any]) -> str:
        asked.set()
        go_on.wait(120)
        return "80"

    kitchen.added.insert(0, scripted_model([PLAN, read]))
    app, run = begin()
    assert asked.wait(120)
    run.stop()
    stored(app, run)
    go_on.set()
    assert [state.split(" ", 1)[1] for state in states(app)][1:] == ["not run", "not run"]
    assert "Stopped. Nothing had been written yet." in said(app)


def test_offline_every_part_of_the_question_is_a_step(kitchen: ScriptableWorkspace) -> None:
    app = open_page("chat")
    choose_unseen(app)
    app.chat_input[0].set_value("How hot is green tea steeped? Who invented the bicycle?").run()
    (run,) = [run for run in runs._registry.values() if run.chat_id == app.query_params["chat"]]
    stored(app, run)
    assert not app.get("graphviz_chart"), "nothing depends on anything"
    assert steps(app) == ["#E1 How hot is green tea steeped?", "#E2 Who invented the bicycle?"]
    assert f"Green tea is steeped at 80 degrees. [[1]](#cite-{run.message_id}-1)" in said(app)
    assert "The documents do not answer this part: Who invented the bicycle" in said(app)
