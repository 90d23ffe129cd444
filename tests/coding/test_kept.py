"""What a chat keeps of its cells: by content, privately, and no more than it may."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentkit.coding.chat_kernel.kept import INLINE_BYTES, Kept
from agentkit.coding.chat_kernel.made_files import MadeFile
from agentkit.coding.chat_kernel.outputs import CellError, Chart, LeftOut, Picture, Table, Text
from agentkit.errors import NotFound

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
PICTURE = Picture(b"\x89PNG picture", "image/png")


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "shown")


def test_a_picture_is_kept_once_and_privately(kept: Kept) -> None:
    told = kept.describe(PICTURE)
    assert told == kept.describe(PICTURE)
    assert (told["kind"], told["mime"], told["bytes"]) == ("picture", "image/png", 12)
    assert kept.read(told["kept"]) == PICTURE.data
    (file,) = kept.folder.iterdir()
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (kept.folder, file)] == [0o700, 0o600]


def test_what_is_small_stands_in_the_event(kept: Kept) -> None:
    table = Table(("a", "b"), ((1, "x"), (None, "y")), 7, 2)
    assert kept.describe(table) == {
        "kind": "table",
        "columns": ["a", "b"],
        "rows": [[1, "x"], [None, "y"]],
        "total_rows": 7,
        "total_columns": 2,
    }
    assert kept.describe(Text("hi", "result")) == {"kind": "text", "text": "hi", "stream": "result"}
    error = CellError("KeyError", "'x'", "Traceback")
    assert kept.describe(error)["traceback"] == "Traceback"
    assert kept.describe(LeftOut("text", 9, "too long"))["count"] == 9
    assert not kept.folder.exists()


def test_what_is_large_is_kept_and_found_again(kept: Kept) -> None:
    rows = tuple((number, "x" * 50) for number in range(1_000))
    told = kept.describe(Table(("n", "x"), rows, 1_000, 2))
    assert "rows" not in told
    assert kept.content(told)["rows"][-1] == [999, "x" * 50]
    spec = {"$schema": SCHEMA, "data": {"values": [{"a": "y" * INLINE_BYTES}]}, "mark": "bar"}
    chart = kept.describe(Chart(spec))
    assert "spec" not in chart
    assert kept.content(chart)["spec"] == spec


def test_of_a_long_text_the_ends_are_told_and_all_is_kept(kept: Kept) -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    told = kept.describe(Text(text))
    assert told["text"].startswith("line 0\n")
    assert told["tail"].endswith("line 9999\n")
    assert told["characters"] == len(text)
    assert kept.read(told["kept"]).decode() == text


@pytest.mark.parametrize(
    "part",
    [
        {"data": {"url": "https://a.test/x.csv"}, "mark": "bar"},
        {"layer": [{"mark": {"type": "image"}}]},
        {"mark": "point", "encoding": {"href": {"value": "https://a.test"}}},
    ],
)
def test_a_chart_that_would_load_something_is_not_shown(
    kept: Kept, part: dict[str, object]
) -> None:
    with pytest.raises(NotFound, match="from elsewhere"):
        kept.content({"kind": "chart", "spec": {"$schema": SCHEMA, **part}})


@pytest.mark.parametrize("name", ["", "..", "../secret", "/etc/passwd", "a.png", f"{'0' * 64}.png"])
def test_only_what_is_kept_can_be_read(kept: Kept, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("key")
    kept.describe(PICTURE)
    with pytest.raises(NotFound):
        kept.read(name)


def test_a_chat_keeps_no_more_than_it_may(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "shown", most_bytes=20)
    assert "kept" in kept.describe(PICTURE)
    told = kept.describe(Picture(b"\x89PNG another", "image/png"))
    assert (told["kind"], told["what"], told["count"]) == ("left_out", "picture", 12)
    assert "keeps no more" in told["why"]
    assert "kept" in kept.describe(PICTURE), "it is there already"


def test_files_are_kept_as_they_were_and_links_are_none(kept: Kept, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("key")
    (work / "link.csv").symlink_to(tmp_path / "secret")
    (work / "a.csv").write_text("1,2")
    made = [MadeFile("a.csv", 3), MadeFile("link.csv", 3, changed=True), MadeFile("gone.csv", 1)]
    told, link, gone = kept.describe_files(work, made)
    (work / "a.csv").write_text("changed since")
    assert kept.read(told["kept"]) == b"1,2"
    assert link == {"name": "link.csv", "bytes": 3, "changed": True}
    assert "kept" not in gone
