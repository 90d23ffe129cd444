"""Tables that are asked in SQL of others: typed, and shut in."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.database.tables import Table, open_tables
from agentkit.errors import WrongArgument

SALES = Table(
    "sales_1",
    ["city", "sold", "price", "day", "odd"],
    [
        ["Vienna", "3", "2.5", "2024-05-01", "x"],
        ["Linz", "4", "1", "2024-05-02", "7"],
        ['O"Brien; drop', None, None, None, None],
    ],
    "sales.csv",
)


def test_columns_have_the_type_that_all_their_values_have() -> None:
    with open_tables([SALES]) as opened:
        [told] = opened.describe()
        answered = opened.ask("select sum(sold), max(price), max(day)::varchar from sales_1", 5)
        first = opened.ask("from sales_1 order by city", 2)
    types = '"city" VARCHAR, "sold" BIGINT, "price" DOUBLE, "day" DATE, "odd" VARCHAR'
    assert told == f'- "sales_1" (sales.csv; 3 rows): {types}'
    assert answered.rows == [(7, 2.5, "2024-05-02")]
    assert [len(first.rows), first.more] == [2, True]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["01067", "04103"], "VARCHAR"),
        (["04103", "99084"], "VARCHAR"),
        (["+49171", "+4930"], "VARCHAR"),
        (["007", "1.5"], "VARCHAR"),
        (["-01", "2"], "VARCHAR"),
        (["12_345"], "VARCHAR"),
        (["12345678901234567890"], "VARCHAR"),
        (["0", "-7", "123456789012345678"], "BIGINT"),
        (["0.5", "-0.25", "1e5", "0"], "DOUBLE"),
    ],
)
def test_numbers_lose_none_of_their_signs(texts: list[str], kind: str) -> None:
    codes = Table("codes_1", ["code"], [[text] for text in texts])
    with open_tables([codes]) as opened:
        [told] = opened.describe()
        answered = opened.ask("from codes_1", 5)
    assert told.endswith(f'"code" {kind}')
    if kind == "VARCHAR":
        assert [code for (code,) in answered.rows] == texts


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "copy sales_1 to 'out.csv'",
        "attach 'other.duckdb'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset enable_external_access",
        "select * from sales",
        "select 1; select 2",
        "export database 'there'",
        "",
        "selec",
    ],
)
def test_nothing_but_the_tables_can_be_reached(
    sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sales = [{"a": 1}]
    with open_tables([SALES]) as opened, pytest.raises(WrongArgument):
        opened.ask(sql, 5)
    assert sales
    assert list(tmp_path.iterdir()) == []


def test_what_takes_too_long_can_be_ended() -> None:
    import threading

    slow = "select count(*) from range(3000000) a, range(3000000) b"
    with open_tables([SALES]) as opened:
        timer = threading.Timer(0.3, opened.interrupt)
        timer.start()
        with pytest.raises(WrongArgument, match="stopped"):
            opened.ask(slow, 5)
        timer.join()
