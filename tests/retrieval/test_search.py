"""The stages of a search: what each does to the hits, and what the search says about itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.core import bus
from agentkit.database import Database
from agentkit.errors import ConfigError
from agentkit.events import EmbedderAwaited, Event, ModelReplied, Retrieved
from agentkit.retrieval import FakeEmbedder, Hit, Library, Mode
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.embedding.rerank import Rerankers
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.search.merging import MOST_CHUNKS, diversify, same_content
from agentkit.retrieval.types import Scope
from agentkit.settings import Settings
from tests.retrieval.conftest import OWNER, Shelf

MODES: tuple[Mode, ...] = get_args(Mode)
RIVERS = {
    "danube.md": "# Danube\n\nThe Danube is a river of 2850 kilometres.\n",
    "volga.md": "# Volga\n\nThe Volga is the longest river of Europe.\n",
    "tea.md": "# Tea\n\nGreen tea is brewed with water of 80 degrees.\n",
}


def filled(shelf: Shelf, texts: dict[str, str], collection: str = "Docs") -> Library:
    done = shelf.library.ingest(
        OWNER, collection, [shelf.source(name, text) for name, text in texts.items()]
    )
    assert [one.status for one in done] == ["indexed"] * len(texts)
    return shelf.library


def heard(
    library: Library, query: str, collection: str | list[str] = "Docs", **options: Any
) -> tuple[list[Hit], Retrieved]:
    events: list[Event] = []
    before = time.time()
    with bus.listening(events.append):
        hits = library.retrieve(OWNER, collection, query, options=SearchOptions(**options))
    (event,) = [one for one in events if isinstance(one, Retrieved)]
    assert before <= event.began <= time.time()
    return hits, event


def paragraphs(count: int, word: str = "river") -> str:
    """A text whose paragraphs become a chunk each, since one fills more than half of the most."""
    return "\n\n".join(
        f"{word} number{n} " + " ".join(f"{word}{n}x{i}" for i in range(120)) for n in range(count)
    )


# What every search says and does


@pytest.mark.parametrize("mode", MODES)
def test_scores_and_times_of_every_stage_are_told(shelf: Shelf, mode: Mode) -> None:
    library = filled(shelf, RIVERS)
    hits, event = heard(library, "longest river of Europe", mode=mode)
    assert hits[0].document == "volga.md"
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    stages = {
        "dense": {"embed", "dense"},
        "lexical": {"lexical"},
        "hybrid": {"embed", "dense", "lexical", "fusion"},
    }[mode]
    assert stages <= set(event.timings)
    assert ("embed" in event.timings) == (mode != "lexical")
    assert all(0 <= seconds <= event.seconds for seconds in event.timings.values())
    assert event.mode == mode
    assert event.options == {
        "mode": mode,
        "top_k": 8,
        "depth": 50,
        "merge": True,
        "collapse": 0.95,
        "diversity": 0.0,
        "reranker": "",
        "rerank_depth": 30,
        "min_score": 0.0,
    }
    assert [hit["chunk_id"] for hit in event.hits] == [hit.chunk_id for hit in hits]
    assert event.left_out == {}
    names = {"dense": {"dense", "dense_rank"}, "lexical": {"lexical", "lexical_rank"}}
    names["hybrid"] = {"fused", *names["dense"], *names["lexical"]}
    assert set(hits[0].scores) == names[mode]
    assert hits[0].chunk_ids == (hits[0].chunk_id,)


@pytest.mark.parametrize("mode", MODES)
def test_the_order_is_stable(shelf: Shelf, mode: Mode) -> None:
    library = filled(
        shelf, {f"{name}.md": f"The river {name} has no number.\n" for name in "abcdefgh"}
    )
    first = heard(library, "river", mode=mode)[0]
    assert len(first) == 8
    for _ in range(3):
        assert heard(library, "river", mode=mode)[0] == first
    assert heard(library, "river", mode=mode, top_k=3)[0] == first[:3]


def test_in_lexical_mode_a_search_needs_no_embedder(shelf: Shelf) -> None:
    filled(shelf, RIVERS)
    shelf.close()
    shelf.database = Database(shelf.settings.data / "agentkit.duckdb")
    shelf.library = Library(shelf.database, shelf.settings, FakeEmbedder(name="another"))
    assert [hit.document for hit in heard(shelf.library, "Volga", mode="lexical")[0]] == [
        "volga.md"
    ]
    for mode in ("dense", "hybrid"):
        with pytest.raises(ConfigError, match="no embedding model 'fake' here"):
            heard(shelf.library, "Volga", mode=mode)


def test_a_search_where_nothing_is_does_not_ask_the_embedder(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = filled(shelf, RIVERS)
    library.create_collection(OWNER, "Empty")
    asked: list[Sequence[str]] = []
    embed = FakeEmbedder.embed

    def note(self: FakeEmbedder, texts: Sequence[str]) -> np.ndarray:
        asked.append(texts)
        return embed(self, texts)

    monkeypatch.setattr(FakeEmbedder, "embed", note)
    for mode in MODES:
        hits, event = heard(library, "Volga", "Empty", mode=mode)
        assert (hits, event.mode, event.fallback) == ([], mode, None)
    assert not asked
    assert heard(library, "Volga", ["Empty", "Docs"])[0]
    assert asked


def test_an_empty_query_finds_nothing(shelf: Shelf) -> None:
    library = filled(shelf, RIVERS)
    for mode in MODES:
        assert heard(library, "  ", mode=mode)[0] == []


def test_collections_of_different_embedders_are_searched_together(tmp_path: Path) -> None:
    other = FakeEmbedder(dimension=32, name="other")
    database = Database(tmp_path / "data" / "agentkit.duckdb")
    embedders = Embedders(
        FakeEmbedder(), lambda name: other if name == "other" else None, lambda: ["other"]
    )
    library = Library(database, Settings(data=tmp_path / "data"), embedders)
    shelf = Shelf(tmp_path / "shelf")
    library.ingest(OWNER, "One", [shelf.source("danube.md", RIVERS["danube.md"])])
    library.ingest(
        OWNER, "Two", [shelf.source(name, RIVERS[name]) for name in ("volga.md", "tea.md")]
    )
    made = library.versions.add(OWNER, "Two", embedder="other", max_tokens=100)
    library.versions.promote(OWNER, made.id)
    for mode in MODES:
        events: list[Event] = []
        with bus.listening(events.append):
            hits = library.retrieve(OWNER, ["One", "Two"], "the river Volga of Europe", mode=mode)
        assert hits[0].document == "volga.md"
        assert {"danube.md", "volga.md"} <= {hit.document for hit in hits}
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        asked = [event.model for event in events if isinstance(event, ModelReplied)]
        assert asked == ([] if mode == "lexical" else ["fake", "other"])
    shelf.close()
    library.close()
    database.close()


# Near-duplicates


def test_near_duplicates_are_collapsed_and_named(shelf: Shelf) -> None:
    text = "The warranty of the pump lasts three years and covers all its parts.\n"
    library = filled(
        shelf,
        {"one.md": text, "two.txt": text.replace(" ", "  "), "other.md": "A pump moves water.\n"},
    )
    hits, event = heard(library, "warranty of the pump")
    assert {hits[0].document, *hits[0].also_in} == {"one.md", "two.txt"}
    assert [(hit.document, hit.also_in) for hit in hits[1:]] == [("other.md", ())]
    assert event.left_out == {"duplicate": 1}
    everything, event = heard(library, "warranty of the pump", collapse=1.0)
    assert sorted(hit.document for hit in everything[:2]) == ["one.md", "two.txt"]
    assert event.left_out == {}


def test_what_differs_in_a_number_or_a_negation_stays(shelf: Shelf) -> None:
    library = filled(
        shelf,
        {
            "a.md": (
                "A ticket for the old tram in the city centre costs 10 EUR on every day of the"
                " week.\n"
            ),
            "b.md": (
                "A ticket for the old tram in the city centre costs 12 EUR on every day of the"
                " week.\n"
            ),
        },
    )
    hits, _ = heard(library, "What does a ticket for the old tram cost?", collapse=0.5)
    assert {hit.document for hit in hits} == {"a.md", "b.md"}


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("It costs 10 EUR.", "It costs 12 EUR.", False),
        ("It costs 10 EUR.", "it  COSTS\n10 eur", True),
        (
            "Dogs may enter house, garden and a yard today.",
            "Dogs may not enter house, garden and a yard today.",
            False,
        ),
        ("Version 1.2", "Version 1.3", False),
        (
            "from 10 to 12 on every working day of the year",
            "from 12 to 10 on every working day of the year",
            False,
        ),
        ("The garden opens at noon.", "The museum opens at noon.", False),
        ("有給休暇は10日です。", "有給休暇は10日です。", True),
        ("有給休暇は可です。", "有給休暇は不可です。", False),
        ("", "", True),
    ],
)
def test_texts_with_the_same_content(one: str, two: str, same: bool) -> None:
    assert same_content(one, two) is same_content(two, one) is same


def test_when_many_collapse_others_take_their_places(shelf: Shelf) -> None:
    same = {
        f"copy{n}.md": "The pump has a warranty of three years." + "\n" * n for n in range(1, 130)
    }
    library = filled(
        shelf,
        {
            **same,
            "extra.md": "Water is moved by the pump in the yard.\n",
            "last.md": "This pump is loud.\n",
        },
    )
    hits, event = heard(library, "warranty of the pump", top_k=3)
    assert [hit.document for hit in hits][1:] in (["extra.md", "last.md"], ["last.md", "extra.md"])
    assert event.left_out == {"duplicate": 128}
    assert len(hits[0].also_in) == 128


# Variety


def test_diversity_prefers_what_differs(shelf: Shelf) -> None:
    library = filled(
        shelf,
        {
            "a.md": "pump warranty three years parts",
            "b.md": "pump warranty three years parts labour",
            "c.md": "pump noise at home",
        },
    )
    plain, _ = heard(library, "pump warranty years", mode="dense", collapse=1.0)
    assert [hit.document for hit in plain] == ["a.md", "b.md", "c.md"]
    varied, event = heard(library, "pump warranty years", mode="dense", collapse=1.0, diversity=0.8)
    assert [hit.document for hit in varied] == ["a.md", "c.md", "b.md"]
    assert "diversity" in event.timings
    assert [hit.scores["mmr"] for hit in varied] == sorted(
        (hit.scores["mmr"] for hit in varied), reverse=True
    )
    assert "mmr" not in plain[0].scores
    two, _ = heard(
        library, "pump warranty years", mode="dense", collapse=1.0, diversity=0.8, top_k=2
    )
    assert [hit.document for hit in two] == ["a.md", "c.md"], "chosen from more than are given"


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1), st.integers(0, 2**32 - 1)
)
def test_diversity_is_the_formula_of_mmr(scores: list[float], diversity: float, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(len(scores), 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = vectors @ vectors.T
    order, values = diversify(scores, alike, diversity)
    assert sorted(order) == list(range(len(scores)))
    best = max(scores) or 1.0
    for place, (number, value) in enumerate(zip(order, values, strict=True)):

        def gain(one: int, before: Sequence[int] = order[:place]) -> float:
            nearest = max((alike[one][other] for other in before), default=0.0)
            return (1 - diversity) * (scores[one] / best) - diversity * max(0.0, nearest)

        assert value == pytest.approx(gain(number), abs=1e-6)
        assert value >= max(gain(one) for one in order[place:]) - 1e-6


# Neighbours


def test_neighbours_become_one_passage_and_others_fill_up(shelf: Shelf) -> None:
    library = filled(shelf, {"long.txt": paragraphs(4), "other.txt": "A river ends in the sea.\n"})
    (long,) = [one for one in library.documents(OWNER, "Docs") if one.name == "long.txt"]
    chunks = library.chunks(OWNER, long.id)
    assert len(chunks) == 4
    text = library.text(OWNER, long.id)
    hits, _ = heard(
        library,
        "number1 river1x1 river1x2 river1x3 number2 river2x1 river2x2",
        mode="lexical",
        top_k=5,
    )
    (merged,) = hits
    assert merged.chunk_ids == (chunks[1].id, chunks[2].id)
    assert merged.chunk_id == chunks[1].id
    assert (merged.start, merged.end) == (chunks[1].start, chunks[2].end)
    assert merged.text == text[merged.start : merged.end]
    apart, _ = heard(
        library,
        "number1 river1x1 river1x2 river1x3 number2 river2x1 river2x2",
        mode="lexical",
        top_k=5,
        merge=False,
    )
    assert [hit.chunk_ids for hit in apart] == [(chunks[1].id,), (chunks[2].id,)]
    assert merged.score == apart[0].score
    filled_up, _ = heard(
        library, "river number1 river1x1 number2 river2x1", mode="lexical", top_k=2
    )
    assert len(filled_up) == 2
    assert {hit.document for hit in filled_up} == {"long.txt", "other.txt"}


def test_a_passage_has_three_chunks_at_most_and_keeps_within_its_chapter(shelf: Shelf) -> None:
    chapters = f"# One\n\n{paragraphs(2, 'brook')}\n\n# Two\n\n{paragraphs(2, 'stream')}"
    library = filled(shelf, {"long.txt": paragraphs(7), "chapters.md": chapters})
    hits, _ = heard(library, "river", mode="dense", top_k=20)
    long = sorted((hit for hit in hits if hit.document == "long.txt"), key=lambda hit: hit.start)
    assert sum(len(hit.chunk_ids) for hit in long) == 7
    assert max(len(hit.chunk_ids) for hit in long) == MOST_CHUNKS
    in_chapters = [hit for hit in hits if hit.document == "chapters.md"]
    assert sorted((hit.heading, len(hit.chunk_ids)) for hit in in_chapters) == [
        ("One", 2),
        ("Two", 2),
    ]


@settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(
        st.lists(
            st.lists(st.text("abcdeäß漢🤦", min_size=1, max_size=6), min_size=1, max_size=60).map(
                " ".join
            ),
            min_size=1,
            max_size=8,
        ).map("\n\n".join),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    overlap=st.sampled_from([0, 4]),
    top_k=st.integers(1, 12),
    mode=st.sampled_from(MODES),
)
def test_passages_are_the_documents_text_and_do_not_overlap(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], overlap: int, top_k: int, mode: Mode
) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("passages"))
    library = shelf.library
    library.ingest(
        OWNER, "Docs", [shelf.source(f"{number}.txt", text) for number, text in enumerate(texts)]
    )
    made = library.versions.add(OWNER, "Docs", embedder="fake", max_tokens=16, overlap=overlap)
    library.versions.promote(OWNER, made.id)
    chunks = {
        one.id: one
        for doc in library.documents(OWNER, "Docs")
        for one in library.chunks(OWNER, doc.id, 0, 1_000)
    }
    whole = {doc.id: library.text(OWNER, doc.id) for doc in library.documents(OWNER, "Docs")}
    hits = heard(library, texts[0][:40], top_k=top_k, mode=mode, collapse=1.0)[0]
    shelf.close()
    assert len(hits) <= top_k
    given_ids = [number for hit in hits for number in hit.chunk_ids]
    assert len(given_ids) == len(set(given_ids)), "no chunk is in two passages"
    for hit in hits:
        parts = [chunks[number] for number in hit.chunk_ids]
        assert hit.chunk_id in hit.chunk_ids
        assert [one.ordinal for one in parts] == list(
            range(parts[0].ordinal, parts[0].ordinal + len(parts))
        )
        assert {one.document_id for one in parts} == {hit.document_id}
        assert parts[0].start <= hit.start
        assert hit.end == max(one.end for one in parts)
        assert whole[hit.document_id][hit.start : hit.end] == hit.text
        assert hit.text.strip() == hit.text != ""
    for one in hits:
        for two in hits:
            if one is not two and one.document_id == two.document_id:
                assert one.end <= two.start or two.end <= one.start


# Reranking


class Wordy:
    """Likes what contains one word, and keeps what it was given to read."""

    name = "wordy"

    def __init__(self, word: str) -> None:
        self.word = word
        self.read: list[str] = []

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [0.9 if self.word in text else 0.1 for text in texts]


def test_a_reranker_decides_among_the_best(shelf: Shelf) -> None:
    wordy = Wordy("80 degrees")
    library = filled(shelf, RIVERS)
    library.rerankers = Rerankers(
        lambda name: wordy if name == "wordy" else None, lambda: ["wordy"]
    )
    plain, _ = heard(library, "longest river", mode="dense")
    assert plain[0].document == "volga.md"
    hits, event = heard(library, "longest river", mode="dense", reranker="wordy")
    assert (hits[0].document, hits[0].score, hits[0].scores["rerank"]) == ("tea.md", 0.9, 0.9)
    assert "rerank" in event.timings
    assert sorted(wordy.read) == sorted(text.strip() for text in RIVERS.values())
    wordy.read.clear()
    best, _ = heard(
        library, "longest river", mode="dense", reranker="wordy", rerank_depth=1, top_k=1
    )
    assert [hit.document for hit in best] == ["volga.md"], (
        "what the reranker does not read cannot come first"
    )
    assert len(wordy.read) == 1
    with pytest.raises(ConfigError, match="no reranker 'none' here; choose another: wordy"):
        heard(library, "river", reranker="none")


def test_a_heading_that_the_text_does_not_repeat_is_read_too(shelf: Shelf) -> None:
    wordy = Wordy("Warranty")
    library = filled(shelf, {"a.md": "# Warranty\n\n" + paragraphs(2, "pump")})
    library.rerankers = Rerankers(lambda name: wordy)
    heard(library, "number1", reranker="wordy")
    assert sorted(text.split()[0] for text in wordy.read) in (
        ["#", "Warranty"],
        ["Warranty", "Warranty"],
    )


# The threshold


@pytest.mark.parametrize("mode", MODES)
def test_weak_evidence_is_left_out_and_counted(shelf: Shelf, mode: Mode) -> None:
    library = filled(shelf, RIVERS)
    everything, _ = heard(library, "the longest river of Europe", mode=mode)
    border = (everything[0].score + everything[1].score) / 2
    hits, event = heard(library, "the longest river of Europe", mode=mode, min_score=border)
    assert [hit.document for hit in hits] == ["volga.md"]
    assert event.left_out == {"weak": len(everything) - 1}
    nothing, event = heard(library, "zebra stripes", mode=mode, min_score=1.0)
    assert nothing == []
    assert hits[0].score <= 1


def test_the_threshold_counts_the_rerankers_score(shelf: Shelf) -> None:
    library = filled(shelf, RIVERS)
    library.rerankers = Rerankers(lambda name: Wordy("Danube"))
    hits, event = heard(library, "longest river", reranker="wordy", min_score=0.5)
    assert [hit.document for hit in hits] == ["danube.md"]
    assert event.left_out["weak"] >= 1


# Parts of collections


@pytest.mark.parametrize("mode", MODES)
def test_a_scope_narrows_every_mode(shelf: Shelf, mode: Mode) -> None:
    library = filled(shelf, RIVERS)
    ids = {one.name: one.id for one in library.documents(OWNER, "Docs")}
    for scope, names in (
        (Scope(document_ids=[ids["danube.md"]]), {"danube.md"}),
        (Scope(document_ids=[]), set()),
        (Scope(document_ids=["unknown"]), set()),
        (Scope(first_page=1), set()),
        (Scope(media_types=["text/markdown"]), {"danube.md", "volga.md"}),
    ):
        hits = library.retrieve(OWNER, "Docs", "the longest river", mode=mode, scope=scope)
        assert {hit.document for hit in hits} - {"tea.md"} == names


def test_many_allowed_chunks_are_found_among_by_words(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentkit.retrieval.search.candidates._FEW", 3)
    # Up to some 40 words the index knows lengths exactly, so that no two are equally good.
    texts = {f"d{n}.txt": f"river r{n}" + " pebble" * n for n in range(36)}
    library = filled(shelf, texts)
    options = SearchOptions(mode="lexical", top_k=2, depth=4, collapse=1.0)
    chosen = [one.id for one in library.documents(OWNER, "Docs") if int(one.name[1:-4]) % 4 == 0]
    hits = library.retrieve(
        OWNER, "Docs", "river", options=options, scope=Scope(document_ids=chosen)
    )
    assert {hit.document_id for hit in hits} <= set(chosen)
    everything = library.retrieve(OWNER, "Docs", "river", options=replace(options, top_k=60))
    best = [hit.chunk_id for hit in everything if hit.document_id in chosen]
    assert [hit.chunk_id for hit in hits] == best[:2], (
        "the same as when the set is given to the index"
    )
    last = [
        one.id
        for one in library.documents(OWNER, "Docs")
        if one.name in {hit.document for hit in everything[-4:]}
    ]
    hits = library.retrieve(OWNER, "Docs", "river", options=options, scope=Scope(document_ids=last))
    assert [hit.chunk_id for hit in hits] == [hit.chunk_id for hit in everything[-4:]][:2]


def test_a_search_that_waits_for_its_embedding_model_tells_so_first(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("volga.md", "The Volga is long.")])
    monkeypatch.setattr(FakeEmbedder, "is_ready", False)
    told: list[Event] = []
    with bus.listening(told.append):
        shelf.library.retrieve(OWNER, "Docs", "river", mode="hybrid")
        shelf.library.retrieve(OWNER, "Docs", "river", mode="lexical")
    first, *others = told
    assert first == EmbedderAwaited("fake")
    kinds = [type(one).__name__ for one in others]
    assert kinds == ["ModelCalled", "ModelReplied", "Retrieved", "Retrieved"]
