"""Makes a data folder with something of everything, by the code that is checked out, and packs it.

    python -m tests.data.make_folder tests/data/folder-YYYY-MM.tar.xz

A pack is made once and never changed: `tests/test_old_folders.py` opens each of them. Beside the
folder `data` it has `contents.json`, what is to be found in it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from agentkit import runs
from agentkit.core import stopping
from agentkit.errors import AgentkitError, Stopped
from agentkit.events import HumanInputRequested, TokenDelta
from agentkit.llm import Connection, Model, save_connection
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.index import indexes
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.questions import Question
from agentkit.retrieval.types import Scope
from agentkit.agents.retrieve_chat.vectordb import DuckDBVectorDB
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.data.contents import OWNER, VECTORS, contents, measured
from tests.documents.makers import FILES
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages
from tests.teams.stage import call

ROOT = Path(__file__).resolve().parents[2]
RIVERS = {
    "rivers.txt": "The Danube is 2,850 kilometres long. It ends in the Black Sea.\n\n"
    "The Volga is the longest river in Europe, 3,530 kilometres.\n",
    "pump.txt": "The warranty of the pump lasts three years.\n\nIt covers the motor and seal.\n",
    "hebewerk.txt": "Das Schiffshebewerk Niederfinow hebt Schiffe 36 Meter. 長い川です。 Œuvre.\n",
    "many.txt": "\n\n".join(f"Gauge {n} stood at {n * 37 % 900} cm in May." for n in range(120)),
    "broken.pdf": "%PDF-1.7 and nothing else\n",
}
WAITS = "hold this document"
"""What the embedder of the process that is killed does not get done with."""


class FolderWorkspace(Workspace):
    """With a model whose price is known, served on this machine."""

    priced: Model | None = None

    def model(self, model_id: str = "") -> Model:
        return self.priced if self.priced and model_id == "priced" else super().model(model_id)


class WaitingEmbedder(FakeEmbedder):
    """Waits for the end of its process at one text."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if any(WAITS in text for text in texts):
            sys.stdout.write("embedding\n")
            sys.stdout.flush()
            stopping.current().wait(600)
        return super().embed(texts)


def script(body: dict[str, Any]) -> Answer:
    """What the model server of the folder answers, by what it is asked."""
    said = body["messages"]
    told, last = str(said), str(said[-1].get("content"))
    if "fail here" in last:
        return Answer(status=401, error={"message": "wrong key", "code": "invalid_api_key"})
    if "stop here" in last:
        return Answer("one " * 500, halt_after=3)
    if "cut here" in last:
        return Answer("one two three four", drop_after=2)
    if "compute" in told and body.get("tools"):
        return _computing(said)
    if body.get("tools") and said[-1]["role"] != "tool":
        return Answer(tool_calls=call("search_documents", query="Danube")["tool_calls"])
    if "Break the user's question" in told:
        return Answer("length of the Danube\nwarranty of the pump")
    return answer_from_passages(body)


def _computing(said: list[dict[str, Any]]) -> Answer:
    if not any("42" in str(one.get("content")) for one in said):
        return Answer("Let me see.\n```python\nprint(6 * 7)\n```")
    return Answer("It is 42.\nTERMINATE")


def make(data: Path, files: Path, server: OpenAIServer) -> dict[str, Any]:
    """Fill the folder `data`; gives what is in it."""
    settings = Settings(data=data, owner=OWNER, allow_private_urls=True)
    save_connection(
        settings,
        Connection("Ours", server.base_url, "a-secret-key", ("test-model", "second-model")),
    )
    save_connection(
        settings, Connection("Other", "https://models.example/v1", "k", embedding_models=("nomic",))
    )
    workspace = FolderWorkspace(settings, FakeEmbedder())
    client = OpenAIClient(server.base_url, "k")
    workspace.priced = Model(
        "priced", "Priced", client, "dear-model", "ours", price_1k=(0.002, 0.004)
    )
    try:
        _documents(workspace, files)
        _versions(workspace)
        _measured(workspace)
        heads = _chats(workspace, files, server)
        workspace.export_collection(OWNER, "Rivers").result()
        _vectors(data / VECTORS)
        told = contents(workspace, heads)
    finally:
        workspace.close()
    return told | {"heads": heads}


