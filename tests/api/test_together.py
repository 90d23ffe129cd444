"""The app, the command line and a script at work on one folder at the same time, as processes."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentkit.api import address
from tests.api.holder import PROJECT, started
from tests.browser.serving import App, serving
from tests.servers.openai_server import Answer, OpenAIServer

SAMPLES = str(PROJECT / "data" / "samples")

SCRIPT = """
import sys
from agentkit import AssistantAgent, UserProxyAgent, record
from agentkit.llm.calls.scripted import scripted_model

with record("Two clerks"):
    print("begun", flush=True)
    for name in ("Ann", "Bob"):
        model = {"config_list": [{"model": scripted_model(["You have 18 days left."])}]}
        clerk = AssistantAgent(name, llm_config=model)
        user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
        user.initiate_chat(clerk, message="How many days?", max_turns=1, silent=True)
    sys.stdin.read()
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with serving(tmp_path, {}) as running:
        yield running


def command(app: App, *arguments: str, **environment: str) -> Any:
    """What a command writes as JSON; it must end well."""
    with started("-m", "agentkit", *arguments, "--json", **surroundings(app, environment)) as one:
        out, err = one.communicate()
    assert (one.returncode, err) == (0, "")
    values = [json.loads(line) for line in out.splitlines()]
    return values[0] if len(values) == 1 else values


def surroundings(app: App, more: dict[str, str]) -> dict[str, str]:
    return {"AGENTKIT_DATA": str(app.data), **dict.fromkeys(MODEL_SERVER, ""), **more}


MODEL_SERVER = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")


def test_the_app_commands_and_a_script_share_a_folder(app: App, tmp_path: Path) -> None:
    with ExitStack() as meanwhile:
        script = meanwhile.enter_context(started("-c", SCRIPT, **surroundings(app, {})))
        assert script.stdout
        assert script.stdout.readline() == "begun\n"
        ends = command(app, "ingest", SAMPLES)
        assert {one["status"] for one in ends} == {"indexed"}
        question = "How many days of paid leave does an employee get?"
        assert command(app, "search", question)["hits"][0]["document"] == "employee-handbook.pdf"
        answer = command(app, "ask", question)
        assert answer["citations"][0]["document"] == "employee-handbook.pdf"
        usage = command(app, "usage", "--by", "run")
        file = str(tmp_path / "out.agentkit.zip")
        assert command(app, "collection", "export", "Documents", file)["documents"] == len(ends)
        assert command(app, "collection", "import", file, "--name", "Copy")["collection"] == "Copy"
        assert command(app, "doctor")["ok"]
        states = {one["title"]: one["state"] for one in command(app, "runs")["runs"]}
        assert states["Two clerks"] == "running"
        _, err = script.communicate()
        assert (script.returncode, err) == (0, "")
    runs = command(app, "runs")["runs"]
    assert {one["state"] for one in runs} == {"finished"}
    (recorded,) = [one for one in runs if one["kind"] == "script"]
    assert (recorded["title"], recorded["calls"]) == ("Two clerks", 2)
    assert answer["run"] in {row["key"] for row in usage["rows"]}
    with urllib.request.urlopen(f"{app.url}/healthz") as healthy:
        assert json.load(healthy)["problem"] == ""


def test_an_app_that_dies_meanwhile_is_told_in_one_line(app: App) -> None:
    command(app, "ingest", SAMPLES)
    holder = address.read(app.data)
    assert holder is not None
    with OpenAIServer(lambda _: Answer("one two three four", halt_after=2)) as server:
        environment = surroundings(app, {"OPENAI_BASE_URL": server.base_url})
        with started("-m", "agentkit", "ask", "How many days of leave?", **environment) as asking:
            assert asking.stdout
            assert asking.stdout.read(3) == "one"
            os.kill(holder.pid, signal.SIGKILL)
            _, err = asking.communicate()
        assert asking.returncode == 1
        assert re.fullmatch(
            rf"Error: Process {holder.pid}, which held the data folder .*, has ended\..*\n", err
        )
        assert server.broken_off.wait(120), "the model is not asked on for nobody"
    runs = command(app, "runs")["runs"]
    assert [(one["kind"], one["state"]) for one in runs] == [
        ("chat", "interrupted"),
        ("ingest", "finished"),
    ]
    found = command(app, "search", "paid leave", "--mode", "lexical")
    assert found["hits"][0]["document"] == "employee-handbook.pdf"
