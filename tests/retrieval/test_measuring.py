"""A question set is measured with the retrieve() of the chat, and what came of it is kept."""

from __future__ import annotations

import pytest

from agentkit.core import bus, stopping
from agentkit.core.stopping import StopSignal
from agentkit.errors import ConfigError, NotFound, Stopped
from agentkit.events import Event, ModelReplied, Retrieved
from agentkit.retrieval.evaluation.measuring import measure, unknown_documents
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.questions import Question, QuestionSet
from tests.retrieval.conftest import OWNER, Shelf

TEXTS = {
    "tea.txt": "Green tea is brewed at 80 degrees.",
    "pump.txt": "The warranty of the pump lasts three years.",
    "rivers.txt": "The Danube ends in the Black Sea.",
}
QUESTIONS = [
    Question("warranty of the pump", {"pump.txt": 1}),
    Question("where does the Danube end", {"rivers.txt": 1, "missing.txt": 1}),
]


@pytest.fixture
def asked(shelf: Shelf) -> QuestionSet:
    shelf.library.ingest(OWNER, "Docs", [shelf.source(name, text) for name, text in TEXTS.items()])
    return shelf.library.questions.create(OWNER, "Docs", "Docs", QUESTIONS)


def test_figures_and_ranks_are_kept(shelf: Shelf, asked: QuestionSet) -> None:
    options = SearchOptions(mode="lexical")
    found = measure(shelf.library, OWNER, asked.id, "Docs", options)
    assert [dict(one.ranks) for one in found.results] == [
        {"pump.txt": 1},
        {"rivers.txt": 1, "missing.txt": None},
    ]
    assert [one.hit for one in found.results] == [True, True]
    assert found.figures["mrr_10"] == found.figures["hit_rate"] == 1.0
    assert found.figures["recall_1"] == found.figures["recall_100"] == 0.75
    assert found.figures["questions"] == 2
    assert 0 < found.figures["p50_s"] <= found.figures["p95_s"]
    assert (
        found.version_id
        == shelf.library.store.version(shelf.library.collection(OWNER, "Docs").id).id
    )
    assert shelf.library.questions.measurement(OWNER, found.id) == found
    assert [one.id for one in shelf.library.questions.history(OWNER, asked.id)] == [found.id]


def test_the_hit_rate_is_what_a_chat_gets(shelf: Shelf, asked: QuestionSet) -> None:
    two = [Question("the Danube ends in the Black Sea", {"tea.txt": 1})]
    shelf.library.questions.replace_questions(OWNER, asked.id, two)
    narrow = measure(shelf.library, OWNER, asked.id, "Docs", SearchOptions(mode="dense", top_k=1))
    wide = measure(shelf.library, OWNER, asked.id, "Docs", SearchOptions(mode="dense", top_k=3))
    assert (narrow.figures["hit_rate"], wide.figures["hit_rate"]) == (0.0, 1.0)
    assert narrow.results[0].best_rank == wide.results[0].best_rank
    assert narrow.figures["recall_100"] == 1.0, "documents are ranked deeper than a chat looks"
    alone = shelf.library.retrieve(
        OWNER, "Docs", two[0].text, options=SearchOptions(mode="dense", top_k=1)
    )
    assert [hit.document for hit in alone] == ["rivers.txt"]


def test_passages_stay_out_of_the_events(shelf: Shelf, asked: QuestionSet) -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        measure(shelf.library, OWNER, asked.id, "Docs", SearchOptions())
    told = [event for event in heard if isinstance(event, Retrieved)]
    assert [event.query for event in told] == [one.text for one in QUESTIONS], (
        "one for each question, for progress"
    )
    assert [event.hits for event in told] == [[], []]
    assert sum(isinstance(event, ModelReplied) for event in heard) == 4, (
        "every call of the embedder is booked"
    )
    deep: list[Event] = []
    with bus.listening(deep.append):
        measure(shelf.library, OWNER, asked.id, "Docs", SearchOptions(top_k=100))
    assert sum(isinstance(event, ModelReplied) for event in deep) == 2, (
        "asked once where a chat looks as deep"
    )


def test_a_stopped_measurement_leaves_nothing(shelf: Shelf, asked: QuestionSet) -> None:
    signal = StopSignal()
    heard: list[Event] = []

    def hear(event: Event) -> None:
        heard.append(event)
        signal.set()

    with pytest.raises(Stopped), stopping.stoppable(signal), bus.listening(hear):
        measure(shelf.library, OWNER, asked.id, "Docs", SearchOptions(mode="lexical"))
    assert len(heard) == 1
    assert shelf.library.questions.history(OWNER, asked.id) == []


def test_what_cannot_be_measured_says_why(shelf: Shelf, asked: QuestionSet) -> None:
    library, options = shelf.library, SearchOptions()
    library.create_collection(OWNER, "Other")
    with pytest.raises(
        ConfigError,
        match=r"None of the documents that 'Docs' expects \(pump.txt, rivers.txt, missing.txt\)",
    ):
        measure(library, OWNER, asked.id, "Other", options)
    with pytest.raises(ConfigError, match="has no questions"):
        measure(library, OWNER, library.questions.create(OWNER, "Empty").id, "Docs", options)
    for owner, set_id, collection in (
        (OWNER, "none", "Docs"),
        ("bob", asked.id, "Docs"),
        (OWNER, asked.id, "none"),
    ):
        with pytest.raises(NotFound):
            measure(library, owner, set_id, collection, options)
    with pytest.raises(NotFound):
        measure(library, OWNER, asked.id, "Docs", options, "no version")
    assert unknown_documents(library, OWNER, "Docs", QUESTIONS) == ["missing.txt"]


def test_another_version_is_measured_before_it_answers(shelf: Shelf, asked: QuestionSet) -> None:
    versions = shelf.library.versions
    made = versions.add(OWNER, "Docs", embedder=shelf.library.embedder.name, max_tokens=64)
    versions.build(OWNER, made.id)
    found = measure(shelf.library, OWNER, asked.id, "Docs", SearchOptions(mode="lexical"), made.id)
    assert found.version_id == made.id
    assert found.figures["mrr_10"] == 1.0
