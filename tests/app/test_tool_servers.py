"""Tools on the pages: MCP servers are added, seen, confirmed and allowed on Settings; functions are
written and tried on Teams.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.mcp.servers import ToolServers
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts as forms_drafts
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page, texts
from tests.servers import mcp_server
from tests.teams.built import drafts

SHOUT = 'def shout(text: str) -> str:\n    """Say it loudly."""\n    return text.upper() + "!"\n'


def run(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    return run(app)


def add_program(app: AppTest, folder: Path) -> AppTest:
    press(app, "add-tool-server")
    app.segmented_control(key="tool-server-kind").set_value("program")
    run(app)
    app.text_input(key="tool-server-name").set_value("shop")
    command = f"{sys.executable} {mcp_server.__file__} {folder}"
    app.text_area(key="tool-server-command").set_value(command)
    app.text_area(key="tool-server-variables").set_value("SHOP_KEY=tea-key-9")
    return press(app, "save-tool-server")


def test_a_program_is_seen_whole_confirmed_listed_and_allowed(
    workspace: ScriptableWorkspace, tmp_path: Path
) -> None:
    servers = ToolServers(workspace.settings.data)
    app = add_program(open_page("settings"), tmp_path)
    assert "nothing of it has run" in texts(app)
    assert not (tmp_path / "started").exists()
    press(app, "start-tools-shop")
    shown = [one.value for one in app.code]
    assert any(str(tmp_path) in one for one in shown)
    assert "tea-key-9" not in "".join([texts(app), *shown])
    assert not (tmp_path / "started").exists()
    press(app, "start-tool-server")
    assert (tmp_path / "started").exists()
    app.checkbox(key="tool-allowed-shop-stock").check()
    app.selectbox(key="tool-marked-shop-stock").set_value("harmless")
    app.checkbox(key="tool-allowed-shop-warmth").check()
    press(app, "allow-shop")
    kept = servers.find("shop")
    assert {name: one.marked for name, one in kept.tools.items()} == {
        "stock": "harmless",
        "warmth": "dangerous",
    }
    (tmp_path / "changed").touch()
    press(app, "test-tools-shop")
    assert any("says something else of itself" in one.value for one in app.warning)
    assert any("Send all secrets" in one.value for one in app.code)
    assert not app.checkbox(key="tool-allowed-shop-warmth").value
    assert app.checkbox(key="tool-allowed-shop-stock").value
    press(app, "remove-tools-shop")
    press(app, "remove-tool-server")
    assert servers.all() == []


def test_what_cannot_be_reached_is_told_and_a_name_counts_once(
    workspace: ScriptableWorkspace,
) -> None:
    app = press(open_page("settings"), "add-tool-server")
    app.text_input(key="tool-server-name").set_value("away")
    app.text_input(key="tool-server-url").set_value("http://127.0.0.1:9/mcp")
    press(app, "save-tool-server")
    press(app, "test-tools-away")
    assert any("away did not begin to answer" in one.value for one in app.error)
    press(app, "add-tool-server")
    app.text_input(key="tool-server-name").set_value("away")
    press(app, "save-tool-server")
    assert any("There is a server away already" in one.value for one in app.error)


def test_no_command_is_added_where_the_app_serves_others(
    workspace: ScriptableWorkspace,
) -> None:
    workspace.adopt(dataclasses.replace(workspace.settings, open=True))
    app = press(open_page("settings"), "add-tool-server")
    app.segmented_control(key="tool-server-kind").set_value("program")
    run(app)
    assert any("no command can be added" in one.value for one in app.warning)
    with pytest.raises(KeyError):
        app.button(key="save-tool-server")


def open_team(document: dict[str, Any]) -> tuple[AppTest, str]:
    team_id = forms_drafts.begin(document)
    app = open_page("teams")
    app.query_params["team"] = team_id
    app.session_state[f"team-{team_id}-row-functions-0"] = True
    return run(app), team_id


def test_a_function_is_written_told_and_tried(workspace: ScriptableWorkspace) -> None:
    app, team_id = open_team(drafts.single())
    press(app, f"team-{team_id}-0-add-functions")
    key = f"team-{team_id}-1-functions-0"
    assert app.text_input(key=f"{key}-name").value == "function1"
    app.text_input(key=f"{key}-name").set_value("shout")
    run(app)
    key = f"team-{team_id}-2-functions-0"
    assert "def shout(text: str)" in str(app.text_area(key=f"{key}-code").value)
    app.text_area(key=f"{key}-code").set_value(SHOUT)
    run(app)
    assert "`text`: string" in texts(app)
    call = f"team-{team_id}-call-functions-0"
    app.text_area(key=f"{call}-given").set_value('{"text": "tea"}')
    press(app, f"{call}-go")
    assert any(one.value == "TEA!" for one in app.code)
    app.text_area(key=f"{call}-given").set_value('{"text": 7}')
    press(app, f"{call}-go")
    assert any("AttributeError" in one.value for one in app.code)
    app.text_area(key=f"{call}-given").set_value("{")
    press(app, f"{call}-go")
    assert any("not valid JSON" in one.value for one in app.error)
    kept = workspace.ledger.settings(state.owner(), "")["teams"][team_id]["document"]
    assert kept["functions"] == [{"name": "shout", "code": SHOUT, "marked": "dangerous"}]


def test_tools_are_added_by_choosing_and_follow_the_names_of_functions(
    workspace: ScriptableWorkspace,
) -> None:
    document = drafts.single(tools=[{"name": "calculate"}])
    document["functions"] = [{"name": "shout", "code": SHOUT}]
    app, team_id = open_team(document)
    app.session_state[f"team-{team_id}-row-agents-0"] = True
    run(app)
    offered = app.selectbox(key=f"team-{team_id}-0-add-agents-0-tools")
    assert offered.value is None
    assert not any(option.startswith("calculate") for option in offered.options)
    assert "No agent may call it yet" in texts(app)
    offered.set_value("shout")
    run(app)
    assert "No agent may call it yet" not in texts(app)
    assert "problem" not in texts(app)
    code = SHOUT.replace("shout(text", "call(words")
    app.text_area(key=f"team-{team_id}-1-functions-0-code").set_value(code)
    run(app)
    kept = workspace.ledger.settings(state.owner(), "")["teams"][team_id]["document"]
    assert [one["name"] for one in kept["agents"][0]["tools"]] == ["calculate", "call"]
    assert app.text_input(key=f"team-{team_id}-2-functions-0-name").value == "call"
    assert app.text_area(key=f"team-{team_id}-call-functions-0-given").value == '{"words": ""}'
    assert not app.button(key="save-team").disabled
