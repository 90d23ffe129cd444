"""`team` over a data folder: people's own teams kept, found, taken away, and measured."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit.retrieval import Question
from agentkit.settings import load_settings
from tests.cli.conftest import Cli, program
from tests.cli.program import open_with_fake
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages
from tests.teams.built import drafts


@pytest.fixture
def model(server: OpenAIServer, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    server.script = answer_from_passages


def write(path: Path, name: str) -> Path:
    path.write_text(json.dumps({**drafts.retrieve_chat(), "name": name}))
    return path


def test_a_team_is_kept_found_and_taken_away(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "tea.json", "Tea readers")
    key = cli("team", "import", file).out.strip()
    assert key.endswith(":1")
    newer = cli("team", "import", write(file, "Tea experts"), "--team", key)
    assert "version 2" in newer.err
    first = cli("team", "list", "--json").json["teams"][0]
    assert (first["team"], first["name"], first["variant"]) == (
        newer.out.strip(),
        "Tea experts",
        "version 2",
    )
    assert cli("team", "show", key).json["name"] == "Tea readers"
    assert cli("team", "show", "Tea experts").json["name"] == "Tea experts"
    compile(cli("team", "export", "Tea experts", "--format", "py").out, "team.py", "exec")
    assert cli("team", "export", key, "--format", "ipynb").json["nbformat"] == 4
    assert cli("team", "show", "group").json["name"] == "Group of three"


def test_of_several_workflows_one_is_taken(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "studio.json"
    ends = {"sender": {"type": "userproxy"}, "receiver": {"type": "assistant"}}
    flows = [{"name": name, **ends} for name in ("First", "Second")]
    file.write_text(json.dumps({"workflows": flows}))
    told = cli("team", "import", file, "--workflow", "2").err
    assert "First: this workflow is a team of its own; import it, too." in told
    assert "Kept “Second”" in told


def test_what_is_not_there_or_not_clear_is_told(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "tea.json", "Tea readers")
    for _ in range(2):
        cli("team", "import", file)
    assert "2 teams are called 'Tea readers'" in cli("team", "show", "Tea readers").err
    assert "There is no team 'nobody'" in cli("team", "show", "nobody").err
    assert "There is no team 'my-none'" in cli("team", "eval", "my-none", "Ours").err
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({**drafts.single(), "flow": {"kind": "single", "agent": "No"}}))
    ended = cli("team", "import", broken)
    assert (ended.code, ended.out) == (1, "")


@pytest.mark.usefixtures("model")
def test_a_set_is_put_to_a_team_and_compared(filled: Cli, tmp_path: Path) -> None:
    _make_set()
    filled("team", "import", write(tmp_path / "tea.json", "Tea readers"))
    first = filled("team", "eval", "Tea readers", "Ours", "--json")
    assert "1 to 20 calls of models, by the limits of the team" in first.err
    found = first.json
    assert found["state"] == "finished"
    assert [one["cited"] for one in found["questions"]] == [
        [{"document": "deep/pump.txt", "passages": 1}]
    ]
    assert (found["sums"]["right"], found["sums"]["score"]) == (1, 1.0)
    again = filled("team", "eval", "answer", "Ours", "--with", found["evaluation"])
    assert "No score differs over 1 question." in again.out
    assert "1 of 1 citation right" in again.err
    assert "deep" not in filled("team", "eval", "answer", "None such").out


@pytest.mark.usefixtures("model")
def test_an_evaluation_is_compared_with_the_last_one_over_the_same_collection(
    filled: Cli, papers: Path
) -> None:
    _make_set()
    filled("ingest", papers, "--collection", "Small")
    asked = ["team", "eval", "answer", "Ours"]
    first = filled(*asked, "--json").json
    assert "compared" not in filled(*asked, "--collection", "Small", "--json").json
    compared = filled(*asked, "--json").json["compared"]
    assert (compared["evaluation"], compared["collection"]) == (first["evaluation"], "Documents")
    by_hand = filled(*asked, "--collection", "Small", "--with", first["evaluation"])
    assert "It looked into “Small” and the earlier one into “Documents”: " in by_hand.out
    assert "looked into" not in filled(*asked).out


@pytest.mark.usefixtures("model")
def test_the_exit_code_says_that_a_question_failed(filled: Cli, server: OpenAIServer) -> None:
    _make_set("How long is its garden?")
    server.script = _refuse_the_garden
    told = filled("team", "eval", "answer", "Ours", "--json")
    assert (told.code, told.json["sums"]["asked"], told.json["sums"]["failed"]) == (1, 2, 1)
    assert "failed: " in told.err
    assert filled("team", "eval", "answer", "Ours").code == 1
    server.script = answer_from_passages
    assert filled("team", "eval", "answer", "Ours").code == 0


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("form", ["--json", "--at-once=1"])
def test_the_exit_code_says_that_it_was_interrupted(
    filled: Cli, server: OpenAIServer, form: str
) -> None:
    _make_set("How long is its garden?")
    server.script = _halt_at_the_garden
    with program("team", "eval", "answer", "Ours", "--at-once", "1", form) as running:
        assert running.stderr
        assert any(line.startswith("1: ") for line in running.stderr)  # it is followed
        while len(server.chats) < 2:
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "stopped" in out


@pytest.mark.usefixtures("model")
def test_an_evaluation_that_was_stopped_goes_on(
    filled: Cli, tmp_path: Path, server: OpenAIServer
) -> None:
    _make_set("How long is its garden?")
    key = filled("team", "import", write(tmp_path / "tea.json", "Tea readers")).out.strip()
    left = _break_off(server, key)
    whole = filled("team", "eval", "--go-on", left, "--json")
    assert "If it breaks off, `team eval --go-on" in whole.err
    assert (whole.json["state"], len(whole.json["questions"])) == ("finished", 2)
    assert len(server.chats) == whole.json["sums"]["calls"]
    assert "gone on with already" in filled("team", "eval", "--go-on", left).err
    assert filled("team", "eval", key, "Ours", "--go-on", left).code == 2
    assert filled("team", "eval", key).code == 2


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("held", [False], indirect=True)
def test_an_evaluation_whose_process_was_killed_goes_on_and_pays_nothing_twice(
    filled: Cli, tmp_path: Path, server: OpenAIServer
) -> None:
    _make_set("How long is its garden?")
    key = filled("team", "import", write(tmp_path / "tea.json", "Tea readers")).out.strip()
    server.script = _halt_at_the_garden
    killed = program("team", "eval", key, "Ours", "--at-once", "1")
    while len(server.chats) < 2:
        assert killed.poll() is None
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    out, err = killed.communicate(timeout=60)
    assert (killed.returncode, out) == (-signal.SIGKILL, "")
    left = re.search(r"--go-on (\S+?)`", err)
    assert left, err
    server.script = answer_from_passages
    whole = filled("team", "eval", "--go-on", left[1], "--json").json
    assert (whole["state"], len(whole["questions"])) == ("finished", 2)
    asked = ["garden" in json.dumps(one) for one in server.chats]
    assert asked == [False, True, True]  # but for the one that nobody replied to, each once
    assert whole["sums"]["calls"] == 2
    assert filled("usage", "--purpose", "chat", "--json").json["totals"]["calls"] == 2


def _halt_at_the_garden(body: dict[str, Any]) -> Answer:
    """A server that never answers the second question."""
    answer = answer_from_passages(body)
    return replace(answer, halt_after=0) if "its garden" in json.dumps(body) else answer


def _refuse_the_garden(body: dict[str, Any]) -> Answer:
    """A server that takes the second question for wrong."""
    if "its garden" in json.dumps(body):
        return Answer(status=400, error={"message": "wrong question"})
    return answer_from_passages(body)


def _break_off(server: OpenAIServer, team: str) -> str:
    """An evaluation that is stopped while its second question waits for a reply."""
    server.script = _halt_at_the_garden
    workspace = open_with_fake(load_settings())
    run = workspace.evaluate_team("local", team, "Ours", at_once=1)
    while len(server.chats) < 2:
        assert not run.wait(0.01)
    run.stop()
    assert run.wait(60)
    workspace.close()
    server.script = answer_from_passages
    return run.id


def _make_set(*more: str) -> None:
    workspace = open_with_fake(load_settings())
    asked = ["How long is the warranty of the pump?", *more]
    questions = [Question(text, {"deep/pump.txt": 1}) for text in asked]
    workspace.library.questions.create("local", "Ours", "Documents", questions)
    workspace.close()
