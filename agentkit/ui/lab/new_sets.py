"""New question sets in the lab: empty, from a file, with a data set in BEIR's layout, or for the
samples.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError, ConfigError
from agentkit.retrieval import Collection
from agentkit.retrieval.evaluation.beir import Dataset, load
from agentkit.retrieval.evaluation.question_files import read_questions, sample_questions
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.ui.documents import adding, collections, progress
from agentkit.ui.lab import questions as lab_questions
from agentkit.ui.shared import state, uploads
from agentkit.ui.text import markdown
from agentkit.workspace import SAMPLES

_PROBLEM, _ROUND = "questions-problem", "questions-round"


def draw_adding(collection: Collection, *, first: bool) -> None:
    """The ways to get a question set, open while there is none."""
    label, key = "Add a question set", "add-first-set" if first else "add-set"
    with st.expander(label, expanded=first, icon=":material/add_circle:", key=key):
        names = ["New", "From a file", "A BEIR data set", "The samples"]
        new, file, dataset, samples = st.tabs(
            names, default=names[-1] if first and collection.name == SAMPLES else None
        )
        with new:
            _draw_new(collection)
        with file:
            _draw_file(collection)
        with dataset:
            _draw_dataset()
        with samples:
            _draw_samples()
        _draw_problem()


def _draw_new(collection: Collection) -> None:
    with st.form("new-set", border=False):
        st.text_input(
            "Name", max_chars=120, placeholder="What people ask the help desk", key="new-set-name"
        )
        st.form_submit_button(
            f"Create for {markdown.literal(collection.name)}",
            type="primary",
            key="create-set",
            on_click=_create,
            args=(collection,),
        )


def _create(collection: Collection) -> None:
    _make_set(
        lambda: state.workspace().library.questions.create(
            state.owner(), st.session_state["new-set-name"], collection.name
        )
    )


def _draw_file(collection: Collection) -> None:
    number = st.session_state.get(_ROUND, 0)
    st.caption(
        "CSV with the columns question and expected, documents between `|` and grades as `name=2`;"
        " or JSON lines with question and expected."
    )
    given = st.file_uploader(
        "CSV or JSON lines",
        type=["csv", "jsonl", "ndjson"],
        key=f"set-file-{number}",
        max_upload_size=20,
    )
    st.text_input(
        "Name", max_chars=120, key="file-set-name", placeholder="By default the name of the file"
    )
    st.button(
        "Import",
        key="import-set",
        type="primary",
        disabled=given is None,
        on_click=_import,
        args=(collection, f"set-file-{number}"),
    )


def _import(collection: Collection, key: str) -> None:
    def make() -> QuestionSet:
        file = st.session_state[key]
        questions = read_questions(file.name, file.getvalue())
        name = st.session_state["file-set-name"].strip() or Path(file.name).stem
        return state.workspace().library.questions.create(
            state.owner(), name, collection.name, questions
        )

    _make_set(make)


def draw_first() -> None:
    """What can be done while there is no collection."""
    progress.draw_progress()
    if runs.live(state.owner(), kind="ingest"):
        return
    st.markdown(
        "There is nothing to search yet. Add documents, or load the samples, and try here what is"
        " found in them."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        adding.draw_samples()
        st.page_link(
            state.PAGES / "documents.py", label="Add documents", icon=":material/description:"
        )
    with st.expander(
        "Load a data set to measure with", icon=":material/dataset:", key="add-dataset"
    ):
        _draw_dataset()
        _draw_problem()


def _draw_problem() -> None:
    if problem := st.session_state.get(_PROBLEM):
        st.error(markdown.literal(problem), icon=":material/error:")


def _draw_dataset() -> None:
    number = st.session_state.get(_ROUND, 0)
    st.caption(
        "A folder or .zip with corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/test.tsv). Its"
        " documents become a new collection, its questions a set of the same name."
    )
    if not state.workspace().settings.open:  # others are not to read what lies on this computer
        st.text_input(
            "Folder or .zip on the computer that serves this app",
            key="dataset-path",
            placeholder="/data/beir/scifact",
        )
    st.file_uploader("A .zip to upload", type=["zip"], key=f"dataset-file-{number}")
    st.text_input(
        "Name",
        max_chars=120,
        key="dataset-name",
        placeholder="By default the name of the folder or file",
    )
    icon, key = ":material/library_add:", f"dataset-file-{number}"
    st.button(
        "Load the data set",
        key="load-dataset",
        type="primary",
        icon=icon,
        on_click=_load,
        args=(key,),
    )


def _load(key: str) -> None:
    """Load the uploaded file or the given path, in a run; what is wrong with it is told at once."""
    workspace, owner = state.workspace(), state.owner()
    st.session_state.pop(_PROBLEM, None)
    uploaded, path = st.session_state.get(key), st.session_state.get("dataset-path", "").strip()
    try:
        if not uploaded and not path:
            raise ConfigError("There is no data set yet; choose one above.")
        source = called = Path(path)
        if uploaded:
            given = uploads.to_disk([uploaded], workspace.settings)[0]
            source, called = given.path, Path(given.name)
        name = st.session_state["dataset-name"].strip() or (
            called.name if source.is_dir() else called.stem
        )
        size = Dataset(source).size()
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)
        return

    def work() -> QuestionSet:
        try:
            return load(workspace.library, owner, source, name)
        finally:
            if uploaded:
                source.unlink(missing_ok=True)

    progress.watch(
        runs.start(
            work,
            kind="ingest",
            title=f"the data set {name}",
            owner=owner,
            ledger=workspace.ledger,
            size=size,
        )
    )
    lab_questions.choose(name)
    collections.choose(name)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1


def _draw_samples() -> None:
    st.caption("Questions about the sample documents, with the document that answers each.")
    icon = ":material/library_add:"
    st.button(
        "Make a set of the sample questions",
        key="sample-set",
        type="primary",
        icon=icon,
        on_click=_make_samples,
    )


def _make_samples() -> None:
    workspace, owner = state.workspace(), state.owner()

    def make() -> QuestionSet:
        path = workspace.settings.sample_questions
        if not path.is_file():
            raise ConfigError(
                f"There are no sample questions at {path}; install from the project's folder."
            )
        questions = sample_questions(path.read_text(encoding="utf-8"))
        made = workspace.library.questions.create(owner, "Sample questions", SAMPLES, questions)
        if not any(one.name == SAMPLES for one in workspace.library.collections(owner)):
            progress.watch(workspace.ingest_samples(owner))
        return made

    _make_set(make)


def _make_set(make: Callable[[], QuestionSet]) -> None:
    """Make the set and look at it, or keep the reason why it cannot be made."""
    st.session_state.pop(_PROBLEM, None)
    try:
        lab_questions.choose(make().name)
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
