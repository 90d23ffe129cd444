"""Documents into collections: what is new, what is updated, what a failure leaves behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit.agents.retrieve_chat import filling
from agentkit.agents.retrieve_chat.config import RetrieveConfig
from agentkit.agents.retrieve_chat.vectordb import DuckDBVectorDB
from tests.agents.retrieve_chat.desk import database, embed


def settings(folder: Path, **more: Any) -> RetrieveConfig:
    return RetrieveConfig.of("rag", {"docs_path": str(folder), "collection_name": "docs", **more})


def held(made: DuckDBVectorDB) -> dict[str, str]:
    return {str(one["id"]): one["content"] for one in made.get_docs_by_ids(None, "docs")}


def test_equal_chunks_are_one_document_and_ids_are_those_of_autogen(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("apples are red\n\nbananas are yellow\n", encoding="utf-8")
    made = database()
    filling.fill(made, settings(tmp_path))
    assert held(made) == {"1095ffa7": "apples are red\n\nbananas are yellow"}
    assert (made.get_docs_by_ids(None, "docs")[0]["metadata"] or {}) == {
        "source": str(tmp_path / "a.txt")
    }


def test_two_contents_with_one_short_id_are_both_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "_ID_LENGTH", 1)  # 16 short ids for 40 texts
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"text {number}", encoding="utf-8")
    made = database()
    filling.fill(made, settings(tmp_path))
    filling.fill(made, settings(tmp_path, get_or_create=True))
    assert sorted(held(made).values()) == sorted(f"text {number}" for number in range(40))


@pytest.mark.parametrize("new_docs", [True, False])
def test_a_second_filling_adds_what_is_new(tmp_path: Path, new_docs: bool) -> None:
    made = database()
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")
        filling.fill(made, settings(tmp_path, get_or_create=True, new_docs=new_docs))
    assert sorted(held(made).values()) == ["one", "two"]


def test_only_new_documents_are_embedded_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return embed(texts)

    made = DuckDBVectorDB(embedding_function=counting)
    (tmp_path / "one.txt").write_text("one", encoding="utf-8")
    filling.fill(made, settings(tmp_path, get_or_create=True))
    (tmp_path / "two.txt").write_text("two", encoding="utf-8")
    filling.fill(made, settings(tmp_path, get_or_create=True))
    assert asked == ["one", "two"]


def test_a_failure_leaves_no_half_collection(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("one", encoding="utf-8")

    def failing(texts: list[str]) -> list[list[float]]:
        raise RuntimeError("the model is gone")

    made = DuckDBVectorDB(embedding_function=failing)
    with pytest.raises(RuntimeError, match="gone"):
        filling.fill(made, settings(tmp_path))
    made.embedding_function = embed
    filling.fill(made, settings(tmp_path))
    assert list(held(made).values()) == ["one"]


def test_a_path_that_is_wrong_leaves_an_existing_collection_alone(tmp_path: Path) -> None:
    made = database("kept", name="docs")
    with pytest.raises(ValueError, match="does not exist"):
        filling.fill(made, settings(tmp_path / "nowhere", overwrite=True))
    assert list(held(made).values()) == ["kept"]


def test_numbers_as_ids_where_there_is_a_client(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")
    made = database()
    filling.fill(made, settings(tmp_path, vector_db=None))
    assert held(made) == {"doc_0": "one", "doc_1": "two"}
    filling.fill(made, settings(tmp_path, vector_db=None, extra_docs=True, get_or_create=True))
    assert sorted(held(made)) == ["doc_0", "doc_1", "doc_2", "doc_3"]
