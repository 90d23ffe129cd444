"""`usage`, `runs`, `eval`, `doctor` and the help."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas
import pytest

from agentkit.cli.usage.days import find_local_zone
from agentkit.coding import bubblewrap_works
from agentkit.database import Database
from agentkit.events import Usage
from agentkit.ledger import Chat, Ledger
from agentkit.ledger.export import table_csv
from agentkit.retrieval.store.questions import Question
from agentkit.settings import load_settings
from agentkit.workspace import Workspace
from tests.cli.conftest import PROJECT, Cli, program
from tests.cli.program import open_with_fake
from tests.ledger.conftest import call, record
from tests.servers.openai_server import Answer, OpenAIServer


@pytest.fixture
def chat(data: Path) -> Chat:
    """A ledger with three calls: one priced, one not, one failed."""
    database = Database(data / "agentkit.duckdb")
    ledger = Ledger(database)
    chat = ledger.create_chat("local", "=Rivers", "answer", "offline", "Documents")
    record(ledger, [call(Usage(100, output=20), cost=0.25)], owner="local", chat_id=chat.id)
    record(
        ledger,
        [call(Usage(10, output=2, estimated=True), model="secret")],
        owner="local",
        chat_id=chat.id,
    )
    record(ledger, [call(cost=0.5)], owner="somebody else")
    database.close()
    return chat


def test_usage_as_an_object(cli: Cli, chat: Chat) -> None:
    for by in ("day", "model", "agent", "chat", "run"):
        found = cli("usage", "--by", by, "--zone", "UTC", "--json").json
        assert found["by"] == by
        assert sum(row["calls"] for row in found["rows"]) == found["totals"]["calls"] == 2
        assert found["totals"]["cost"] == 0.25
        assert found["totals"]["unpriced"] == 1
    assert [
        row["key"] for row in cli("usage", "--by", "day", "--zone", "UTC", "--json").json["rows"]
    ] == ["2026-03-01"]
    costs = {
        row["key"]: row["cost"] for row in cli("usage", "--by", "model", "--json").json["rows"]
    }
    assert costs == {"small": 0.25, "secret": None}


def test_usage_for_people(cli: Cli, chat: Chat) -> None:
    lines = cli("usage").out.splitlines()
    assert (
        " ".join(lines[0].split())
        == "model calls failed tokens in tokens out cost unpriced median s 95 % s"
    )
    assert [line.split()[:7] for line in lines if line.startswith(("small", "secret"))] == [
        ["small", "1", "0", "100", "20", "$0.2500", "0"],
        ["secret", "1", "0", "~10", "~2", "unknown", "1"],
    ]
    assert lines[-1].split()[5:7] == ["$0.2500", "1"]


def test_usage_takes_the_filters_of_the_page(cli: Cli, chat: Chat) -> None:
    for options, calls in [
        (["--model", "small"], 1),
        (["--model", "small", "--model", "secret"], 2),
        (["--collection", "Documents", "--chat", chat.id], 2),
        (["--status", "failed"], 0),
        (["--provider", "server", "--agent", "Assistant", "--purpose", "chat"], 2),
        (["--since", "2026-03-01", "--until", "2026-03-01"], 2),
        (["--since", "2026-03-02"], 0),
        (["--days", "1"], 0),
        (["--owner", "local"], 2),
    ]:
        found = cli("usage", "--by", "team", "--zone", "UTC", "--json", *options).json
        assert found["totals"]["calls"] == sum(row["calls"] for row in found["rows"]) == calls
    assert {"p99_s", "tokens_per_s", "retries"} <= set(found["totals"])
    assert "is not a day" in cli("usage", "--since", "yesterday", "--json").json["error"]


def test_usage_of_all_where_the_installation_says_so(
    cli: Cli, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_USAGE_OF_ALL", "true")
    found = cli("usage", "--by", "owner", "--json").json
    assert {row["key"]: row["calls"] for row in found["rows"]} == {"local": 2, "somebody else": 1}
    assert cli("usage", "--owner", "somebody else", "--json").json["totals"]["cost"] == 0.5


def test_the_calls_of_others_are_refused_where_the_installation_does_not_show_them(
    cli: Cli, chat: Chat
) -> None:
    for options in ([], ["--show", "speed"], ["--owner", "local"]):
        refused = cli("usage", "--owner", "somebody else", *options, "--json")
        assert (refused.code, refused.json["error_type"]) == (1, "ConfigError")
        assert "What somebody else asked is not shown to others" in refused.err
        assert "AGENTKIT_USAGE_OF_ALL=true" in refused.err


def test_a_zone_that_is_none_is_told(cli: Cli, chat: Chat) -> None:
    assert "no time zone 'Mars'" in cli("usage", "--zone", "Mars", "--json").json["error"]


def test_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for named in (":Europe/Berlin", "Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin"):
        monkeypatch.setenv("TZ", named)
        assert find_local_zone() == "Europe/Berlin"
    monkeypatch.delenv("TZ")
    usual = find_local_zone()
    for named in (":/etc/localtime", "CET-1CEST,M3.5.0,M10.5.0/3", "Mars", "Europe", ""):
        monkeypatch.setenv("TZ", named)
        assert find_local_zone() == usual


def test_usage_is_told_wherever_the_zone_stands(
    cli: Cli, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", ":/etc/localtime")
    assert cli("usage", "--json").json["totals"]["calls"] == 2


def test_calls_as_csv(cli: Cli, chat: Chat, tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    assert cli("usage", "--csv", path).code == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["cost"], row["input_tokens"]) for row in rows] == [
        ("small", "0.25", "100"),
        ("secret", "", "10"),
    ]
    assert {row["chat"] for row in rows} == {"'=Rivers"}  # a spreadsheet must not run it
    parquet = tmp_path / "calls.parquet"
    assert cli("usage", "--parquet", parquet).code == 0
    assert pandas.read_parquet(parquet).chat.tolist() == ["=Rivers", "=Rivers"]
    refused = cli("usage", "--csv", tmp_path / "none" / "calls.csv", "--json")
    assert (refused.code, refused.json["error_type"]) == (1, "ConfigError")


def test_usage_in_sql(cli: Cli, chat: Chat, tmp_path: Path) -> None:
    sql = "select model, cost, chat from calls order by model"
    lines = cli("usage", "--sql", sql).out.splitlines()
    assert [line.split() for line in lines] == [
        ["model", "cost", "chat"],
        ["secret", "=Rivers"],
        ["small", "0.25", "=Rivers"],
    ]
    assert cli("usage", "--sql", sql, "--format", "json").lines == [
        {"model": "secret", "cost": None, "chat": "=Rivers"},
        {"model": "small", "cost": 0.25, "chat": "=Rivers"},
    ]
    assert cli("usage", "--sql", sql, "--format", "csv").out.splitlines()[2] == (
        '"small",0.25,"\'=Rivers"'
    )
    path = tmp_path / "dear.parquet"
    assert cli("usage", "--sql", sql, "--out", path).err == f"2 rows in {path}.\n"
    assert pandas.read_parquet(path).cost.sum() == cli("usage", "--json").json["totals"]["cost"]
    refused = cli("usage", "--sql", "drop table calls", "--json")
    assert (refused.code, refused.json["error_type"]) == (1, "SqlRefused")


def test_options_of_usage_that_do_not_go_together_are_refused(
    cli: Cli, chat: Chat, tmp_path: Path
) -> None:
    for options in (["--format", "csv"], ["--out", tmp_path / "u.csv"], ["--format=json"]):
        refused = cli("usage", "--by", "team", *options)
        assert (refused.code, refused.out) == (2, "")
        assert "--sql SELECT" in refused.err
    sql = ("--sql", "select model from calls order by model")
    for options in (["--days", 1], ["--model", "small"], ["--show", "bill"], ["--owner", "local"]):
        refused = cli("usage", *sql, *options)
        assert (refused.code, refused.out) == (2, "")
        assert "in the SELECT" in refused.err
    assert list(tmp_path.glob("u.csv")) == []
    assert cli("usage", *sql, "--json").lines == [{"model": "secret"}, {"model": "small"}]
    assert cli("usage", *sql, "--json", "--format", "csv").out.startswith('"model"\n')


def test_numbers_stay_numbers_in_csv() -> None:
    import pandas as pd

    frame = pd.DataFrame({"text": ["-1+1", "@a", "fine", None], "number": [-1, 2, 3, 4]})
    assert table_csv(frame) == "text,number\n'-1+1,-1\n'@a,2\nfine,3\n,4\n"


def test_an_empty_ledger(cli: Cli) -> None:
    assert cli("usage", "--json").json["rows"] == []
    assert "No model was called yet" in cli("usage").err
    for narrowed in (["--status", "failed"], ["--days", "1"], ["--owner", "local"]):
        assert "choose more days, or other filters" in cli("usage", *narrowed).err
    assert cli("runs", "--json").json == {"runs": []}
    assert "Nothing was run yet" in cli("runs").err


def test_runs(cli: Cli, chat: Chat) -> None:
    first, second = cli("runs", "--json").json["runs"]
    assert {first["started_at"], second["started_at"]} == {"2026-03-01T12:00:00Z"}
    assert {first["tokens"], second["tokens"]} == {120, 12}
    assert {first["cost"], second["cost"]} == {0.25, None}
    table = cli("runs", "--limit", 1).out
    assert "2026-03-01 12:00" in table
    assert len([line for line in table.splitlines() if "finished" in line]) == 1
    assert cli("runs", "--limit", 0).code == 2


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    folder.mkdir()
    texts = {
        "r": "The Danube ends in the Black Sea.",
        "p": "The warranty of the pump is long.",
        "t": "Green tea is brewed.",
    }
    (folder / "corpus.jsonl").write_text(
        "".join(
            json.dumps({"_id": key, "title": "", "text": text}) + "\n"
            for key, text in texts.items()
        )
    )
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "warranty pump"}\n{"_id": "q2", "text": "green tea"}\n'
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp\t1\nq2\tt\t1\n")
    return folder


@pytest.mark.parametrize("held", [False])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_eval(cli: Cli, dataset: Path, data: Path, mode: str) -> None:
    shutil.rmtree(data)
    ended = cli("eval", dataset, "--mode", mode, "--json")
    assert ended.code == 0
    assert ended.err == ""
    found = ended.json
    assert set(found) == {
        "mode",
        "ndcg@10",
        "recall@10",
        "recall@100",
        "mrr@10",
        "seconds",
        "query_seconds",
        "queries",
        "documents",
    }
    assert [
        found[name] for name in ("mode", "ndcg@10", "recall@100", "mrr@10", "queries", "documents")
    ] == [mode, 1, 1, 1, 2, 3]
    assert not data.exists()  # the user's own store is not touched


def test_eval_for_people_and_of_nothing(cli: Cli, dataset: Path, tmp_path: Path) -> None:
    assert "ndcg@10        1.0000\n" in cli("eval", dataset).out
    ended = cli("eval", tmp_path / "none", "--json")
    assert (ended.code, ended.json["error_type"]) == (1, "ConfigError")


def test_eval_of_a_set_in_the_store(filled: Cli, papers: Path) -> None:
    with opened_store() as workspace:
        expected = {
            document.name: 1
            for document in workspace.library.documents("local", "Documents", "pump")
        }
        workspace.library.questions.create(
            "local", "Pumps", "Documents", [Question("warranty of the pump", expected)]
        )
    ended = filled("eval", "--set", "Pumps", "--mode", "lexical", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [ended.json[name] for name in ("set", "collection", "mode", "mrr@10", "queries")] == [
        "Pumps",
        "Documents",
        "lexical",
        1,
        1,
    ]
    assert ended.json["against"] is None
    assert ended.json["intervals"]["mrr@10"] is None, "one question does not tell"
    told = filled("eval", "--set", "Pumps", "--collection", "Documents").out
    assert "recall@100     1.0000\n" in told
    assert "ndcg@10        +0.00 over 1 question: no question differs\n" in told
    with opened_store() as workspace:
        kept = workspace.library.questions.history(
            "local", workspace.library.questions.named("local", "Pumps").id
        )
    assert [one.options.mode for one in kept] == ["hybrid", "lexical"]
    against = filled("eval", "--set", "Pumps", "--json").json["against"]
    assert (against["settings"]["mode"], against["ndcg@10"]["verdict"]) == ("hybrid", "same")
    assert filled("eval", "--set", "None", "--json").json["error_type"] == "NotFound"
    assert filled("eval").code == filled("eval", papers, "--set", "Pumps").code == 2
    assert filled("eval", papers, "--collection", "Documents").code == 2


@contextmanager
def opened_store() -> Iterator[Workspace]:
    workspace = open_with_fake(load_settings())
    yield workspace
    workspace.close()


def checks(found: dict[str, list[dict[str, object]]]) -> dict[object, object]:
    return {check["name"]: check["ok"] for check in found["checks"]}


def test_doctor_finds_all_well(filled: Cli) -> None:
    ended = filled("doctor", "--json")
    assert ended.code == 0
    assert ended.json["ok"] is True
    assert checks(ended.json) == dict.fromkeys(
        [
            "packages",
            "data folder",
            "privacy",
            "database",
            "store and indexes",
            "originals",
            "embedding model",
            "backups",
            "model",
            "sandbox",
        ],
        True,
    )
    assert filled("doctor").out.count("ok  ") == 10


def test_doctor_finds_originals_that_changed_or_are_gone(cli: Cli, papers: Path) -> None:
    cli("ingest", papers)
    with opened_store() as workspace:
        one, two = workspace.library.documents("local", "Documents")[:2]
        workspace.library.original("local", one.id).write_bytes(b"something else")
        workspace.library.original("local", two.id).unlink()
    ended = cli("doctor", "--json")
    assert ended.code == 1
    found = next(check for check in ended.json["checks"] if check["name"] == "originals")
    assert not found["ok"]
    assert (
        f"The original of {one.name} in Documents is not whole: its content has changed"
        in found["detail"]
    )
    assert f"The original of {two.name} in Documents is not whole: it is missing" in found["detail"]
    assert "Take these files in once more" in found["advice"]
    cli("ingest", papers)
    assert cli("doctor").code == 0


def test_doctor_says_where_code_of_agents_runs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (
        "ok   sandbox: code that agents write runs in bubblewrap; documents are read in bubblewrap"
    )
    assert told in cli("doctor").out
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap_works.cache_clear()
    try:
        ended = cli("doctor")
    finally:
        bubblewrap_works.cache_clear()
    assert "sandbox: none, so code that agents write is refused" in ended.out
    assert "apt-get install bubblewrap" in ended.out


def test_doctor_says_which_model_answers(
    cli: Cli, shared_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", shared_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    shared_server.script = lambda body: Answer("ready")
    assert cli("doctor", "--json").code == 0
    shared_server.script = lambda body: Answer(status=401, error={"message": "wrong key"})
    ended = cli("doctor", "--json")
    assert ended.code == 1
    model = next(check for check in ended.json["checks"] if check["name"] == "model")
    assert not model["ok"]
    assert "key" in model["detail"]
    assert model["advice"]


@pytest.mark.parametrize("held", [False])
def test_doctor_tells_a_store_that_is_in_use_or_broken(data: Path, cli: Cli) -> None:
    database = Database(data / "agentkit.duckdb")
    with program("doctor", "--json") as running:
        out, err = running.communicate()
    database.close()
    assert running.returncode == 1
    assert err == ""
    found = {check["name"]: check for check in json.loads(out)["checks"]}
    assert not found["database"]["ok"]
    assert "Stop that one first" in found["database"]["advice"]
    assert "sandbox" in found
    (data / "agentkit.duckdb").write_bytes(b"no database")
    ended = cli("doctor")
    assert ended.code == 1
    assert "BAD  database: it does not open" in ended.out


@pytest.mark.parametrize("held", [False])
def test_doctor_tells_a_folder_that_cannot_be_written(cli: Cli, data: Path) -> None:
    shutil.rmtree(data)
    data.write_text("a file is in the way")
    ended = cli("doctor", "--json")
    assert ended.code == 1
    assert checks(ended.json)["data folder"] is False


def test_a_bad_setting_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_MAX_PAGES", "many")
    ended = cli("runs", "--json")
    assert ended.code == 1
    assert ended.json["error"] == (
        "AGENTKIT_MAX_PAGES is 'many', but must be a positive whole number; "
        "correct it, or leave it out for 5000."
    )


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from agentkit.cli import main; code = main(['--help']);"
        "heavy = {'torch', 'duckdb', 'pandas', 'openai', 'numpy', 'streamlit'} & set(sys.modules);"
        "sys.exit(code or (str(heavy) if heavy else 0))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    for command in ("ingest", "search", "ask", "usage", "runs", "eval", "doctor"):
        assert command in ended.stdout


def test_the_module_runs(data: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "agentkit", "runs", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )
    assert json.loads(ended.stdout) == {"runs": []}
    assert ended.stderr == ""
