"""Vectors of other ids: never made, not read from files, and found where all are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.retrieval.vector_table import SIZE, Table, vectors


def test_what_is_added_after_it_was_built_anew_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    table = Table()
    saved = table.put(vectors(200, 1))
    index = table.index(tmp_path)
    index.save()
    new = table.put(vectors(200, 2))
    index.refresh()
    table.take(saved[:100] + new[:100])
    index.refresh()
    table.put(vectors(50, 3))
    index.refresh()
    assert index.figures().removed == 0
    assert index.find_wrong() == []
    for number, row in table.rows.items():
        assert index.search(row, 1)[0].tolist() == [number]


def test_files_with_the_vectors_of_others_are_made_anew(tmp_path: Path) -> None:
    right, wrong = Table(), Table()
    right.put(vectors(2_000, 1))
    wrong.put(np.concatenate([vectors(100, 2), vectors(2_000, 1)[100:]]))
    index = wrong.index(tmp_path)
    index.save()
    assert index.find_wrong() == []
    opened = right.index(tmp_path)
    assert opened.saved == 0
    assert opened.find_wrong() == []


def test_one_vector_of_another_is_found_where_all_are_compared(tmp_path: Path) -> None:
    table = Table()
    table.put(vectors(1_000, 1))
    index = table.index(tmp_path)
    table.rows[700] = np.ones(SIZE, dtype=np.float32)
    table.take([3, 4])
    assert index.find_wrong() == [700]
