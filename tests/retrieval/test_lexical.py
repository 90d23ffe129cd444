"""Words are found in any language, whatever is typed; changes are durable together with their number."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.retrieval.chunk_table import IndexRow
from agentkit.retrieval.lexical import LexicalIndex

ROWS = [
    IndexRow(1, "zoo.md Animals", "The quick brown foxes jumped."),
    IndexRow(2, "Straßen", "Die Größe der Häuser in Österreich"),
    IndexRow(3, "", "日本語の文章を検索する"),
    IndexRow(4, "", "เด็กกินข้าว และ 한국어 문장"),
    IndexRow(5, "shakespeare", "To be or not to be"),
]


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    made = LexicalIndex(tmp_path / "lexical")
    made.add(ROWS)
    made.commit(5)
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fox", 1), ("JUMPING foxes?", 1), ("animal", 1), ("zoo.md", 1), ("häuser", 2), ("Hauser", 2), ("grosse größe", 2),
        ("文章", 3), ("検索", 3), ("語", 3), ("กินข้าว", 4), ("한국어", 4), ("to be or not", 5),
        ('"(fox AND', 1), ("text:fox^2 -quick*", 1),
    ],
)  # fmt: skip
def test_found(index: LexicalIndex, query: str, expected: int) -> None:
    ids, scores = index.search(query, 5)
    assert ids[0] == expected
    assert scores[0] > 0


@pytest.mark.parametrize("query", ["", "  ", "+-&|!(){}[]^~*?:\\/", "nowhere"])
def test_nothing_to_find(index: LexicalIndex, query: str) -> None:
    assert index.search(query, 5) == ([], [])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=60))
def test_no_query_breaks_it(index: LexicalIndex, query: str) -> None:
    ids, scores = index.search(query, 3)
    assert len(ids) == len(scores) <= 3


def test_only_allowed_ones(index: LexicalIndex) -> None:
    assert index.search("fox shakespeare", 5, [5])[0] == [5]
    assert index.search("fox", 5, []) == ([], [])


def test_changes_last(index: LexicalIndex, tmp_path: Path) -> None:
    index.remove([1, 99])
    index.commit(6)
    assert index.search("fox", 5)[0] == []
    index.add([IndexRow(7, "", "never committed fox")])
    again = LexicalIndex(tmp_path / "lexical")
    assert (again.change, len(again), again.ids()) == (6, 4, {2, 3, 4, 5})
    assert again.search("fox", 5)[0] == []


@pytest.mark.parametrize("victim", ["meta.json", "*.idx", "*.term", "*.store"])
@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_a_damaged_index_starts_anew(index: LexicalIndex, tmp_path: Path, victim: str, damage: str) -> None:
    index.settle()
    for file in (tmp_path / "lexical").glob(victim):
        if damage == "removed":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:10])
    again = LexicalIndex(tmp_path / "lexical")
    assert (again.change, len(again)) == (0, 0)
    again.add(ROWS)
    again.commit(5)
    assert again.search("fox", 5)[0] == [1]
