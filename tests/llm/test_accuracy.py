"""How often the offline model quotes what answers, and refuses where nothing does."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agentkit.llm.connections.config import offline_model
from agentkit.retrieval import Library
from agentkit.settings import Settings
from tests.bench.bench_offline import CRANFIELD, Item, Outcome, found, items, library, outcome


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library(tmp_path_factory.mktemp("accuracy")) as made:
        yield made


def measured(opened: Library, asked: list[Item], by_meaning: bool = True) -> Outcome:
    model = offline_model(opened.similarity if by_meaning else None)
    return outcome(model, [(one, found(opened, one)) for one in asked])


@pytest.mark.soak
def test_on_the_questions_to_which_it_was_fitted(opened: Library) -> None:
    made = measured(opened, items("fitted"))
    assert made.right_share >= 0.89, made
    assert made.refused_share >= 0.94, made


@pytest.mark.soak
@pytest.mark.skipif(not CRANFIELD.exists(), reason="some of them are about the Cranfield abstracts")
def test_on_new_questions(opened: Library) -> None:
    made = measured(opened, items("new"))
    assert made.right_share >= 0.85, made
    assert made.refused_share >= 0.87, made


@pytest.mark.soak
def test_by_words_alone(opened: Library) -> None:
    made = measured(opened, items("fitted"), by_meaning=False)
    assert made.right_share >= 0.8, made
    assert made.refused_share >= 0.9, made


def test_what_answers_is_written_down() -> None:
    asked = items("fitted") + items("new")
    for one in asked:
        passages = " ".join(one.passages).lower()
        assert all(part.lower() in passages for part in one.answer), one
    samples = json.loads(Settings().sample_questions.read_text(encoding="utf-8"))
    assert {one["question"] for one in samples} <= {one.question for one in asked}
