"""The Index view of the retrieval lab: what answers, versions beside it, and a cut tried before
anything is built.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.retrieval import FakeEmbedder, Library, Source
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.ingest.versions import VersionStatus
from agentkit.settings import Settings
from agentkit.ui.shared import state
from agentkit.workspace import Workspace
from tests.app.driver import OWNER, open_page, settle, texts

NAME = "Kitchen"
TEA = "# Brewing\n\n" + " ".join(
    f"Tea number {number} is brewed at {60 + number} degrees." for number in range(24)
)
Ingest = Callable[[str], None]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace with two embedding models of different dimension, served to the pages."""
    opened = Workspace(Settings(data=tmp_path / "data"), FakeEmbedder())
    others = {"wide": FakeEmbedder(96, "wide")}
    opened.library = Library(
        opened.database,
        opened.settings,
        Embedders(FakeEmbedder(), others.get, lambda: list(others)),
    )
    state.use(opened)
    yield opened
    state.close()


@pytest.fixture
def ingest(workspace: Workspace, tmp_path: Path) -> Ingest:
    """Take the text about tea into the collection, as a document of this name."""

    def take_in(name: str) -> None:
        path = tmp_path / name
        path.write_text(f"{TEA}\n\nThis is {name}.", encoding="utf-8")
        (done,) = workspace.ingest(OWNER, NAME, [Source(name, path, str(path))]).result()
        assert done.status == "indexed"

    return take_in


def opened() -> AppTest:
    return open_page("retrieval_lab", collection=NAME, view="Index")


def listed(workspace: Workspace) -> list[VersionStatus]:
    return workspace.library.versions.listed(OWNER, NAME)


def choose(
    app: AppTest, workspace: Workspace, *, tokens: int, overlap: int = 0, model: str = "fake"
) -> AppTest:
    """Choose another cut."""
    collection = workspace.library.collection(OWNER, NAME).id
    app.selectbox(key=f"cut-model-{collection}").set_value(model).run()
    app.number_input(key=f"cut-tokens-{collection}").set_value(tokens).run()
    app.number_input(key=f"cut-overlap-{collection}").set_value(overlap).run()
    assert not app.exception
    return app


