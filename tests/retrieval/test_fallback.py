"""An embedding server that is out of reach: words are searched for then, and everybody is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from agentkit.core import bus
from agentkit.errors import (
    BadModelReply,
    ConfigError,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelTimedOut,
    ModelUnreachable,
    RateLimited,
)
from agentkit.events import Event, Fallback, ModelReplied, Retrieved, Usage
from agentkit.retrieval import FakeEmbedder, Hit, Library
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.embedding.servers import ServerEmbedder, hurry_servers
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.options import MODES, SearchOptions
from agentkit.retrieval.store.questions import Question
from tests.retrieval.conftest import OWNER, Shelf
from tests.servers.openai_server import Answer, OpenAIServer

CATS = "# Cats\n\nCats sleep sixteen hours a day.\n"
DOGS = "# Dogs\n\nDogs bark at strangers.\n"
GONE = ModelUnreachable("far cannot be reached.")


class Unplugged(FakeEmbedder):
    """Raises what is set here instead of answering."""

    def __init__(self) -> None:
        super().__init__(name="far")
        self.why: ModelError | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.why:
            raise type(self.why)(
                str(self.why)
            )  # anew: the one that is kept would keep what it went through
        return super().embed(texts)


@pytest.fixture
def far(shelf: Shelf) -> Unplugged:
    """The embedder of the collection Docs, whose documents are stored; Here has the one of this
    machine.
    """
    made = Unplugged()
    shelf.library = with_far(shelf, made)
    shelf.library.ingest(OWNER, "Here", [shelf.source("dogs.md", DOGS)])
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    version = shelf.library.versions.add(OWNER, "Docs", embedder="far", max_tokens=100)
    shelf.library.versions.promote(OWNER, version.id)
    return made


def with_far(shelf: Shelf, far: Unplugged) -> Library:
    return Library(shelf.database, shelf.settings, Embedders(FakeEmbedder(), {"far": far}.get))


def searched(
    library: Library, query: str = "cats sleep", where: str | list[str] = "Docs", **how: Any
) -> tuple[list[Hit], Retrieved]:
    heard: list[Event] = []
    with bus.listening(heard.append):
        hits = library.retrieve(OWNER, where, query, **how)
    (told,) = [event for event in heard if isinstance(event, Retrieved)]
    return hits, told


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
@pytest.mark.parametrize("why", [GONE, ModelTimedOut("far is slow."), RateLimited("far is busy.")])
def test_words_are_searched_for_and_the_event_says_why(
    shelf: Shelf, far: Unplugged, mode: str, why: ModelError
) -> None:
    by_words, plain = searched(shelf.library, mode="lexical")
    assert plain.fallback is None
    far.why = why
    hits, told = searched(shelf.library, mode=mode)
    assert hits == by_words
    assert hits[0].document == "cats.md"
    assert (told.mode, told.options["mode"]) == ("lexical", "lexical")
    assert told.fallback == Fallback(mode, "far", str(why), type(why).__name__)
    far.why = None
    hits, told = searched(shelf.library, mode=mode)
    assert (told.mode, told.fallback) == (mode, None)
    assert "dense" in hits[0].scores


def test_before_the_model_was_asked_for_the_first_time(shelf: Shelf, far: Unplugged) -> None:
    """Whether it is the same model still cannot be seen then either."""
    far.why = GONE
    hits, told = searched(with_far(shelf, far))
    assert hits
    assert told.fallback


@pytest.mark.parametrize(
    "why",
    [
        ModelAuthFailed("No key."),
        ModelNotFound("No model."),
        BadModelReply("Odd."),
        ConfigError("Not set up."),
    ],
)
def test_what_is_set_up_wrongly_is_an_error_still(shelf: Shelf, far: Unplugged, why: Any) -> None:
    far.why = why
    with pytest.raises(type(why), match=str(why)):
        shelf.library.retrieve(OWNER, "Docs", "cats")


def test_a_search_by_words_needs_nobody(shelf: Shelf, far: Unplugged) -> None:
    far.why = GONE
    _, told = searched(shelf.library, mode="lexical")
    assert told.fallback is None


def test_the_threshold_of_other_scores_does_not_count(shelf: Shelf, far: Unplugged) -> None:
    far.why = GONE
    hits, told = searched(shelf.library, options=SearchOptions(min_score=1.0))
    assert [hit.document for hit in hits] == ["cats.md"]
    assert (told.options["min_score"], told.left_out) == (0.0, {})


def test_all_collections_of_a_search_are_ranked_alike(shelf: Shelf, far: Unplugged) -> None:
    far.why = GONE
    hits, told = searched(shelf.library, "cats and dogs", ["Here", "Docs"])
    assert {hit.document for hit in hits} == {"cats.md", "dogs.md"}
    assert all(set(hit.scores) == {"lexical", "lexical_rank"} for hit in hits)
    assert told.fallback
    _, told = searched(shelf.library, "dogs", "Here")
    assert told.fallback is None, "its own model is here"


def test_the_failed_call_is_among_the_model_calls(shelf: Shelf, far: Unplugged) -> None:
    far.why = GONE
    heard: list[Event] = []
    with bus.listening(heard.append):
        shelf.library.retrieve(OWNER, "Docs", "cats")
    (reply,) = [event for event in heard if isinstance(event, ModelReplied)]
    assert (reply.status, reply.model, reply.error) == ("failed", "far", str(GONE))
    assert reply.usage == Usage(), "it took nothing, so that its price is no question"


def test_nothing_else_is_measured_than_what_was_asked_for(shelf: Shelf, far: Unplugged) -> None:
    sets = shelf.library.questions
    made = sets.create(OWNER, "Cats", "Docs", [Question("cats sleep", {"cats.md": 1})])
    far.why = GONE
    with pytest.raises(ModelUnreachable):
        measure(shelf.library, OWNER, made.id, "Docs", SearchOptions(mode="dense"))
    with pytest.raises(ModelUnreachable):
        shelf.library.retrieve(OWNER, "Docs", "cats", falls_back=False)
    assert (
        measure(shelf.library, OWNER, made.id, "Docs", SearchOptions(mode="lexical")).figures[
            "hit_rate"
        ]
        == 1
    )


def test_a_server_that_goes_away_and_comes_back(shelf: Shelf) -> None:
    """Over HTTP: it is asked twice while somebody waits, and by the next search again."""

    def vectors(body: dict[str, Any]) -> list[list[float]]:
        # Lists of numbers.
        return FakeEmbedder().embed(body["input"]).tolist()  # type: ignore[no-any-return]

    with OpenAIServer(embed=vectors) as server:
        remote = ServerEmbedder(server.base_url, "", "nomic")
        library = Library(shelf.database, shelf.settings, remote)
        library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
        before = len(server.requests)
        server.embed = lambda body: Answer(status=503)
        hits, told = searched(library)
        assert hits
        assert told.fallback
        assert told.fallback.embedder == f"nomic at {server.base_url}"
        assert told.fallback.error_type == "ModelUnreachable"
        assert len(server.requests) - before == 2
        server.embed = vectors
        assert searched(library)[1].fallback is None
    for mode in MODES:
        hits, told = searched(library, mode=mode)
        assert [hit.document for hit in hits] == ["cats.md"]
        assert (told.fallback is None) == (mode == "lexical")
    library.indexes.close()


def test_in_a_hurry_nobody_waits_as_long_as_a_server_asks_for() -> None:
    with OpenAIServer(
        embed=lambda body: Answer(status=429, headers={"Retry-After": "50"})
    ) as server:
        with hurry_servers(), pytest.raises(RateLimited):
            ServerEmbedder(server.base_url, "", "nomic").embed(["cats"])
        assert len(server.requests) == 1
