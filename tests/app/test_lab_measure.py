"""Measuring in the retrieval lab: question sets are made, edited and imported, measured and
compared.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
from streamlit.testing.v1 import AppTest

from agentkit.errors import ConfigError
from agentkit.retrieval.store.questions import Question, QuestionResult
from agentkit.ui.lab.questions import questions_of, table
from agentkit.ui.lab.results import by_question
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

Ingest = Callable[[str, dict[str, str]], None]
TEXTS = {
    "tea.md": "Green tea is brewed at 70 degrees.",
    "coffee.md": "Coffee is brewed at 92 degrees.",
    "cocoa.md": "Cocoa needs hot milk and sugar.",
}
QUESTIONS = [
    Question("What needs milk?", {"cocoa.md": 1}),
    Question("At which heat is green tea brewed?", {"tea.md": 2}),
]


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    ingest("Kitchen", TEXTS)
    return workspace


def lab(**address: str) -> AppTest:
    return open_page("retrieval_lab", view="Measure", **address)


def labels(app: AppTest) -> dict[str, str]:
    return {one.label: one.value for one in app.metric}


def test_the_first_set_is_led_to_and_filled(kitchen: ScriptableWorkspace) -> None:
    app = lab()
    assert "There are no question sets yet" in texts(app)
    app.text_input(key="new-set-name").set_value("Drinks")
    app.button(key="create-set").click().run()
    assert app.selectbox(key="set").value == "Drinks"
    assert "This set has no questions yet" in texts(app)
    made = kitchen.library.questions.named(OWNER, "Drinks")
    app.session_state[f"questions-{made.id}-0"] = {
        "added_rows": [
            {"question": "What needs milk?", "expected": ["cocoa.md=3"]},
            {"question": "Why?"},
        ],
        "edited_rows": {},
        "deleted_rows": [],
    }
    app.run()
    app.button(key="save-questions").click().run()
    assert "Row 2: The question 'Why?' has no expected document" in texts(app)
    app.session_state[f"questions-{made.id}-0"] = {
        "added_rows": [{"question": "What needs milk?", "expected": ["cocoa.md=3"]}, {}],
        "edited_rows": {},
        "deleted_rows": [],
    }
    app.run()
    app.button(key="save-questions").click().run()
    assert kitchen.library.questions.questions(OWNER, made.id) == [
        Question("What needs milk?", {"cocoa.md": 3})
    ]
    assert not app.button(key="measure").disabled
    assert "Nothing was measured with this set yet" in texts(app)


def test_two_settings_are_measured_and_compared(kitchen: ScriptableWorkspace) -> None:
    made = kitchen.library.questions.create(OWNER, "Drinks", "Kitchen", QUESTIONS)
    app = lab(set="Drinks")
    app.toggle(key="measure-two").set_value(True).run()
    collection = kitchen.library.collection(OWNER, "Kitchen")
    app.segmented_control(key=f"measure-{collection.id}-B-mode").set_value("lexical").run()
    app.button(key="measure").click().run()
    settle(app)
    history = kitchen.library.questions.history(OWNER, made.id)
    assert [one.options.mode for one in history] == ["lexical", "hybrid"]
    assert app.selectbox(key="measurement-base").value == history[1].id
    assert app.selectbox(key="measurement-other").value == history[0].id
    assert labels(app)["MRR@10"] == f"{history[0].figures['mrr_10']:.3f}"
    shown = next(
        frame.value
        for frame in app.dataframe
        if "nDCG@10" in frame.value and "Settings" in frame.value
    )
    assert list(shown["No."]) == [2, 1]
    assert list(shown["Collection"]) == ["Kitchen", "Kitchen"]
    assert shown["Change"].iloc[0] == pytest.approx(
        history[0].figures["ndcg_10"] - history[1].figures["ndcg_10"]
    )
    assert shown["Worth"].iloc[1] == "", "the baseline is not compared with itself"
    worth = shown["Worth"].iloc[0]
    assert f"nDCG@10 +0.00 over 2 questions: **{worth}**" in texts(app)
    assert "With 95 % confidence, over 2 questions: nDCG@10 " in texts(app)
    rows = next(frame.value for frame in app.dataframe if "Rank before" in frame.value)
    assert list(rows["Question"]) == [one.text for one in QUESTIONS]
    app.selectbox(key="measurement-base").set_value(history[0].id).run()
    assert not app.exception
    assert not [frame for frame in app.dataframe if "Rank before" in frame.value], (
        "one is not compared with itself"
    )


def test_the_address_names_the_set_and_others_are_one_step_away(
    kitchen: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Cellar", {"wine.md": "Wine is kept at 12 degrees."})
    kitchen.library.questions.create(OWNER, "Drinks", "Kitchen", QUESTIONS)
    kitchen.library.questions.create(
        OWNER, "Bottles", "Cellar", [Question("How cold is wine kept?", {"wine.md": 1})]
    )
    app = lab(set="Drinks", collection="Cellar")
    assert app.selectbox(key="set").value == "Drinks"
    assert "2 expected documents not in Cellar: cocoa.md, tea.md" in texts(app)
    app.button(key="measure").click().run()
    settle(app)
    assert "None of the documents that 'Drinks' expects" in texts(app)
    app.button(key="question-set-collection").click().run()
    assert app.selectbox(key="collection").value == "Kitchen"
    assert "expected documents not in" not in texts(app)


def test_a_file_is_imported_and_a_bad_one_is_told(kitchen: ScriptableWorkspace) -> None:
    app = lab()
    uploader = next(one for one in app.file_uploader if one.key == "set-file-0")
    uploader.set_value([("drinks.csv", b"question,expected\nWhat needs milk?\n", "text/csv")]).run()
    app.button(key="import-set").click().run()
    assert "drinks.csv line 2 has 1 cells" in texts(app)
    uploader = next(one for one in app.file_uploader if one.key == "set-file-0")
    uploader.set_value(
        [("drinks.csv", b"question,expected\nWhat needs milk?,cocoa.md|tea.md=2\n", "text/csv")]
    ).run()
    app.button(key="import-set").click().run()
    made = kitchen.library.questions.named(OWNER, "drinks")
    assert kitchen.library.questions.questions(OWNER, made.id) == [
        Question("What needs milk?", {"cocoa.md": 1, "tea.md": 2})
    ]
    assert "line 2" not in texts(app)
    assert {one.label for one in app.download_button} >= {"Export CSV", "Export JSON lines"}


def test_a_data_set_is_loaded_with_its_questions(
    kitchen: ScriptableWorkspace, tmp_path: Path
) -> None:
    folder = tmp_path / "topics"
    folder.mkdir()
    corpus = [
        {"_id": f"d{number}", "title": "", "text": text}
        for number, text in enumerate(TEXTS.values())
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "What needs milk?"}\n')
    (folder / "qrels.tsv").write_text("q\td2\t1\n")
    app = lab()
    app.text_input(key="dataset-path").set_value(str(tmp_path / "nowhere"))
    app.button(key="load-dataset").click().run()
    assert "is neither a folder nor a .zip" in texts(app)
    app.text_input(key="dataset-path").set_value(str(folder))
    app.button(key="load-dataset").click().run()
    settle(app)
    assert "3 added" in texts(app)
    assert app.selectbox(key="set").value == "topics"
    assert app.selectbox(key="collection").value == "topics"
    assert {one.name for one in kitchen.library.documents(OWNER, "topics")} == {"d0", "d1", "d2"}


def test_a_data_set_can_be_the_first_thing_here(
    workspace: ScriptableWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d", "title": "", "text": "Tea needs water."}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "What needs water?"}\n')
    (tmp_path / "qrels.tsv").write_text("q\td\t1\n")
    app = lab()
    app.text_input(key="dataset-path").set_value(str(tmp_path))
    app.text_input(key="dataset-name").set_value("topics").run()
    app.button(key="load-dataset").click().run()
    settle(app)
    assert app.selectbox(key="collection").value == "topics"
    assert not app.exception


def test_no_folder_of_the_server_is_read_for_others(workspace: ScriptableWorkspace) -> None:
    workspace.adopt(dataclasses.replace(workspace.settings, open=True))
    app = lab()
    with pytest.raises(KeyError):
        app.text_input(key="dataset-path")
    app.button(key="load-dataset").click().run()
    assert "There is no data set yet" in texts(app)
    assert not app.exception


def test_the_samples_have_questions(kitchen: ScriptableWorkspace) -> None:
    app = lab()
    app.button(key="sample-set").click().run()
    settle(app)
    made = kitchen.library.questions.named(OWNER, "Sample questions")
    assert (made.collection, made.questions > 20) == ("Samples", True)
    assert kitchen.library.collection(OWNER, "Samples").documents == 8
    app.button(key="sample-set").click().run()
    assert "There is a question set 'Sample questions' already" in texts(app)


def test_sets_are_renamed_and_deleted(kitchen: ScriptableWorkspace) -> None:
    made = kitchen.library.questions.create(OWNER, "Drinks", "Kitchen", QUESTIONS)
    kitchen.library.questions.create(OWNER, "Other", "Kitchen", QUESTIONS)
    app = lab(set="Drinks")
    app.menu_button(key="question-set-menu").click("Rename the set").run()
    app.text_input(key="set-new-name").set_value("Other")
    app.button(key="rename-set-button").click().run()
    assert "There is a question set 'Other' already" in texts(app)
    app.text_input(key="set-new-name").set_value("Hot drinks")
    app.button(key="rename-set-button").click().run()
    assert app.selectbox(key="set").value == "Hot drinks"
    app.menu_button(key="question-set-menu").click("Delete the set").run()
    assert "goes with 2 questions and all its measurements" in texts(app)
    app.button(key="delete-set").click().run()
    assert [one.name for one in kitchen.library.questions.sets(OWNER)] == ["Other"]
    assert made.id not in {one.id for one in kitchen.library.questions.sets(OWNER)}
    assert app.selectbox(key="set").value == "Other"


def test_a_cancelled_measurement_is_told(kitchen: ScriptableWorkspace) -> None:
    many = [
        Question(f"What needs milk, for the {number}th time?", {"cocoa.md": 1})
        for number in range(3_000)
    ]
    made = kitchen.library.questions.create(OWNER, "Drinks", "Kitchen", many)
    app = lab()
    app.button(key="measure").click().run()
    assert "Measuring Drinks on Kitchen" in texts(app)
    assert app.button(key="measure").disabled
    next(one for one in app.button if one.label == "Cancel").click().run()
    settle(app)
    assert "Cancelled" in texts(app)
    assert kitchen.library.questions.history(OWNER, made.id) == []


def test_the_table_of_the_editor_and_back() -> None:
    shown = table(QUESTIONS)
    assert list(shown["expected"]) == [["cocoa.md"], ["tea.md=2"]]
    assert questions_of(shown) == QUESTIONS
    assert questions_of(table([])) == []
    empty = pandas.DataFrame(
        {"question": [None, float("nan"), " "], "expected": [None, float("nan"), []]}, dtype=object
    )
    assert questions_of(empty) == []
    with pytest.raises(ConfigError, match="Row 1: A question is empty"):
        questions_of(pandas.DataFrame({"question": [None], "expected": [["tea.md"]]}))


def test_what_became_of_each_question() -> None:
    def result(question: str, rank: int | None, ndcg: float) -> QuestionResult:
        return QuestionResult(question, {"a": rank, "b": None}, ndcg, True, 0.1)

    before = [
        result("up", 3, 0.5),
        result("down", 1, 1.0),
        result("far", 40, 0.0),
        result("lost", 20, 0.0),
        result("gone", 1, 1.0),
    ]
    now = [
        result("up", 1, 1.0),
        result("down", 2, 0.6),
        result("far", 12, 0.0),
        result("lost", None, 0.0),
        result("new", 1, 1.0),
    ]
    found = by_question(before, now)
    assert dict(zip(found["Question"], found["Change"], strict=True)) == {
        "up": "better",
        "down": "worse",
        "far": "better",
        "lost": "worse",
    }
    assert set(by_question(before, before)["Change"]) == {"same"}
    assert list(by_question((), now)["Rank"].fillna(0)) == [1, 2, 12, 0, 1]