def test_what_answers_is_told_with_its_figures(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    app = opened()
    facts = {metric.label: metric.value for metric in app.metric}
    (now,) = listed(workspace)
    assert facts["Documents"] == "1"
    assert facts["Chunks"] == str(now.chunks)
    assert facts["Numbers in a vector"] == "64"
    assert facts["Overlap"] == "none"
    assert "compared one by one, which is exact" in texts(app)
    assert "Versions beside it" not in [heading.value for heading in app.subheader]


def test_a_cut_is_looked_at_before_anything_is_built(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    before = listed(workspace)
    app = opened()
    assert app.button(key="build-cut").disabled, "this is what answers already"
    assert "This is what answers now" in texts(app)
    choose(app, workspace, tokens=32, overlap=16)
    facts = {metric.label: metric for metric in app.metric}
    assert int(facts["Chunks of this document"].value) > before[0].chunks
    assert "more than now" in facts["Chunks of this document"].delta
    assert "**The first 10 of " in texts(app)
    assert "· Brewing · 18 tokens · 37 characters repeated" in texts(app)
    assert not app.button(key="build-cut").disabled
    assert listed(workspace) == before, "a preview must store nothing"


def test_a_version_is_built_used_and_left_again(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    (old,) = listed(workspace)
    app = choose(opened(), workspace, tokens=32)
    app.button(key="build-cut").click().run()
    settle(app)
    new = listed(workspace)[1]
    assert (new.documents, new.missing, new.version.max_tokens) == (1, 0, 32)
    assert "complete" in texts(app)
    assert "1 built" in texts(app)
    assert "There is such a version above" in texts(app)
    for version in (new.version.id, old.version.id):  # and back
        app.button(key=f"use-{version}").click().run()
        assert "so that you can go back" in texts(app)
        app.button(key="use-version").click().run()
        settle(app)
        assert [one.version.id for one in listed(workspace) if one.version.active] == [version]
        assert not app.error
    assert len(listed(workspace)) == 2


def test_a_model_of_another_dimension_is_built_beside(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    app = choose(opened(), workspace, tokens=100, model="wide")
    app.button(key="build-cut").click().run()
    settle(app)
    assert [(one.version.embedder, one.version.dimension) for one in listed(workspace)] == [
        ("fake", 64),
        ("wide", 96),
    ]
    app.button(key=f"use-{listed(workspace)[1].version.id}").click().run()
    app.button(key="use-version").click().run()
    settle(app)
    assert {metric.label: metric.value for metric in app.metric}["Numbers in a vector"] == "96"
    assert workspace.library.retrieve(OWNER, NAME, "tea number 7", mode="dense")


def test_a_version_that_is_behind_says_so_and_goes_on(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    made = workspace.library.versions.add(OWNER, NAME, embedder="fake", max_tokens=32)
    app = opened()
    assert "not built yet" in texts(app)
    assert app.button(key=f"use-{made.id}").disabled
    app.button(key=f"build-{made.id}").click().run()
    settle(app)
    ingest("more.md")
    app.run()
    assert "1 of 2 documents" in texts(app)
    assert app.button(key=f"build-{made.id}").label == "Go on building"
    app.button(key=f"use-{made.id}").click().run()
    assert "1 document still missing in it will be built first" in texts(app)
    app.button(key="use-version").click().run()
    settle(app)
    assert [
        (one.version.id == made.id, one.documents, one.missing) for one in listed(workspace)
    ] == [(True, 2, 0), (False, 2, 0)]


def test_a_version_is_discarded_only_after_a_question(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    made = workspace.library.versions.add(OWNER, NAME, embedder="wide", max_tokens=32)
    app = opened()
    for key in ("discard-version-not", "discard-version"):
        assert len(listed(workspace)) == 2
        app.button(key=f"discard-{made.id}").click().run()
        assert "No answer and no document is touched" in texts(app)
        app.button(key=key).click().run()
    assert [one.version.active for one in listed(workspace)] == [True]
    assert not app.exception


def test_while_one_is_built_nothing_else_is_begun(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    made = workspace.library.versions.add(OWNER, NAME, embedder="fake", max_tokens=32)
    go_on = threading.Event()
    run = runs.start(
        lambda: go_on.wait(120), kind="index", title="32 tokens for Kitchen", owner=OWNER, size=1
    )
    app = choose(opened(), workspace, tokens=40)
    assert "Building 32 tokens for Kitchen" in texts(app)
    keys = ("build-cut", f"build-{made.id}", f"use-{made.id}", f"discard-{made.id}")
    assert all(app.button(key=key).disabled for key in keys)
    go_on.set()
    assert run.wait(60)
    app.run()
    assert not app.button(key="build-cut").disabled


def test_a_model_that_is_gone_is_told_with_the_way_out(
    workspace: Workspace, ingest: Ingest, tmp_path: Path
) -> None:
    ingest("tea.md")
    state.close()
    state.use(Workspace(Settings(data=tmp_path / "data"), FakeEmbedder(96, "wide")))
    app = opened()
    assert not app.exception
    assert "There is no embedding model 'fake' here" in texts(app)
    assert "nothing has to be given again" in texts(app)
    app.button(key="build-cut").click().run()  # the model that is here is chosen already
    settle(app)
    reopened = state.workspace()
    made = listed(reopened)[1].version
    app.button(key=f"use-{made.id}").click().run()
    app.button(key="use-version").click().run()
    settle(app)
    assert not app.warning
    assert reopened.library.retrieve(OWNER, NAME, "tea number 7", mode="dense")


def test_an_empty_collection_leads_to_documents(workspace: Workspace) -> None:
    workspace.library.create_collection(OWNER, NAME)
    app = opened()
    assert "The collection is empty" in texts(app)
    assert not [button for button in app.button if button.key == "build-cut"]


def test_the_other_views_are_one_click_away(workspace: Workspace, ingest: Ingest) -> None:
    ingest("tea.md")
    workspace.library.versions.add(OWNER, NAME, embedder="fake", max_tokens=32)
    app = opened()
    app.button(key="go-Try a query").click().run()
    assert not app.exception
    assert "What answers now" not in [heading.value for heading in app.subheader]
