"""The sample documents can be read, are small, and hold what `sample-questions.json` says about
them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.documents.child import read_here
from agentkit.documents.document import Limits

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
DOCUMENTS = sorted(SAMPLES.iterdir())
QUESTIONS: list[dict[str, Any]] = json.loads(
    SAMPLES.with_name("sample-questions.json").read_text(encoding="utf-8")
)


def _text(name: str) -> str:
    return " ".join(read_here((SAMPLES / name).read_bytes(), name, Limits()).text.lower().split())


def test_there_are_documents_of_many_formats_and_little_weight() -> None:
    assert len({file.suffix for file in DOCUMENTS}) == len(DOCUMENTS) == 8
    assert sum(file.stat().st_size for file in SAMPLES.iterdir()) < 300_000


def test_questions_with_and_without_an_answer() -> None:
    answerable = [item for item in QUESTIONS if item["document"]]
    assert {item["document"] for item in answerable} == {file.name for file in DOCUMENTS}
    assert len(answerable) >= 25
    assert len(QUESTIONS) - len(answerable) >= 8
    suggested = [item["document"] for item in QUESTIONS if item.get("suggested")]
    assert len(suggested) == len(set(suggested)) == 4
    assert all(bool(item["answer_contains"]) == bool(item["document"]) for item in QUESTIONS)


@pytest.mark.parametrize("name", [file.name for file in DOCUMENTS])
def test_each_document_holds_the_answers_it_should(name: str) -> None:
    text = _text(name)
    wanted = [
        answer
        for item in QUESTIONS
        if item["document"] == name
        for answer in item["answer_contains"]
    ]
    assert [answer for answer in wanted if answer.lower() not in text] == []
