"""Runs of which something is missing: of older versions, differing, with models and teams that are
gone. What is wrong is told, and the page stands.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from streamlit.testing.v1 import AppTest

from agentkit import events
from agentkit.events import ModelCalled, ModelReplied, RunFinished
from agentkit.ledger import queries, sides
from agentkit.llm.calls.scripted import ScriptedClient
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts
from tests.app.test_compare import groups_of, told
from tests.app.test_runs import ask, find_step, keep, trace_of


def strip(workspace: ScriptableWorkspace, run_id: str) -> None:
    """Leave of the events of a run what their kinds need, as if its version knew no more."""
    rows = "select seq, kind, data from events where run_id = ?"
    for row in workspace.database.rows(rows, [run_id]):
        kind = getattr(events, row["kind"])
        needed = [one.name for one in dataclasses.fields(kind) if _is_needed(one)]
        data = {name: json.loads(row["data"])[name] for name in needed}
        workspace.database.execute(
            "update events set data = ? where run_id = ? and seq = ?",
            [json.dumps(data), run_id, row["seq"]],
        )


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def open_form(workspace: ScriptableWorkspace, run_id: str) -> tuple[AppTest, str]:
    """The form that runs again from the last call, opened, and that call's id."""
    calls = [one.event for one in queries.events(workspace.ledger, OWNER, run_id)]
    replies = [one for one in calls if isinstance(one, ModelReplied) and one.purpose == "chat"]
    app = open_page("runs", run=run_id, step=replies[-1].call_id)
    app.button(key=f"again-from-{replies[-1].call_id}").click().run()
    return app, replies[-1].call_id


def send(app: AppTest) -> str:
    """Run again as it was, and give all that the page says then."""
    (button,) = [one for one in app.button if one.label == "Run again"]
    button.click().run()
    assert not app.exception
    return texts(app)


def test_a_run_of_an_older_version_is_shown_and_compared(kitchen: ScriptableWorkspace) -> None:
    old, new = ask(kitchen), ask(kitchen)
    strip(kitchen, old)
    app = open_page("runs", run=old)
    spans = trace_of(kitchen, old).spans
    assert {"message", "search", "model"} <= {span.kind for span in spans}
    for span in spans:
        app.query_params["step"] = str(span.seq)
        app.run()
        assert not app.exception, app.exception[0].stack_trace
    app.query_params["step"] = find_step(kitchen, old, "model")
    assert "What was sent is not kept" in texts(app.run())
    app = open_page("runs", run=old, **{"with": new})
    assert groups_of(app)["Steps"]["differing"]
    app, _ = open_form(kitchen, old)
    assert "An older version made this answer and noted too little" in send(app)


def test_a_run_without_an_end_in_another_order_is_compared(workspace: ScriptableWorkspace) -> None:
    for name, *end in (("open",), ("ended", RunFinished())):
        call = ModelCalled(name, "Writer", "gone", "gone")
        reply = ModelReplied(name, "Writer", "gone", "gone")
        keep(workspace, call, reply, *end, run_id=name)
    workspace.database.execute(
        "update events set seq = 5 - seq where run_id = 'open'"  # the reply before its call
    )
    app = open_page("runs", run="open")
    assert "What was stored of this run is odd" in texts(app)
    app = open_page("runs", run="open", **{"with": "ended"})
    took = [told(row) for row in groups_of(app)["What it took"]["differing"]]
    assert ("State", "goes on", "finished") in took


def test_a_model_or_a_team_that_is_gone_is_told_when_it_is_run_again(
    kitchen: ScriptableWorkspace,
) -> None:
    kitchen.script("It takes 80 degrees [1].")
    run = kitchen.ask(OWNER, "How hot?", collection="Kitchen", model_id=kitchen.added[0].id)
    run.result()
    kitchen.added.clear()
    app, call_id = open_form(kitchen, run.id)
    assert "scripted" in send(app)
    assert not sides.find_repeats(kitchen.ledger, OWNER, run.id)
    app.selectbox(key=f"again-model-{call_id}").set_value("offline")
    send(app)
    assert len(sides.find_repeats(kitchen.ledger, OWNER, run.id)) == 1
    settle(app)
    kitchen.database.execute("update runs set team = 'lost' where id = ?", [run.id])
    kitchen.database.execute(
        'update messages set extra = json_merge_patch(extra, \'{"team_id": "lost"}\')'
        " where run_id = ?",
        [run.id],
    )
    app, _ = open_form(kitchen, run.id)
    assert "lost" in send(app)


def test_a_reply_of_ten_megabytes_is_stepped_through_and_run_again(
    kitchen: ScriptableWorkspace,
) -> None:
    run_id = ask(kitchen)
    kitchen.database.execute(
        """update events set data = json_merge_patch(data, ?)
        where run_id = ? and kind = 'ModelReplied' and data->>'purpose' = 'chat'""",
        [json.dumps({"text": "x" * 10_000_000}), run_id],
    )
    app, call_id = open_form(kitchen, run_id)
    assert app.text_area(key=f"again-reply-{call_id}").value == ""
    assert "10,000,000 characters: too many to be changed here" in texts(app)
    app.toggle(key=f"stepping-on-{run_id}").set_value(True).run()
    while not app.button(key=f"stepping-forward-{run_id}").disabled:
        app.button(key=f"stepping-forward-{run_id}").click().run()
    assert len(texts(app)) < 200_000
    app.text_area(key=f"again-reply-{call_id}").set_value("It takes 95 degrees [1].")
    send(app)
    settle(app)
    assert "95 degrees" in told(groups_of(app)["Answer"]["differing"][0])[2]


def test_a_replay_that_differs_stops_there_and_shows_how(kitchen: ScriptableWorkspace) -> None:
    said = ("Green tea takes 80 degrees.", "Nothing is missing.", "80 degrees.\n\n**TERMINATE**")
    model = kitchen.script(*said, *said)
    group = "group:round_robin"
    run = kitchen.ask(OWNER, "How hot?", collection="Kitchen", model_id=model.id, team_id=group)
    run.result()
    again, last = open_form(kitchen, run.id)
    kitchen.database.execute(
        """update events set data = json_merge_patch(data, '{"asked": "something else"}')
        where run_id = ? and data->>'call_id' = (select data->>'call_id' from events
            where run_id = ? and kind = 'ModelCalled' and data->>'agent' = 'Critic')""",
        [run.id, run.id],
    )
    send(again)
    settle(again)
    assert "It was not run again. Critic would be asked something else now than in" in texts(again)
    assert "at its model call 2: its messages are the same" in texts(again)
    assert isinstance(model.client, ScriptedClient)
    assert len(model.client.requests) == 3
    again.button(key="compare-differs").click().run()
    assert again.query_params["run"] == run.id
    assert again.query_params["step"] != last
    assert "you are the critic" in "".join(block.value for block in again.code)
