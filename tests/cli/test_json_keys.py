"""What scripts read of `--json`: the keys are those of the list in data/public.json."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.cli.fallback import fallback_fields
from agentkit.events import Fallback
from agentkit.retrieval import Question
from agentkit.settings import load_settings
from tests import public
from tests.cli.conftest import Cli
from tests.cli.program import open_with_fake
from tests.servers import mcp_server
from tests.servers.openai_server import Answer, OpenAIServer


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A data set of one document and one question."""
    folder = tmp_path / "judged"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        json.dumps({"_id": "t", "title": "", "text": "Green tea is brewed."})
    )
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "green tea"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tt\t1\n")
    return folder


@pytest.fixture
def model(shared_server: OpenAIServer, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", shared_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    shared_server.script = lambda body: Answer(
        "It is 2,850 kilometres long [1].", thinking="Rivers are long."
    )


def ask_for_questions() -> None:
    """A question set on the collection Documents."""
    workspace = open_with_fake(load_settings())
    workspace.library.questions.create(
        "local", "Ours", "Documents", [Question("pump", {"deep/pump.txt": 1})]
    )
    workspace.close()


def written(cli: Cli, papers: Path, judged: Path) -> Iterator[tuple[str, list[Any]]]:
    """Every command that has `--json`, with what it writes."""
    bundle, bill = papers.parent / "bundle.zip", papers.parent / "bill.txt"
    bill.write_text("Total: 12.50 EUR\n")
    yield "ingest", cli("ingest", papers, "--json").lines
    ask_for_questions()
    for name, arguments in (
        ("search", ["search", "How long is the Danube?"]),
        ("search --exact", ["search", "Danube", "--exact"]),
        ("ask", ["ask", "How long is the Danube?"]),
        ("extract", ["extract", "total (number)", bill, "--model", "offline"]),
        ("usage", ["usage"]),
        ("runs", ["runs"]),
        ("eval DIR", ["eval", judged]),
        ("eval --set", ["eval", "--set", "Ours"]),
        ("team list", ["team", "list"]),
        ("team eval", ["team", "eval", "answer", "Ours"]),
        ("collection list", ["collection", "list"]),
        ("collection export", ["collection", "export", "Documents", bundle]),
        ("collection import", ["collection", "import", bundle, "--name", "Copy"]),
        ("doctor", ["doctor"]),
        ("an error", ["search", "tea", "--collection", "None"]),
    ):
        yield name, cli(*arguments, "--json").lines
    chat = cli("ask", "How long is the Danube?", "--json").json["chat"]
    whole = papers.parent / "river.chat.json"
    yield "export", cli("export", chat, "--format", "json", "--out", whole, "--json").lines
    yield "import", cli("import", whole, "--json").lines
    yield from written_of_servers(cli, papers)
    yield "trace", list(map(without_events, cli("trace", "--json").lines))


def written_of_servers(cli: Cli, folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """The commands for servers of tools."""
    program = (sys.executable, mcp_server.__file__, folder)
    yield "mcp add", cli("mcp", "add", "shop", "--json", "--", *program).lines
    for name, arguments in (
        ("mcp allow", ["shop", "stock", "--yes"]),
        ("mcp list", []),
        ("mcp show", ["shop"]),
        ("mcp test", ["shop"]),
        ("mcp remove", ["shop"]),
    ):
        yield name, list(map(without_schemas, cli(*name.split(), *arguments, "--json").lines))


def without_schemas(told: dict[str, Any]) -> dict[str, Any]:
    """What a server is told of, but for the schemas of its tools, which are the server's."""
    tools = [
        {**one, "parameters": None} if "parameters" in one else one for one in told.get("tools", ())
    ]
    return {**told, "tools": tools} if tools else told


def without_events(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace but for what differs from run to run: its events, and the kinds of its steps."""
    spans = [{key: one[key] for key in one if key != "events"} for one in trace["spans"]]
    return {**trace, "spans": spans, "critical_s": {}}


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("held", [False], indirect=True)
def test_the_keys_of_every_command_are_those_of_the_list(
    cli: Cli, papers: Path, judged: Path
) -> None:
    found = defaultdict(set)
    for name, values in written(cli, papers, judged):
        found[name] = {key for value in values for key in public.keys(value)}
    fallback = fallback_fields(Fallback("dense", "model", "gone", "ModelUnreachable"))
    found["fallback of search and ask"] = set(public.keys(fallback))
    kept = public.held("json")
    public.assert_same(found, kept, "commands with --json")
    for name, there in found.items():
        public.assert_same(there, kept[name], f"{name} --json")
