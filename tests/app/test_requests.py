"""What was sent to a model, on the chat page: below its call, at the level that shows
everything.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.events import ModelCalled
from agentkit.ledger import queries
from agentkit.messages import text_of
from agentkit.ui.shared import downloads
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle

Ingest = Callable[[str, dict[str, str]], None]
TEA = "Green tea is made with water of 80 degrees."


def ask(app: AppTest, text: str) -> AppTest:
    app.chat_input[0].set_value(text).run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def unfolded(app: AppTest, *keys: str) -> AppTest:
    """The page after clicks on these expanders."""
    app.segmented_control(key="level-choice").set_value("everything").run()
    for key in keys:
        app.session_state[key] = True
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def labels(app: AppTest) -> list[str]:
    return [one.label for one in app.expander]


def test_a_stored_call_shows_its_request_when_it_is_unfolded(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("At 80 degrees [1].")
    app = settle(ask(open_page("chat"), "How hot is green tea?"))
    (answer,) = [
        one
        for one in workspace.ledger.thread(OWNER, app.query_params["chat"])
        if one.role == "assistant"
    ]
    heard = [one.event for one in queries.events(workspace.ledger, OWNER, answer.run_id or "")]
    (called,) = [one for one in heard if isinstance(one, ModelCalled) and one.purpose == "chat"]
    steps = f"steps-{answer.run_id}"
    app.segmented_control(key="level-choice").set_value("calls").run()
    app.session_state[steps] = True
    assert "Request as sent" not in labels(app.run()), "only where everything is shown"
    unfolded(app, steps)
    assert labels(app).count("Request as sent") == 1
    assert not any(TEA in one.value for one in app.code), "nothing is read before it is unfolded"
    unfolded(app, f"request-{called.call_id}")
    shown = [one.value for one in app.code]
    assert [text_of(one["content"]) for one in called.messages] == shown[: len(called.messages)]
    assert any(TEA in one for one in shown)
    assert '"model": "scripted"' in shown[-1]
    said = [one.value for one in app.caption]
    assert [f"**{one['role']}**" for one in called.messages] == [
        one for one in said if one in ("**system**", "**user**")
    ]
    assert any("of JSON" in one and "0 tools" in one for one in said)
    assert "**Parameters**" in said
    (link,) = [
        one.proto.url for one in app.get("link_button") if one.proto.label == "Download the request"
    ]
    file = TestClient(Starlette(routes=[downloads.ROUTE])).get(f"/{link}")
    request = workspace.ledger.request_of(OWNER, called.call_id)
    assert file.content.decode() == request.json
    assert request.messages == called.messages
    workspace.ledger.database.execute("delete from request_parts")
    assert any("is kept" in one.value for one in app.run().caption)


def test_a_call_that_goes_on_shows_its_request(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("At 80", " degrees [1].")
    app = ask(open_page("chat"), "How hot is green tea?")
    assert client.halted.wait(120)
    (run,) = runs.live(OWNER)
    (called,) = [
        one.event
        for one in run.events()
        if isinstance(one.event, ModelCalled) and one.event.purpose == "chat"
    ]
    unfolded(app, f"request-{called.call_id}")
    assert any(TEA in one.value for one in app.code)
    client.go_on.set()
    settle(app)
