"""The index that follows a table: it finds what the table has, among all or some, and its files
survive what happens to them.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.errors import StoreError
from agentkit.retrieval.index import index_files
from agentkit.retrieval.index.graph import Metric
from agentkit.retrieval.index.vector_index import VectorIndex
from tests.retrieval.full_disk import at_most
from tests.retrieval.vector_table import SIZE, Table, vectors

METRICS: tuple[Metric, ...] = ("cosine", "l2", "ip")


def agrees(index: VectorIndex, table: Table) -> None:
    """The index has what the table has, and gives the right vectors and distances."""
    index.refresh()
    assert index.ids.tolist() == sorted(table.rows)
    assert len(index) == len(table.rows)
    found, kept = index.vectors(sorted(table.rows))
    assert all(
        np.array_equal(row, table.rows[number]) for number, row in zip(found, kept, strict=True)
    )
    for number in sorted(table.rows)[::37]:
        ids, distances = index.search(table.rows[number], 1)
        assert (ids.tolist(), distances.tolist()) == ([number], [pytest.approx(0, abs=1e-5)])
    assert set(index.search(vectors(1, 5)[0], 10_000)[0].tolist()) == set(table.rows)


def exact(table: Table, query: np.ndarray, k: int, allowed: list[int] | None = None) -> list[int]:
    ids = sorted(table.rows if allowed is None else set(allowed) & set(table.rows))
    rows = np.array([table.rows[number] for number in ids], dtype=np.float64)
    far = np.square(rows - query).sum(axis=1) if table.metric == "l2" else -(rows @ query)
    return [ids[row] for row in np.argsort(far)[:k]]


def is_exact(index: VectorIndex, table: Table, queries: np.ndarray, k: int = 10) -> None:
    """Each query finds vectors as near as comparing with all does; of equal ones any will do."""
    rows = np.array(list(table.rows.values()), dtype=np.float64).reshape(-1, SIZE)
    for query in queries.astype(np.float64):
        apart = np.square(rows - query).sum(axis=1) if table.metric == "l2" else 1 - rows @ query
        ids, distances = index.search(query.astype(np.float32), k)
        assert len(set(ids.tolist())) == len(ids) == min(k, len(rows))
        assert set(ids.tolist()) <= set(table.rows)
        assert np.allclose(distances, np.sort(apart)[:k], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("equal", [0, 40, 800])
def test_below_the_limit_a_thousand_queries_of_a_thousand_are_exact(
    metric: Metric, equal: int
) -> None:
    table = Table(metric)
    table.put(np.repeat(vectors(1, 7, metric), equal, axis=0))
    table.put(vectors(1_200, 1, metric))
    index = table.index(None, exact_below=5_000)
    table.take(list(range(1, 1 + equal // 4)) + list(range(equal + 1, equal + 300)))
    table.put(vectors(100, 2, metric))
    index.refresh()
    assert index.figures().removed
    is_exact(index, table, np.concatenate([vectors(990, 3, metric), vectors(10, 7, metric)]))


PARTS = st.tuples(
    st.sampled_from(["new", "equal", "near", "again", "zero", "take", "open"]), st.integers(1, 90)
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(METRICS), st.lists(PARTS, min_size=1, max_size=10))
def test_below_the_limit_it_agrees_with_comparing_all(
    tmp_path_factory: pytest.TempPathFactory, metric: Metric, parts: list[tuple[str, int]]
) -> None:
    table, folder = Table(metric), tmp_path_factory.mktemp("vectors")
    index = table.index(folder, exact_below=5_000)
    for seed, (part, count) in enumerate(parts):
        one = vectors(1, seed % 3, metric)
        if part == "new":
            table.put(vectors(count, seed, metric))
        elif part == "equal":
            table.put(np.repeat(one, count, axis=0))
        elif part == "near":
            table.put(one + np.float32(1e-7) * vectors(count, seed))
        elif part == "again":  # what a document taken in anew has
            table.put(np.array(list(table.rows.values())[:count], np.float32).reshape(-1, SIZE))
        elif part == "zero":
            table.put(np.zeros((count, SIZE), dtype=np.float32))
        elif part == "take":
            table.take(sorted(table.rows)[:: 1 + seed % 3][:count])
        else:
            index.refresh()
            index.save()
            index = table.index(folder, exact_below=5_000)
        index.refresh()
    is_exact(index, table, np.concatenate([vectors(12, 77, metric), vectors(1, 1, metric)]))


@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_the_graph_takes_over_and_reaches_its_recall_on_queries_it_was_not_tuned_with(
    metric: Metric,
) -> None:
    table = Table(metric)
    table.put(vectors(90, 1, metric))
    index = table.index(None)
    figures = index.figures()
    assert (figures.kind, figures.vectors, figures.ef, figures.recall, figures.sample) == (
        "exact",
        90,
        90,
        1.0,
        0,
    )
    table.put(vectors(4_000, 2, metric))
    index.refresh()
    figures = index.figures()
    assert (figures.kind, figures.vectors, figures.sample, figures.bytes) == ("hnsw", 4_090, 200, 0)
    assert figures.ef >= 16
    assert figures.recall >= 0.99
    queries = vectors(200, 3, metric)
    found = sum(
        len(set(index.search(one, 10)[0].tolist()) & set(exact(table, one, 10))) for one in queries
    )
    assert found >= 0.99 * 2_000
    found = sum(
        len(set(index.search(one, 100)[0].tolist()) & set(exact(table, one, 100)))
        for one in queries[:30]
    )
    assert found >= 0.99 * 3_000


@pytest.mark.parametrize("exact_below", [100, 1_000])
def test_by_dot_product_the_nearest_are_found_whether_a_graph_leads_to_them_or_not(
    exact_below: int,
) -> None:
    table = Table("ip")
    table.put(np.concatenate([vectors(500, 1, "ip"), 1e-3 * vectors(300, 1, "ip")]))
    index = table.index(None, exact_below)
    found = 0
    for query in vectors(50, 2, "ip"):
        ids, distances = index.search(query, 10)
        found += len(set(ids.tolist()) & set(exact(table, query, 10)))
        right = 1 - np.array([table.rows[one] for one in ids]) @ query
        assert np.allclose(distances, right, rtol=1e-5, atol=1e-4)
    assert found >= (500 if exact_below == 1_000 else 0.99 * 500)
    assert index.figures().recall >= 0.99


def test_where_no_graph_leads_by_dot_product_all_are_compared() -> None:
    table, chance = Table("ip"), np.random.default_rng(1)
    table.put(chance.uniform(size=(8_000, SIZE)).astype(np.float32))
    index = table.index(None)
    for query in chance.uniform(size=(50, SIZE)).astype(np.float32):
        assert index.search(query, 10)[0].tolist() == exact(table, query, 10)
    assert (index.figures().kind, index.figures().recall) == ("exact", 1)


def test_vectors_of_zeros_are_kept_and_found() -> None:
    table = Table("cosine")
    table.put(np.zeros((300, SIZE), dtype=np.float32))
    index = table.index(None)
    assert index.figures().kind == "hnsw"
    ids, distances = index.search(vectors(1, 1, "cosine")[0], 5)
    assert (len(set(ids.tolist())), distances.tolist()) == (5, [pytest.approx(1)] * 5)


def test_ef_is_measured_again_when_the_index_has_grown_by_half() -> None:
    table = Table()
    table.put(vectors(200, 1))
    index = table.index(None)
    first = index._tuned
    table.put(vectors(90, 2))
    index.refresh()
    assert index._tuned is first
    table.put(vectors(20, 3))
    index.refresh()
    assert (index._tuned.vectors, first.vectors) == (310, 200)


def test_equal_vectors_count_as_found_whichever_they_are() -> None:
    table = Table()
    table.put(np.repeat(vectors(10, 1), 60, axis=0))
    index = table.index(None)
    assert index.figures().recall >= 0.99
    table.take([1])
    index.refresh()
    assert set(index.search(vectors(10, 1)[0], 599)[0].tolist()) == set(table.rows)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.95, 1.0])
def test_among_some_the_nearest_are_found_for_every_share(share: float) -> None:
    table = Table()
    ids = np.array(table.put(vectors(6_000, 1)))
    index = table.index(None)
    chance = np.random.default_rng(7)
    right = asked = 0
    for query in vectors(60, 3):
        allowed = np.sort(chance.choice(ids, max(3, int(share * len(ids))), replace=False))
        found = index.search(query, 10, allowed)[0].tolist()
        expected = exact(table, query, 10, allowed.tolist())
        assert len(found) == len(expected)
        right, asked = right + len(set(found) & set(expected)), asked + len(expected)
    assert right >= 0.99 * asked


def test_among_those_that_are_far_away_the_nearest_are_found_too() -> None:
    table = Table()
    table.put(vectors(6_000, 1))
    index = table.index(None)
    query = vectors(1, 3)[0]
    farthest = exact(table, query, 6_000)[-4_000:]
    assert index.search(query, 10, np.sort(np.array(farthest)))[0].tolist() == exact(
        table, query, 10, farthest
    )
    assert len(index.search(query, 10, np.empty(0, dtype=np.int64))[0]) == 0
    assert len(index.search(query, 10, np.array([99_998, 99_999]))[0]) == 0


def test_many_removals_make_it_build_anew_while_others_are_served() -> None:
    table = Table()
    table.put(vectors(3_000, 1))
    index = table.index(None)
    table.take(list(range(1, 601)))
    index.refresh()
    assert index.figures().removed == 600
    table.take(list(range(601, 1_501)))
    worker = threading.Thread(target=index.refresh)
    worker.start()
    while worker.is_alive():
        found = index.search(vectors(1, 2)[0], 50)[0]
        assert len(found) == 50
        table.put(vectors(1, table.last))  # what comes meanwhile is not lost
        index.refresh()
    worker.join()
    agrees(index, table)
    assert index.figures().removed == 0
    table.take(sorted(table.rows)[50:])
    agrees(index, table)
    assert index.figures().kind == "exact"


# Files


def test_after_a_restart_the_file_is_brought_up_to_date(tmp_path: Path) -> None:
    table = Table()
    table.put(vectors(80, 1))
    index = table.index(tmp_path)
    table.take([3, 4])
    table.put(vectors(220, 2))
    index.refresh()
    table.take([5, 6])
    index.refresh()
    index.save()
    figures = index.figures()
    assert figures.bytes == sum(file.stat().st_size for file in tmp_path.iterdir()) > 300 * SIZE * 4
    table.put(vectors(20, 3))
    table.take([7, 306])
    again = VectorIndex(table, SIZE, "cosine", tmp_path, 100)
    assert (again.change, again.saved, again.figures()) == (304, 304, figures)
    agrees(again, table)
    agrees(index, table)
    again.save()
    agrees(table.index(tmp_path), table)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["vectors-326.hnsw", "vectors.json"]


def test_a_small_index_is_saved_from_the_first_vector_on_and_an_empty_one_leaves_no_file(
    tmp_path: Path,
) -> None:
    table = Table()
    table.put(vectors(1, 1))
    table.index(tmp_path).save()
    again = VectorIndex(table, SIZE, "cosine", tmp_path, 100)
    assert (len(again), again.change, again.figures().kind) == (1, 1, "exact")
    agrees(again, table)
    table.take([1])
    index = table.index(tmp_path)
    index.save()
    assert (list(tmp_path.iterdir()), index.saved) == ([], table.last)
    agrees(table.index(tmp_path), table)


def test_files_with_the_vectors_in_one_of_their_own_are_read_and_that_one_is_removed(
    tmp_path: Path,
) -> None:
    table = Table()
    table.put(vectors(300, 1))
    table.index(tmp_path).save()
    np.save(tmp_path / "vectors-300.npy", vectors(300, 1))
    meta = tmp_path / "vectors.json"
    files = json.loads(meta.read_text())["files"]
    bump(meta, files={**files, "rows": ["vectors-300.npy", 1]})
    index = VectorIndex(table, SIZE, "cosine", tmp_path, 100)
    assert index.change == 300
    agrees(index, table)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["vectors-300.hnsw", "vectors.json"]


def bump(meta: Path, **changes: object) -> None:
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **changes}))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flip(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:5_000] + bytes([data[5_000] ^ 255]) + data[5_001:])


FILE_HARMS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "cut": cut,
    "empty": lambda file: file.write_bytes(b""),
    "nonsense": lambda file: file.write_bytes(b"\xff"),
}
DESCRIPTION_HARMS: dict[str, Callable[[Path], object]] = {
    "a list": lambda meta: meta.write_text("[1, 2]"),
    "old layout": lambda meta: meta.write_text(
        json.dumps({"file": "vectors-300.hnsw", "change": 300, "dimension": SIZE})
    ),
    "ahead": lambda meta: bump(meta, change=10_000),
    "foreign metric": lambda meta: bump(meta, metric="l2"),
    "names elsewhere": lambda meta: bump(meta, files={"graph": ["/etc/passwd", 0]}),
    "no graph": lambda meta: bump(meta, files={}),
}
HARMS: dict[str, tuple[str, Callable[[Path], object]]] = {
    **{
        f"{harm} {file}": (f"vectors*{file}", do)
        for file in ("hnsw", "json")
        for harm, do in FILE_HARMS.items()
    },
    "flipped hnsw": ("vectors*hnsw", flip),
    **{harm: ("vectors.json", do) for harm, do in DESCRIPTION_HARMS.items()},
}


@pytest.mark.parametrize("harm", HARMS)
def test_files_that_were_harmed_are_made_anew(tmp_path: Path, harm: str) -> None:
    table = Table()
    table.put(vectors(300, 1))
    table.index(tmp_path).save()
    table.take([4])
    pattern, do = HARMS[harm]
    [file] = tmp_path.glob(pattern)
    do(file)
    again = VectorIndex(table, SIZE, "cosine", tmp_path, 100)
    assert again.change == 0
    agrees(again, table)
    again.save()
    agrees(table.index(tmp_path), table)
    assert len(list(tmp_path.iterdir())) == 2


def test_files_of_another_dimension_are_not_used(tmp_path: Path) -> None:
    table = Table()
    table.put(vectors(300, 1))
    table.index(tmp_path).save()
    assert index_files.read(tmp_path, SIZE, "cosine") is not None
    assert index_files.read(tmp_path, SIZE + 1, "cosine") is None


@pytest.mark.parametrize("common", [0, 290, 300])
def test_files_are_not_trusted_when_the_table_was_put_back_and_went_on_differently(
    tmp_path: Path, common: int
) -> None:
    older, table = Table(), Table()
    for one in (older, table):
        one.put(vectors(300, 1)[:common])
    table.put(vectors(400, 2))
    table.index(tmp_path).save()
    older.put(vectors(600, 3))  # so that it is not older any more by its numbers
    agrees(older.index(tmp_path), older)


def test_a_table_that_removed_the_newest_keeps_its_file(tmp_path: Path) -> None:
    table = Table()
    table.put(vectors(400, 1))
    table.index(tmp_path).save()
    table.take(list(range(320, 401)))
    again = VectorIndex(table, SIZE, "cosine", tmp_path, 100)
    assert again.change == 400
    agrees(again, table)


@pytest.mark.parametrize("step", range(4))
def test_a_save_that_is_cut_off_anywhere_leaves_the_old_index_or_the_new_one(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table()
    table.put(vectors(300, 1))
    index = table.index(tmp_path / "live")
    index.save()
    table.put(vectors(40, 2))
    table.take([1, 2])
    index.refresh()
    seen = 0
    replace = Path.replace

    def replacing(self: Path, target: Path) -> Path:
        nonlocal seen
        for _ in range(2):  # before and after each of the two files gets its name
            if seen == step:
                shutil.copytree(
                    tmp_path / "live", tmp_path / "dead"
                )  # what a process that ends here leaves behind
            seen += 1
            if seen % 2:
                moved = replace(self, target)
        return moved

    monkeypatch.setattr(Path, "replace", replacing)
    index.save()
    monkeypatch.undo()
    assert seen == 4
    again = VectorIndex(table, SIZE, "cosine", tmp_path / "dead", 100)
    assert again.change == (342 if step == 3 else 300)
    agrees(again, table)
    again.save()
    assert len(list((tmp_path / "dead").iterdir())) == 2
    agrees(index, table)


@pytest.mark.parametrize("size", [0, 100, 10_000, 85_000])
def test_a_full_disk_loses_nothing_and_is_said(
    tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table()
    table.put(vectors(300, 1))
    index = table.index(tmp_path)
    index.save()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    table.put(vectors(100, 2))
    index.refresh()
    with caplog.at_level(logging.WARNING), at_most(size):
        index.save()
    assert "could not be saved" in index.problem
    assert index.problem in caplog.text
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert index.saved == 300
    agrees(index, table)
    agrees(table.index(tmp_path), table)
    index.save()
    assert (index.problem, index.saved) == ("", 400)


def test_a_vector_that_cannot_be_is_said_and_the_index_stays_usable() -> None:
    table = Table()
    table.put(vectors(50, 1))
    index = table.index(None)
    [bad] = table.put(np.full((1, SIZE), np.nan, dtype=np.float32))
    with pytest.raises(StoreError, match="NaN"):
        index.refresh()
    assert len(index.search(vectors(1, 2)[0], 100)[0]) == 50
    table.take([bad])
    agrees(index, table)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "take", "save", "open", "lose"]), st.integers(1, 40)),
        max_size=25,
    )
)
def test_any_sequence_of_changes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder, table = tmp_path_factory.mktemp("near"), Table()
    table.put(vectors(30, 0))
    index = table.index(folder, exact_below=40)
    for seed, (step, count) in enumerate(steps, start=1):
        if step == "put":
            table.put(vectors(count, seed))
        elif step == "take":
            table.take(sorted(table.rows)[seed % 7 :: 3][:count])
        elif step == "save":
            index.refresh()
            index.save()
            table.gone = [one for one in table.gone if one[0] > index.saved]
        elif step == "open":
            index = table.index(folder, exact_below=40)
        else:
            shutil.rmtree(folder, ignore_errors=True)
            index = table.index(folder, exact_below=40)
    agrees(index, table)