def _source(files: Path, name: str, content: bytes) -> Source:
    path = files / name
    path.write_bytes(content)
    return Source(name, path, f"upload:{name}")


def _documents(workspace: Workspace, files: Path) -> None:
    rivers = [_source(files, name, text.encode()) for name, text in RIVERS.items()]
    workspace.ingest(OWNER, "Rivers", rivers).result()
    kinds = [_source(files, name, made()) for name, made in FILES.items()]
    workspace.ingest(OWNER, "Every kind", kinds).result()
    library = workspace.library
    ids = {one.name: one.id for one in library.documents(OWNER, "Rivers")}
    library.tag_documents(OWNER, [ids["rivers.txt"], ids["pump.txt"]], add=["read", "über"])
    library.tag_documents(OWNER, [ids["pump.txt"]], remove=["read"])
    gone = [_source(files, "gone.txt", b"This was deleted later. The Danube was in it.")]
    workspace.ingest(OWNER, "Rivers", gone).result()
    (deleted,) = [one.id for one in library.documents(OWNER, "Rivers") if one.name == "gone.txt"]
    library.delete_documents(OWNER, [deleted])
    again = [_source(files, "pump.txt", b"The warranty of the pump lasts four years, not three.")]
    workspace.ingest(OWNER, "Rivers", again).result()
    library.create_collection(OWNER, "Empty")
    library.set_options(OWNER, "Every kind", SearchOptions(mode="lexical", top_k=3))


def _versions(workspace: Workspace) -> None:
    """Rivers answers from a second version and keeps the first; Every kind has one beside it."""
    versions = workspace.library.versions
    made = versions.add(OWNER, "Rivers", embedder="fake", max_tokens=40, overlap=5)
    workspace.promote_version(OWNER, made.id).result()
    beside = versions.add(OWNER, "Every kind", embedder="fake", max_tokens=30)
    workspace.build_version(OWNER, beside.id).result()


def _measured(workspace: Workspace) -> None:
    asked = [
        Question("How long is the Danube?", {"rivers.txt": 2}),
        Question("Which warranty has the pump?", {"pump.txt": 1, "rivers.txt": 1}),
    ]
    library = workspace.library
    made = library.questions.create(OWNER, "About rivers", "Rivers", asked)
    for mode in ("hybrid", "dense"):
        measure(library, OWNER, made.id, "Rivers", SearchOptions(mode=mode))
    library.questions.create(OWNER, "Nothing yet")


def _chats(workspace: Workspace, files: Path, server: OpenAIServer) -> dict[str, list[str]]:
    """Chats of many kinds; gives by chat the messages at which its branches end."""
    heads: dict[str, list[str]] = {}

    def ask(
        question: str, during: Callable[[runs.Run[Any]], None] | None = None, **given: Any
    ) -> runs.Run[Any]:
        run = workspace.ask(OWNER, question, **{"collection": "Rivers", **given})
        if during:
            during(run)
        with suppress(AgentkitError, Stopped):
            run.result()
        heads.setdefault(str(run.chat_id), []).append(run.message_id)
        return run

    first = ask("How long is the Danube?")
    ask("Where does it end?", chat_id=first.chat_id)
    ask("Which warranty has the pump?", chat_id=first.chat_id, parent_id=first.message_id)
    ask("Another beginning: how long is the Volga?", chat_id=first.chat_id, parent_id="")
    ask("How long is the Danube?", model_id="priced")
    ask("How long is the Danube, in one quotation?", model_id="offline")
    ask("How long is the Danube, and which warranty has the pump?", team_id="research")
    ask("Tell me the length of the Danube", team_id="assistant")
    ask("Please compute six times seven", _approve, team_id="tools")
    failed = ask("Please fail here")
    ask("And now how long is the Danube?", chat_id=failed.chat_id)
    ask("Please cut here")
    ask("Please stop here", _stop)
    read = [
        one.id for one in workspace.library.documents(OWNER, "Rivers") if one.name == "pump.txt"
    ]
    ask("What warranty?", scope=Scope(document_ids=read, tags=("über",)))
    notes = [_source(files, "notes.txt", b"The pump of the notes is green.")]
    ask("Which colour has the pump of the notes?", attachments=notes)
    deleted = ask("This chat is deleted, its calls are kept")
    workspace.delete_chat(OWNER, str(deleted.chat_id))
    del heads[str(deleted.chat_id)]
    workspace.ledger.update_chat(OWNER, str(first.chat_id), title="Rivers and pumps")
    return heads


