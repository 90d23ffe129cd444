"""`runs` and `trace`: the same as on the Runs page, for terminals and scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.database import Database
from agentkit.events import Event, ModelCalled, ModelReplied, Recorded, RunFailed, RunStarted, Usage
from agentkit.ledger import Ledger, LedgerWriter, RunKey
from tests.cli.conftest import Cli

BEGAN = 1_780_000_000.0  # a day in May of 2026
PROMPT = {"role": "user", "content": "How long is the Danube?"}


@pytest.fixture
def two(data: Path) -> None:
    """A ledger with a question that failed, and a script that has no end."""
    database = Database(data / "agentkit.duckdb")
    ledger = Ledger(database)
    called = ModelCalled("c", "Writer", "server", "small", messages=[PROMPT])
    replied = ModelReplied("c", "Writer", "server", "small", usage=Usage(90, output=10), cost=0.5)
    failed = RunFailed("the server went away", "ModelUnreachable")
    first: list[Event] = [RunStarted("chat", "How long?", team="answer"), called, replied, failed]
    second: list[Event] = [RunStarted("script", "rivers.py"), called]
    for run_id, events in (("first", first), ("second", second)):
        writer = LedgerWriter(ledger, RunKey(run_id, "local"))
        for seq, event in enumerate(events, start=1):
            writer.write(Recorded(seq, BEGAN + seq + 86_400 * (run_id == "second"), event))
        writer.flush()
    database.close()


@pytest.mark.usefixtures("two")
def test_runs_are_found_and_sorted(cli: Cli) -> None:
    def found(*options: str) -> list[str]:
        return [run["id"] for run in cli("runs", *options, "--json").json["runs"]]

    assert found() == ["second", "first"]
    assert found("--sort", "dearest") == ["first", "second"]
    assert found("--search", "LONG") == ["first"]
    assert found("--state", "failed", "--state", "stopped") == ["first"]
    assert found("--kind", "script") == ["second"]
    assert found("--team", "answer") == ["first"]
    assert found("--model", "small") == ["first"]
    assert found("--until", "2026-05-28") == ["first"]
    assert found("--since", "2026-05-29") == ["second"]
    assert "No run fits" in cli("runs", "--search", "nothing").err


@pytest.mark.usefixtures("two")
def test_two_runs_are_compared(cli: Cli) -> None:
    told = cli("trace", "first", "--with", "second").out
    assert "They differ from “Model small of Writer” on" in told
    assert "State" in told
    whole = cli("trace", "first", "--with", "second", "--json").json
    assert (whole["first"], whole["second"]) == ("first", "second")
    (step,) = whole["steps"]
    assert {fact["name"] for fact in step["differs"]} == {"reply", "status", "error"}
    assert cli("trace", "first", "--with", "first").out.startswith("Every step is the same.")
    missing = cli("trace", "first", "--with", "nothing")
    assert "There is no run 'nothing'" in missing.err


@pytest.mark.usefixtures("two")
def test_a_run_is_told_step_by_step(cli: Cli) -> None:
    told = cli("trace", "first")
    run, call, *_ = [" ".join(line.split()) for line in told.out.splitlines()[1:]]
    assert run == "0 Run How long? 0.00 3.0 s · 100 tokens · $0.5000 · failed *"
    assert call == "2 Model small Writer 1.00 1.0 s · 100 tokens · $0.5000 *"
    whole = cli("trace", "first", "--json").json
    assert whole["run"]["state"] == "failed"
    assert whole["spans"][1]["events"][0]["messages"] == [PROMPT]
    step = cli("trace", "first", "--step", "c").json
    assert [span["seq"] for span in step["spans"]] == [2]


@pytest.mark.usefixtures("two")
def test_what_is_odd_or_not_there_is_told(cli: Cli) -> None:
    newest = cli("trace")
    assert "rivers.py" in newest.out
    assert "odd: the run has no end" in newest.err
    missing = cli("trace", "nowhere")
    assert (missing.code, "There is no run 'nowhere'" in missing.err) == (1, True)
    assert "has no step '9'" in cli("trace", "first", "--step", "9").err
