"""Driving the app in tests: open a page, and wait for what runs in the background."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.events import CodeRan
from agentkit.runs import Run

ROOT = Path(__file__).resolve().parent.parent.parent
OWNER = "local"


def open_page(name: str, **address: str) -> AppTest:
    """The app at a page of the navigation (`chat`, `documents`, ...), with these values in its
    address, run once.
    """
    app = AppTest.from_file(str(ROOT / "agentkit/ui/shell/router.py"), default_timeout=120)
    if name != "chat":
        app.run()
        app.switch_page(str(ROOT / f"pages/{name}.py"))
    for key, value in address.items():  # else the chat, which is run first, would take them
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def settle(app: AppTest) -> AppTest:
    """Wait for all runs that go on, then draw the page again."""
    for run in runs.live(OWNER):
        assert run.wait(120), f"run {run.title!r} did not end"
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def until_asked(app: AppTest, run: Run[Any], earlier: str = "") -> str:
    """Wait until the run asks something (else than before), draw the page, and give the id of the
    question.
    """
    for _ in range(2_400):
        if (request := run.waiting_for) and request.request_id != earlier:
            app.run()
            assert not app.exception, app.exception[0].stack_trace
            return request.request_id
        assert not run.wait(0.05), "the run ended without asking"
    raise AssertionError("the run asks nothing")


def open_cells(app: AppTest, run: Run[Any]) -> None:
    """Unfold what ran in the chat's kernel, among steps that are unfolded."""
    for event in (one.event for one in run.events()):
        if isinstance(event, CodeRan) and event.cell:
            app.session_state[f"cell-{event.cell.id}"] = True
    app.run()
    assert not app.exception, app.exception[0].stack_trace


def piece(app: AppTest, name: str) -> dict[str, Any]:
    """What a piece of our own JavaScript, such as the list of chats, was given to draw."""
    told = json.loads(_piece(app, name).json)
    found: dict[str, Any] = told[0] if isinstance(told, list) else told
    return found


def tell(app: AppTest, piece: str, event: str, **told: object) -> AppTest:
    """Do something in such a piece: what it tells its page then."""
    states = app._tree.get_widget_states()
    told_as = json.dumps([{"event": event, "value": told}])
    states.widgets.add(
        id=f"$$STREAMLIT_INTERNAL_KEY_{_piece(app, piece).id}__events", json_trigger_value=told_as
    )
    app._run(states)
    assert not app.exception, app.exception[0]
    return app


def _piece(app: AppTest, name: str) -> Any:
    pieces = (element.proto for element in app.get("bidi_component"))
    return next(one for one in pieces if one.component_name == f"agentkit_{name}")


def press(app: AppTest, what: str, request: str) -> None:
    """Click the button that is for this, of the question of that id."""
    app.button(key=f"{what}-{request}").click().run()
    assert not app.exception, app.exception[0].stack_trace


def texts(app: AppTest) -> str:
    """All that the page says, without the signs that keep it from being Markdown."""
    shown = (app.markdown, app.caption, app.success, app.warning, app.error, app.info, app.text)
    return "\n".join(str(element.value) for elements in shown for element in elements).replace(
        "\\", ""
    )