def _stop(run: runs.Run[Any]) -> None:
    next(one for one in run if isinstance(one.event, TokenDelta))
    run.stop()


def _approve(run: runs.Run[Any]) -> None:
    for recorded in run:
        if isinstance(recorded.event, HumanInputRequested):
            run.answer("approve", recorded.event.request_id)


def _vectors(file: Path) -> None:
    with DuckDBVectorDB(path=file, embedding_function=measured) as database:
        database.create_collection("notes")
        database.insert_docs(
            [
                {"id": str(n), "content": "x" * n, "metadata": {"n": n, "even": n % 2 == 0}}
                for n in range(1, 80)
            ]
        )
        database.delete_docs(["7"])


def interrupted(data: Path, files: Path, base_url: str) -> None:
    """Ask and take in, tell on stdout what, and be killed in the middle of both."""
    settings = Settings(data=data, owner=OWNER)
    workspace = Workspace(settings, WaitingEmbedder())
    asked = workspace.ask(
        OWNER, "Please stop here, killed", collection="Rivers", model_id="Ours/test-model"
    )
    next(one for one in asked if isinstance(one.event, TokenDelta))
    sources = [_source(files, "held.txt", WAITS.encode())]
    taken = workspace.ingest(OWNER, "Held", sources)
    told = {"chat": asked.chat_id, "runs": [asked.id, taken.id], "collection": "Held"}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    taken.wait(600)


def _interrupt(data: Path, files: Path, base_url: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "tests.data.make_folder",
        "--interrupted",
        str(data),
        str(files),
        base_url,
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout is not None
    lines = [child.stdout.readline(), child.stdout.readline()]
    child.send_signal(signal.SIGKILL)
    child.wait()
    told: dict[str, Any] = json.loads(next(line for line in lines if line.startswith("{")))
    assert "embedding\n" in lines, lines
    return told


@contextmanager
def _neutral_folder() -> Iterator[Path]:
    """A folder whose path says nothing of this machine: chats keep where attached files lay."""
    made = Path(tempfile.gettempdir()) / "agentkit-folder"
    made.mkdir()  # raises where another one is being made
    try:
        yield made
    finally:
        shutil.rmtree(made)


def pack(target: Path) -> None:
    """Make a folder and write it with its contents to `target`."""
    indexes.EXACT_BELOW = 50  # so that there is a graph of so few vectors
    os.umask(0o022)
    with (
        _neutral_folder() as made,
        OpenAIServer(script, models=("test-model",)) as server,
    ):
        folder, files = made / "packed", made / "files"
        files.mkdir()
        told = make(folder / "data", files, server)
        told["interrupted"] = _interrupt(folder / "data", files, server.base_url)
        text = json.dumps(told, ensure_ascii=False, indent=1, default=str)
        assert str(ROOT) not in text, "a path of this machine"
        (folder / "contents.json").write_text(text, encoding="utf-8")
        with tarfile.open(target, "w:xz", preset=9) as archive:
            archive.add(folder, ".", filter=_anonymous)


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    if sys.argv[1] == "--interrupted":
        interrupted(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    else:
        pack(Path(sys.argv[1]))
