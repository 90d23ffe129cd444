"""Tables that are asked are those of the files: cells stay in their columns, codes stay texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.documents import DocumentText, Limits
from agentkit.documents.child import read_here
from agentkit.teams.built.offers.tables import make_querier, read_tables
from tests.documents import makers

CELLS = st.sampled_from(
    ["", "", "x", "two words", "7", "a\u2028b", "c\x85d", "red | blue", "| d", "|", "a || b"]
)


@dataclass
class File:
    """A document whose file is read when it is asked for."""

    name: str
    data: bytes
    id: str = "d1"

    def read(self) -> DocumentText:
        return read_here(self.data, self.name, Limits())


def write_csv(rows: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


def ask(file: File, sql: str) -> list[str]:
    answered: str = make_querier(lambda: [file])(sql)
    return answered.splitlines()


def tidy(row: Sequence[str | None]) -> list[str]:
    return [" ".join((cell or "").split()) for cell in row]


@given(st.lists(st.lists(CELLS, min_size=4, max_size=4).filter(any), min_size=1, max_size=6))
def test_every_cell_stays_in_its_column(rows: list[list[str]]) -> None:
    [table], problems = read_tables([File("a.csv", write_csv([["a", "b", "c", "d"], *rows]))])
    assert problems == []
    assert list(table.columns) == ["a", "b", "c", "d"]
    assert list(map(tidy, table.rows)) == list(map(tidy, rows))


def test_a_column_without_a_name_and_rows_that_go_on_with_a_group_are_summed_rightly() -> None:
    frame = File("frame.csv", b",price,amount\n0,100,1\n1,200,2\n")
    assert ask(frame, "select sum(amount) from frame_csv_1") == ["sum(amount)", "3"]
    grouped = File("g.csv", b"region,city,sold\nNorth,Kiel,10\n,Hamburg,20\nSouth,Ulm,30\n,,60\n")
    assert ask(grouped, "select sum(sold) from g_csv_1") == ["sum(sold)", "120"]
    assert ask(grouped, "select sold from g_csv_1 where city = 'Hamburg'") == ["sold", "20"]


@pytest.mark.parametrize("mark", ["&#13;", "&#10;", "&#x2028;"])
def test_a_cell_of_several_lines_is_one_cell(mark: str) -> None:
    texts = ["name", "sold", f"Tea{mark}green", "7"]
    cells = [f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in texts]
    rows = f'<row r="1">{"".join(cells[:2])}</row><row r="2">{"".join(cells[2:])}</row>'
    [table], _ = read_tables([File("b.xlsx", makers.xlsx_with(rows))])
    assert list(map(tidy, table.rows)) == [["Tea green", "7"]]
