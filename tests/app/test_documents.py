"""The Documents page on a real workspace: adding, the table, collections, chunks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.errors import NotFound
from agentkit.ledger.export import table_csv
from agentkit.retrieval import Collection, StoredDocument
from agentkit.ui.documents.documents import table
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

Ingest = Callable[[str, dict[str, str]], None]
TEA = "# Tea\n\nGreen tea is brewed at 70 degrees.\n\nBlack tea is brewed at 95 degrees."


def documents(workspace: ScriptableWorkspace, collection: str) -> dict[str, StoredDocument]:
    return {one.name: one for one in workspace.library.documents(OWNER, collection)}


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    """Put files into the uploader and press the button below it."""
    app.file_uploader[0].set_value(
        [(name, data, "application/octet-stream") for name, data in files]
    ).run()
    app.button(key="add-files").click().run()
    return settle(app)


def select(app: AppTest, *names: str) -> AppTest:
    """Select these documents in the table."""
    key, shown = next((frame.key, frame.value) for frame in app.dataframe if frame.key)
    rows = [list(shown["Document"]).index(name) for name in names]
    app.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    return app.run()


def test_an_empty_store_leads_to_the_samples(workspace: ScriptableWorkspace) -> None:
    app = open_page("documents")
    assert "There are no documents yet" in texts(app)
    app.button(key="load-samples").click().run()
    settle(app)
    assert app.selectbox(key="collection").value == "Samples"
    assert "8 added" in texts(app)
    assert {one.status for one in documents(workspace, "Samples").values()} == {"indexed"}


def copies(workspace: ScriptableWorkspace) -> list[Path]:
    return [path for path in (workspace.settings.data / "uploads").rglob("*") if path.is_file()]


def test_odd_names_of_uploads_cost_nobody_anything(workspace: ScriptableWorkspace) -> None:
    app = open_page("documents")
    names = ["報" * 300 + ".txt", "a\0b.txt", "..", "x\u202efdp.txt", "../up.txt"]
    upload(
        app, *((name, f"This is number {number}.".encode()) for number, name in enumerate(names))
    )
    found = documents(workspace, "Documents")
    assert {one.status for one in found.values()} == {"indexed"}
    assert set(found) == {"報" * 300 + ".txt", "ab.txt", "..", "xfdp.txt", "../up.txt"}
    assert "5 added" in texts(app)
    assert not copies(workspace)


def test_uploads_that_cannot_be_kept_say_why(workspace: ScriptableWorkspace) -> None:
    (workspace.settings.data / "uploads").write_text("in the way")
    app = upload(open_page("documents"), ("tea.md", TEA.encode()))
    assert "check free space and permissions" in texts(app)


def test_a_host_without_a_dot_is_not_refused_by_the_browser(workspace: ScriptableWorkspace) -> None:
    field = open_page("documents").text_input(key="address").proto
    assert (field.validate_regex, field.validate_message) == ("", "")


def test_uploaded_files_are_taken_in_and_summed_up_with_reasons(
    workspace: ScriptableWorkspace,
) -> None:
    app = open_page("documents")
    upload(app, ("tea.md", TEA.encode()), ("empty.txt", b""), ("copy.md", TEA.encode()))
    found = documents(workspace, "Documents")
    assert found["tea.md"].status == "indexed"
    assert found["empty.txt"].status == "failed"
    assert "2 added, 1 failed" in texts(app)
    assert found["empty.txt"].error in texts(app)
    assert "copy.md: Same content as tea.md" in texts(app).replace("\\", "")
    notes = dict(
        zip(app.dataframe[0].value["Document"], app.dataframe[0].value["Note"], strict=True)
    )
    assert (notes["tea.md"], notes["copy.md"]) == ("", "Same content as tea.md.")
    assert not copies(workspace), "the copies must go once they are taken in"
    assert not app.session_state[f"upload-files-{app.session_state['adding-round']}"], (
        "the uploader must be empty again"
    )


def test_the_size_limit_is_told_before_the_upload(workspace: ScriptableWorkspace) -> None:
    app = open_page("documents")
    assert f"Up to {workspace.settings.max_file_mb} MB a file" in texts(app)
    assert app.file_uploader[0].proto.max_upload_size_mb == workspace.settings.max_file_mb
    assert [one.accept_directory for one in app.file_uploader] == [False, True]
    assert app.button(key="add-files").disabled


def test_an_address_that_cannot_be_fetched_says_why(workspace: ScriptableWorkspace) -> None:
    app = open_page("documents")
    app.text_input(key="address").set_value("http://127.0.0.1:9/secret")
    app.button(key="add-web").click().run()
    settle(app)
    assert "which is not a public address" in texts(app).replace("\\", "")
    row = documents(workspace, "Documents")["http://127.0.0.1:9/secret"]
    assert (row.status, "which is not a public address" in row.error) == ("failed", True)
    assert app.button(key="retry-failed").label == "Retry 1 failed"
    app.button(key="retry-failed").click().run()
    settle(app)
    again = documents(workspace, "Documents")["http://127.0.0.1:9/secret"]
    assert (again.id, again.status) == (row.id, "failed")
    assert again.updated_at > row.updated_at
    app.text_input(key="address").set_value("  ")
    app.button(key="add-web").click().run()
    assert "The web address is empty" in texts(app)


def test_the_table_tells_all_and_filters(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA, "coffee.md": "Coffee is brewed at 92 degrees."})
    app = open_page("documents")
    upload(app, ("empty.txt", b""))
    shown = app.dataframe[0].value
    assert set(shown["Document"]) == {"tea.md", "coffee.md", "empty.txt"}
    row = shown[shown["Document"] == "tea.md"].iloc[0]
    stored = documents(workspace, "Kitchen")["tea.md"]
    assert (row.Status, row.Chunks, row.Tokens, row.Size) == (
        "indexed",
        stored.chunks,
        stored.tokens,
        len(TEA),
    )
    assert "empty" in shown[shown["Document"] == "empty.txt"].iloc[0].Note
    app.segmented_control(key="document-status").set_value("Failed").run()
    assert list(app.dataframe[0].value["Document"]) == ["empty.txt"]
    app.text_input(key="document-search").set_value("coffee").run()
    assert "No document fits this filter" in texts(app)
    app.segmented_control(key="document-status").set_value("All").run()
    assert list(app.dataframe[0].value["Document"]) == ["coffee.md"]


def test_one_selected_document_shows_its_chunks_as_they_stand(ingest: Ingest) -> None:
    text = "# Prices\n\nA cup costs $2 and a *pot* costs $5."
    ingest("Kitchen", {"prices.md": text, "tea.md": TEA})
    app = select(open_page("documents"), "prices.md")
    assert [one.value for one in app.subheader] == ["prices\\.md"]
    assert any("A cup costs $2 and a *pot* costs $5." in one.value for one in app.text)
    where = next(one.value for one in app.caption if one.value.startswith("Chunk 1"))
    assert "characters 0 to" in where
    assert "tokens" in where
    assert "Prices" in where
    app = select(app, "prices.md", "tea.md")
    assert not app.subheader


def test_long_documents_are_paged(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest(
        "Kitchen",
        {
            "long.txt": "\n\n".join(
                f"Paragraph {n} " + "says so much about nothing " * 30 for n in range(40)
            )
        },
    )
    app = select(open_page("documents"), "long.txt")
    stored = documents(workspace, "Kitchen")["long.txt"]
    assert stored.chunks > 10
    assert sum(one.value.startswith("Chunk ") for one in app.caption) == 10
    app.pagination[0].set_value(2).run()
    assert any(one.value.startswith("Chunk 11 ") for one in app.caption)


def test_deleting_asks_first_and_then_they_are_gone_from_answers(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.md": TEA, "coffee.md": "Coffee is brewed at 92 degrees."})
    app = select(open_page("documents"), "tea.md", "coffee.md")
    app.button(key="delete-selected").click().run()
    assert "- tea.md\n- coffee.md" in texts(app) or "- coffee.md\n- tea.md" in texts(app)
    assert len(documents(workspace, "Kitchen")) == 2, "nothing goes before it is confirmed"
    app.button(key="delete-documents").click().run()
    assert not documents(workspace, "Kitchen")
    assert not workspace.library.retrieve(OWNER, "Kitchen", "How is green tea brewed?")


def test_a_selection_moves_with_its_document_when_rows_come(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.md": TEA, "coffee.md": "Coffee is brewed at 92 degrees."})
    app = select(open_page("documents"), "tea.md")
    ingest("Kitchen", {"cocoa.md": "Cocoa needs milk.", "water.md": "Water boils at 100 degrees."})
    app.run()
    assert [one.value for one in app.subheader] == ["tea\\.md"]
    app.button(key="delete-selected").click().run()
    app.button(key="delete-documents").click().run()
    assert set(documents(workspace, "Kitchen")) == {"coffee.md", "cocoa.md", "water.md"}


def test_what_failed_can_be_retried(workspace: ScriptableWorkspace) -> None:
    app = open_page("documents")
    upload(app, ("bad.pdf", b"%PDF-1.4 nothing of the sort"), ("tea.md", TEA.encode()))
    failed = documents(workspace, "Documents")["bad.pdf"]
    assert failed.status == "failed"
    app.button(key="retry-failed").click().run()
    settle(app)
    assert "1 document once more" in texts(app)
    assert documents(workspace, "Documents")["bad.pdf"].updated_at > failed.updated_at
    app = select(app, "tea.md")
    assert not [one for one in app.button if one.key == "retry-selected"], (
        "what is indexed needs no retry"
    )


def test_the_export_is_the_table_and_no_formula() -> None:
    now = datetime(2026, 11, 20, 21, 5)  # noqa: DTZ001 (as the database has it)
    evil = StoredDocument(
        "1",
        "c",
        "=SUM(A1)",
        "upload:x",
        "",
        5,
        "",
        "failed",
        "It is empty.",
        "",
        0,
        0,
        0.5,
        None,
        "",
        now,
        now,
        ("=a", "b"),
    )
    lines = table_csv(table([evil], {})).splitlines()
    assert lines[0] == "Document,Status,Note,Tags,Chunks,Tokens,Size,Time,Added,Source"
    assert lines[1].startswith("'=SUM(A1),failed,It is empty.,\"'=a, b\",0,0,5,0.5,")


def menu(app: AppTest, action: str) -> AppTest:
    app.menu_button(key="collection-menu").click(action).run()
    return app


def test_collections_are_made_renamed_and_deleted(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    app = menu(open_page("documents"), "New collection")
    app.text_input(key="collection-name").set_value("Kitchen")
    app.button(key="create").click().run()
    assert "There is a collection 'Kitchen' already" in texts(app)
    app = menu(open_page("documents"), "New collection")
    app.text_input(key="collection-name").set_value("Cellar")
    app.button(key="create").click().run()
    assert app.selectbox(key="collection").value == "Cellar"
    assert "This collection is empty" in texts(app)
    menu(app, "Rename")
    app.text_input(key="collection-new-name").set_value("Attic")
    app.button(key="rename").click().run()
    assert app.selectbox(key="collection").value == "Attic"
    app.selectbox(key="collection").set_value("Kitchen").run()
    menu(app, "Delete")
    assert "goes with 1 document and" in texts(app)
    app.button(key="delete-collection").click().run()
    assert app.selectbox(key="collection").value == "Attic"
    with pytest.raises(NotFound):
        workspace.library.collection(OWNER, "Kitchen")


def test_documents_get_tags_that_the_table_shows_and_filters_by(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest(
        "Kitchen",
        {"tea.md": TEA, "coffee.md": "Coffee is brewed at 92 degrees.", "water.md": "Water boils."},
    )
    app = select(open_page("documents"), "tea.md", "coffee.md")
    assert "Tags" not in app.dataframe[0].value, "a column that nobody uses is not shown"
    assert not [one for one in app.multiselect if one.label == "Tags"]
    app.button(key="tag-selected").click().run()
    assert "Of 2 documents" in texts(app).replace("**", "")
    app.multiselect(key="tags-to-add").set_value(["hot drinks", " 2026 "])
    app.button(key="save-tags").click().run()
    assert {name: one.tags for name, one in documents(workspace, "Kitchen").items()} == {
        "tea.md": ("2026", "hot drinks"),
        "coffee.md": ("2026", "hot drinks"),
        "water.md": (),
    }
    shown = app.dataframe[0].value
    assert list(shown[shown["Document"] == "tea.md"].iloc[0].Tags) == ["2026", "hot drinks"]
    app = select(app, "coffee.md")
    app.button(key="tag-selected").click().run()
    app.multiselect(key="tags-to-remove").set_value(["2026"])
    app.button(key="save-tags").click().run()
    assert workspace.library.tags(OWNER, "Kitchen") == ["2026", "hot drinks"]
    wanted = next(one for one in app.multiselect if one.label == "Tags")
    wanted.set_value(["2026"]).run()
    assert list(app.dataframe[0].value["Document"]) == ["tea.md"]
    wanted.set_value(["2026", "hot drinks"]).run()
    assert set(app.dataframe[0].value["Document"]) == {"tea.md", "coffee.md"}


def test_an_impossible_tag_says_why(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    app = select(open_page("documents"), "tea.md")
    app.button(key="tag-selected").click().run()
    app.multiselect(key="tags-to-add").set_value(["x" * 61])
    app.button(key="save-tags").click().run()
    assert "cannot be a tag" in texts(app)
    assert documents(workspace, "Kitchen")["tea.md"].tags == ()


def import_copy(app: AppTest, file: Path) -> None:
    """Import an exported collection as `Copy`; the dialog is open."""
    app.file_uploader(key="import-file").set_value(
        (file.name, file.read_bytes(), "application/zip")
    ).run()
    app.text_input(key="import-name").set_value("Copy").run()
    app.button(key="import").click().run()
    settle(app)


def test_a_collection_goes_out_and_comes_in(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    app = menu(open_page("documents"), "Export")
    assert "Kitchen as one file: 1 document" in texts(app).replace("**", "")
    app.button(key="export").click().run()
    settle(app)
    [file] = (workspace.settings.data / "exports").rglob("Kitchen.agentkit.zip")
    assert f"kept at {file}" in texts(app)
    assert [one.label for one in app.download_button] == ["Download", "Export CSV"]
    menu(app, "Import")
    app.button(key="import").click().run()
    assert "No file is chosen" in texts(app)
    import_copy(app, file)
    assert "Copy is imported: 1 document, 1 chunk." in texts(app).replace("**", "")
    assert app.selectbox(key="collection").value == "Copy", "what has come in is shown"
    assert list(app.dataframe[0].value["Document"]) == ["tea.md"]
    assert not copies(workspace)
    app.selectbox(key="collection").set_value("Kitchen").run()
    assert app.selectbox(key="collection").value == "Kitchen", "and not again and again"
    close = [one for one in app.button if one.key and one.key.startswith("dismiss-")]
    close[0].click().run()
    assert f"kept at {file}" not in texts(app)


def test_two_clicks_take_a_collection_out_once_and_in_once(
    workspace: ScriptableWorkspace, ingest: Ingest, request: pytest.FixtureRequest
) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    app = menu(open_page("documents"), "Export")
    request.getfixturevalue("double_clicks")
    app.button(key="export").click().run()
    settle(app)
    [file] = (workspace.settings.data / "exports").rglob("Kitchen.agentkit.zip")
    menu(app, "Import")
    import_copy(app, file)
    assert len(workspace.figures.runs(OWNER, kind="transfer")) == 2
    assert not app.error


def test_what_comes_in_while_the_page_is_drawn_is_on_it(
    workspace: ScriptableWorkspace, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    library, may_end = workspace.library, threading.Event()
    read = library.collections

    def take_in() -> Collection:
        may_end.wait()
        return library.create_collection(OWNER, "Copy")

    def read_before_the_end(owner: str) -> list[Collection]:
        found = read(owner)
        may_end.set()
        run.result()
        return found

    run = runs.start(take_in, kind="transfer", title="Copy", owner=OWNER, ledger=workspace.ledger)
    app = open_page("documents")
    monkeypatch.setattr(library, "collections", read_before_the_end)
    app.run()
    assert "Copy" in str(app.selectbox(key="collection").options)


def test_a_file_that_is_no_collection_says_why(workspace: ScriptableWorkspace) -> None:
    app = open_page("documents")
    app.button(key="import-first").click().run()
    app.file_uploader(key="import-file").set_value(
        ("holiday.zip", b"PK nothing", "application/zip")
    ).run()
    app.button(key="import").click().run()
    settle(app)
    assert "holiday.zip is not an exported collection, or is damaged" in texts(app)
    assert workspace.library.collections(OWNER) == []


def test_the_way_to_the_retrieval_lab(ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA})
    link = next(one for one in open_page("documents").get("page_link") if "lab" in one.proto.label)
    assert (link.proto.page, link.proto.query_string) == ("retrieval_lab", "collection=Kitchen")


def test_the_address_names_the_collection(ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.md": TEA, "coffee.md": "Coffee is brewed at 92 degrees."})
    ingest("Cellar", {"wine.md": "Wine is kept at 12 degrees."})
    assert open_page("documents").selectbox(key="collection").value == "Kitchen"
    app = open_page("documents", collection="Cellar")
    assert list(app.dataframe[0].value["Document"]) == ["wine.md"]
    assert (
        open_page("documents", collection="Nowhere").selectbox(key="collection").value == "Kitchen"
    )
