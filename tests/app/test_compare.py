"""Two runs on the Runs page: chosen in the list, put beside each other, replayed and run again."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from agentkit.events import (
    Event,
    ModelCalled,
    ModelReplied,
    RunFinished,
    Unknown,
)
from agentkit.ledger import queries, sides
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts
from tests.app.test_runs import ask, data_of, find_step, keep


def groups_of(app: Any) -> dict[str, dict[str, Any]]:
    return {group["name"]: group for group in data_of(app, "comparison")["groups"]}


def told(row: dict[str, Any]) -> tuple[str, str, str]:
    """Its name, and both sides as text."""
    first, second = ("".join(text for _, text in row[side]) for side in ("first", "second"))
    return row["name"], first, second


def test_two_runs_are_chosen_in_the_list_and_compared(kitchen: ScriptableWorkspace) -> None:
    first, second = ask(kitchen), ask(kitchen, "How hot is black tea?")
    app = open_page("runs")
    for run_id in (first, second):
        app.session_state["runs-chosen"] = (
            [*app.session_state["runs-chosen"], run_id]
            if ("runs-chosen" in app.session_state)
            else [run_id]
        )
        app.run()
    app.button(key="compare").click().run()
    assert dict(app.query_params) == {"run": first, "with": second}
    groups = groups_of(app)
    question = ("Question", "How hot is green tea?", "How hot is black tea?")
    assert question in map(told, groups["Settings"]["differing"])
    marked = next(row for row in groups["Settings"]["differing"] if row["name"] == "Question")
    assert ["removed", "green"] in marked["first"]
    assert ["added", "black"] in marked["second"]
    app.button(key="compared-B").click().run()
    assert dict(app.query_params) == {"run": second}


def test_equal_runs_have_no_difference_but_their_time(kitchen: ScriptableWorkspace) -> None:
    run_id = ask(kitchen)
    app = open_page("runs", run=run_id, **{"with": run_id})
    groups = groups_of(app)
    assert not any(group["differing"] for group in groups.values())
    assert "Every step is the same." in texts(app)
    assert [told(row) for row in groups["Passages"]["same"]]


def open_repeat(kitchen: ScriptableWorkspace) -> tuple[AppTest, str, str]:
    """The form that runs an answer again from its reply, its run, and the id of the reply."""
    run_id = ask(kitchen)
    app = open_page("runs", run=run_id, step=find_step(kitchen, run_id, "model"))
    (reply,) = [
        one.event.call_id
        for one in queries.events(kitchen.ledger, OWNER, run_id)
        if isinstance(one.event, ModelReplied) and one.event.purpose == "chat"
    ]
    app.button(key=f"again-from-{reply}").click().run()
    return app, run_id, reply


def test_a_call_is_run_again_with_another_reply_and_compared(
    kitchen: ScriptableWorkspace,
) -> None:
    app, run_id, reply = open_repeat(kitchen)
    app.text_area(key=f"again-reply-{reply}").set_value("It takes 95 degrees [1].")
    (form,) = [one for one in app.button if one.label == "Run again"]
    form.click().run()
    (again,) = sides.find_repeats(kitchen.ledger, OWNER, run_id)
    assert dict(app.query_params) == {"run": run_id, "with": again}
    settle(app)
    answer = groups_of(app)["Answer"]["differing"][0]
    assert "80 degrees" in told(answer)[1]
    assert "95 degrees" in told(answer)[2]
    assert "added" in [how for how, _ in answer["second"]]
    assert [one.value for one in app.warning] == []
    app = open_page("runs", run=run_id)
    app.button(key=f"compare-{run_id}-{again}").click().run()
    assert dict(app.query_params) == {"run": run_id, "with": again}


def test_runs_that_go_on_are_compared_when_they_have_ended(
    workspace: ScriptableWorkspace, kitchen: ScriptableWorkspace
) -> None:
    """Whichever of the two it is."""
    done = ask(kitchen)
    client = kitchen.halting("It is", " 80 degrees [1].")
    run = kitchen.ask(OWNER, "How hot is it?", collection="Kitchen")
    assert client.halted.wait(60)
    for first, second, name in ((run.id, done, "A"), (done, run.id, "B")):
        app = open_page("runs", run=first, **{"with": second})
        assert f"{name} goes on. When it has ended, both are compared here." in texts(app)
    alone = texts(open_page("runs", run=run.id))
    assert "goes on" in alone
    assert "is odd" not in alone, "it has no end yet"
    client.go_on.set()
    settle(app)
    assert groups_of(app)


def test_a_finished_run_is_stepped_through(kitchen: ScriptableWorkspace) -> None:
    run_id = ask(kitchen)
    app = open_page("runs", run=run_id)
    app.toggle(key=f"stepping-on-{run_id}").set_value(True).run()
    assert "1 of " in texts(app)
    while not app.button(key=f"stepping-forward-{run_id}").disabled:
        app.button(key=f"stepping-forward-{run_id}").click().run()
    assert "80 degrees" in texts(app)
    app.slider(key=f"stepping-at-{run_id}").set_value(1).run()
    assert "80 degrees" not in texts(app)


def test_odd_runs_are_compared_all_the_same(workspace: ScriptableWorkspace) -> None:
    """One of an older version without an end, with a reply of ten megabytes, of a newer kind."""
    calls: list[Event] = [
        ModelCalled("c", "Writer", "gone", "gone-model"),
        ModelReplied("c", "Writer", "gone", "gone-model", text="x" * 10_000_000),
        Unknown("Dreamt", {"of": "tea"}),
    ]
    first = keep(workspace, *calls[:1], run_id="first")
    second = keep(workspace, *calls, RunFinished(), run_id="second")
    app = open_page("runs", run=first, **{"with": second})
    names = [told(row)[0] for row in groups_of(app)["Steps"]["differing"]]
    assert names == ["Model gone-model of Writer", "Unknown Dreamt"]
    assert len(str(data_of(app, "comparison"))) < 20_000
    app = open_page("runs", run=first, **{"with": "nothing"})
    assert "There is no run 'nothing'" in texts(app)
