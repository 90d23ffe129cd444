"""How many documents are stored at once: few at first, so that progress is seen, then what the
machine can bear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from agentkit.core import bus
from agentkit.events import DocumentDone, DocumentProgress, Event
from agentkit.retrieval import FakeEmbedder
from agentkit.retrieval.ingest import ingest
from agentkit.retrieval.library import Library
from tests.retrieval.conftest import OWNER, Shelf


class Counted(FakeEmbedder):
    """Counts the texts that it has embedded."""

    texts = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += len(texts)
        return super().embed(texts)


def test_the_first_documents_are_stored_before_hundreds_of_chunks_are_embedded(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ingest, "_GROUP_S", 60
    )  # on a slow machine the first group would be smaller yet
    embedder, committed, after = Counted(), [], []
    library = Library(shelf.database, shelf.settings, embedder)

    def heard(event: Event) -> None:
        if isinstance(event, DocumentProgress) and event.stage == "commit":
            committed.append(event.document_id)
        if isinstance(event, DocumentDone):
            after.append((len(committed), embedder.texts))

    text = "\n\n".join(
        f"# Part {part}\n\n{f'Cats sleep in part {part}. ' * 30}" for part in range(15)
    )
    with bus.listening(heard):
        done = library.ingest(
            OWNER, "Docs", [shelf.source(f"{n}.md", f"{n}\n\n{text}") for n in range(12)]
        )
    chunks = done[0].chunks
    assert chunks >= 15
    together, embedded = after[0]
    assert together * chunks <= 32 + chunks
    # The next group is embedded meanwhile, and no third one.
    assert embedded <= 32 + chunks + ingest.GROUP_PIECES + chunks
    library.close()


def test_a_group_grows_with_the_pace_and_has_its_bounds() -> None:
    pace = ingest._Pace()
    pace.note(32, 0.5)
    assert pace.pieces == 128
    pace.note(128, 0.0)
    assert pace.pieces == 256
    pace.note(256, 60.0)
    assert pace.pieces == 32
