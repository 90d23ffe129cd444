"""Servers of tools that are spoken to for real: what they list and give, and how they fail."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from agentkit import runs
from agentkit.errors import Stopped, ToolServerError
from agentkit.mcp.connecting import MOST_CHARS, ToolFailed, open_connection, start
from agentkit.mcp.servers import ToolServer, confirmed
from tests.mcp.conftest import make_program

NAMES = ["stock", "fail", "flood", "sleep", "die", "letter", "warmth"]


@pytest.fixture(params=["program", "address"])
def server(request: pytest.FixtureRequest) -> ToolServer:
    found: ToolServer = request.getfixturevalue(request.param)
    return found


def test_tools_are_listed_and_called(server: ToolServer) -> None:
    with open_connection(server) as opened:
        tools = {one.name: one for one in opened.list_tools()}
        assert list(tools) == NAMES
        assert tools["stock"].description == "How many of a product are there."
        assert tools["stock"].parameters["required"] == ["product"]
        assert opened.call("stock", {"product": "tea"}) == "7 tea in Vienna"
        with pytest.raises(ToolFailed, match="fail"):
            opened.call("fail", {"why": "no"})
        with pytest.raises(ToolFailed, match="product"):
            opened.call("stock", {})
        with pytest.raises(ToolServerError, match="characters, more than"):
            opened.call("flood", {"count": MOST_CHARS + 1})
        assert opened.call("stock", {"product": "milk"}) == "7 milk in Vienna"


def test_texts_that_stand_in_a_file_are_told_too(program: ToolServer) -> None:
    with open_connection(program) as opened:
        given = opened.call("letter", {})
    assert given.split("\n") == [
        "",
        "# Dear all",
        "[resource, file:///a.png, 4 characters of data left out]",
        "[resource_link, b.txt, file:///b.txt]",
    ]


STILL = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(3600)"


def _make_still(folder: Path) -> ToolServer:
    """A program that never answers."""
    return confirmed(ToolServer("still", (sys.executable, "-c", STILL, str(folder / "pid"))))


def test_a_program_that_never_answers_is_ended_with_a_stop(folder: Path) -> None:
    server = _make_still(folder)
    run = runs.start(lambda: start(server, start_s=3600), kind="chat", owner="mcp")
    pid = _read_pid(folder / "pid")
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nothing_goes_on_when_a_program_is_given_up(folder: Path) -> None:
    with pytest.raises(ToolServerError, match="did not begin to answer within 1 s"):
        start(_make_still(folder), start_s=1)
    assert "mcp-still" not in {thread.name for thread in threading.enumerate()}


def _read_pid(written: Path) -> int:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if written.exists() and (told := written.read_text()):
            return int(told)
        time.sleep(0.05)
    raise AssertionError("it never started")


def test_what_hangs_is_given_up(program: ToolServer) -> None:
    with (
        open_connection(program, call_s=1) as opened,
        pytest.raises(ToolServerError, match="did not answer sleep within 1 s"),
    ):
        opened.call("sleep", {"seconds": 3600})


def test_a_server_that_dies_is_told_with_its_last_words(program: ToolServer) -> None:
    with open_connection(program) as opened:
        with pytest.raises(ToolServerError, match="I am dying"):
            opened.call("die", {})
        with pytest.raises(ToolServerError, match="shop"):
            opened.call("stock", {"product": "tea"})


def test_a_stop_ends_the_wait(program: ToolServer) -> None:
    began = threading.Event()

    def work() -> str:
        with open_connection(program) as opened:
            began.set()
            return opened.call("sleep", {"seconds": 3600})

    run = runs.start(work, kind="chat", owner="mcp")
    assert began.wait(60)
    run.stop()
    with pytest.raises(Stopped):
        run.result()


def test_a_program_has_a_bare_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    command = make_program(folder).command
    server = ToolServer("shop", command, {"SHOP_KEY": "mine"})
    with open_connection(confirmed(server)):
        told = json.loads((folder / "started").read_text())
    assert told["SHOP_KEY"] == "mine"
    assert "secret" not in told.values()
    assert set(told) <= {"SHOP_KEY", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}


def test_a_program_that_nobody_confirmed_is_not_started(folder: Path) -> None:
    command = make_program(folder).command
    for server in (ToolServer("shop", command), ToolServer("shop", command, confirmed="other")):
        with pytest.raises(ToolServerError, match="not confirmed"):
            start(server)
    assert not (folder / "started").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("no-such-program-here",),
        (sys.executable, "-c", "print('this is no MCP'); raise SystemExit('broken')"),
    ],
)
def test_what_is_no_server_is_told(command: tuple[str, ...]) -> None:
    server = ToolServer("odd", command)
    with pytest.raises(ToolServerError, match="odd did not begin to answer"):
        start(confirmed(server), start_s=20)


def test_an_address_where_nobody_answers_is_told() -> None:
    with pytest.raises(ToolServerError, match="away did not begin to answer"):
        start(ToolServer("away", url="http://127.0.0.1:9/mcp"), start_s=20)
