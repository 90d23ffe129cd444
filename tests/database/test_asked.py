"""A SELECT that somebody wrote: what is refused, what ends it, and that it has nothing but its
tables.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow
import pytest
from pyarrow import csv, parquet

from agentkit.database.asked import (
    Answers,
    Form,
    Limits,
    Written,
    read_columns,
    read_select,
    read_tables,
)
from agentkit.errors import SqlRefused

TABLES = ("calls", "runs")
SHORT = Limits(seconds=1.0)
ROWS = pyarrow.table({"id": ["a", "b", "c"], "cost": [0.5, None, 1.0], "tags": [["x"], [], ["y"]]})


ANSWERS = Answers()


@pytest.fixture(autouse=True, scope="module")
def _end_process() -> Iterator[None]:
    """All tests here ask the same process, which has to be as good as new for each."""
    yield
    ANSWERS.close()


def answer(
    sql: str, tables: Mapping[str, BinaryIO], out: BinaryIO, form: Form, limits: Limits
) -> Written:
    """Answer what nobody checked."""
    out.seek(0)
    out.truncate()
    return ANSWERS.answer(sql, tables, out, form, limits)


def ask(sql: str, out: BinaryIO, form: Form = "arrow", limits: Limits = SHORT) -> Written:
    """Check and answer, as the app does."""
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for name in read_tables(sql, TABLES):
            files[name] = stack.enter_context((Path(out.name).parent / name).open("w+b"))
            with pyarrow.ipc.new_stream(files[name], ROWS.schema) as writer:
                writer.write_table(ROWS)
            files[name].flush()
        return answer(sql, files, out, form, limits)


@pytest.fixture
def out(tmp_path: Path) -> Any:
    with (tmp_path / "out").open("w+b") as file:
        yield file


def read_rows(out: BinaryIO) -> list[dict[str, Any]]:
    out.seek(0)
    rows: list[dict[str, Any]] = pyarrow.ipc.open_stream(out).read_all().to_pylist()
    return rows


def test_a_select_is_answered(out: BinaryIO) -> None:
    sql = """with dear as (select * from calls where cost > 0.7)
        select d.id, r.tags from dear d join runs r using (id), range(1) order by 1; -- the dear one
        """
    assert ask(sql, out) == Written(1)
    assert read_rows(out) == [{"id": "c", "tags": ["y"]}]


def test_names_of_tables_are_found_wherever_they_stand() -> None:
    sql = "select (select max(cost) from RUNS) from (from calls union all from calls)"
    assert read_tables(sql, TABLES) == ["calls", "runs"]
    assert read_tables("with calls as (select 1) select 2", TABLES) == []


def test_only_the_first_rows_and_that_there_are_more(out: BinaryIO) -> None:
    limits = replace(SHORT, rows=2)
    assert ask("select id from calls order by id", out, limits=limits) == Written(2, more=True)
    assert read_rows(out) == [{"id": "a"}, {"id": "b"}]
    assert ask("select id from calls order by id; -- all", out, "csv", limits).more
    out.seek(0)
    assert out.read() == b'"id"\n"a"\n"b"\n'
    out.seek(0)
    assert ask("select id from calls limit 2", out, limits=limits) == Written(2)


def test_the_forms_of_a_file(out: BinaryIO, tmp_path: Path) -> None:
    sql = "select id, cost, tags, '=1+1' as sum from calls order by id"
    ask(sql, out, "parquet")
    assert parquet.read_table(tmp_path / "out").column("cost").to_pylist() == [0.5, None, 1.0]
    ask(sql, out, "csv")
    written = csv.read_csv(tmp_path / "out")
    assert written.column("sum").to_pylist() == ["'=1+1"] * 3  # no formula for a spreadsheet
    assert written.column("tags").to_pylist() == ["[x]", "[]", "[y]"]
    ask(sql, out, "json")
    first = (tmp_path / "out").read_text().splitlines()[0]
    assert first == '{"id": "a", "cost": 0.5, "tags": ["x"], "sum": "=1+1"}'


def test_what_comes_after_the_first_rows_is_not_held(out: BinaryIO) -> None:
    """All rows in their order would take more memory than there is."""
    rows = "select repeat('x', 1000) as text from range(1000000) t(i) order by hash(i)"
    assert ask(rows, out, limits=Limits(seconds=60, rows=9)) == Written(9, more=True)


def test_columns_of_one_name_are_told_apart_in_every_form(out: BinaryIO) -> None:
    ask("select 1 as n, 2 as n", out)
    assert read_rows(out) == [{"n": 1, "n_1": 2}]
    ask("select 1 as n, 2 as n", out, "csv")
    out.seek(0)
    assert out.read() == b'"n","n_1"\n1,2\n'


BIG = 10**25
SUMS = {
    "select sum(n) as n, 1.5 as d, 7::decimal(9, 0) as w from range(3) t(n)": (3, 1.5, 7),
    f"select {BIG}::hugeint as n, sum(n) as d, 5::uhugeint as w from range(3) t(n)": (1e25, 3, 5.0),
    "select sum(n) as n, [sum(n)] as d, {'a': 1.5} as w from range(3) t(n)": (3, [3], {"a": 1.5}),
}


@pytest.mark.parametrize("sql", SUMS)
def test_sums_and_fractions_are_numbers_that_other_programs_know(
    sql: str, out: BinaryIO, tmp_path: Path
) -> None:
    wanted = dict(zip("ndw", SUMS[sql], strict=True))
    ask(sql, out)
    (row,) = read_rows(out)
    assert row == wanted
    assert type(row["n"]) is type(wanted["n"])
    ask(sql, out, "parquet")
    assert parquet.read_table(tmp_path / "out").to_pylist() == [wanted]
    ask(sql, out, "json")
    assert json.loads((tmp_path / "out").read_text()) == wanted


def test_one_sum_that_is_too_large_is_found_however_late(out: BinaryIO, tmp_path: Path) -> None:
    large = f"n + if(n = 29000, {BIG}, 0)::hugeint as n"
    sql = f"select {large}, n::hugeint as m from range(30000) t(n)"
    whole = Limits(seconds=60, rows=None)
    assert ask(sql, out, limits=whole) == Written(30_000)
    rows = read_rows(out)
    assert (len(rows), rows[3], rows[29_000]["n"]) == (30_000, {"n": 3.0, "m": 3}, 1e25)
    ask(sql, out, "csv", whole)
    assert (tmp_path / "out").read_text().splitlines()[29_001] == f"{BIG + 29_000},29000"


def test_json_has_null_for_what_is_no_finite_number(out: BinaryIO, tmp_path: Path) -> None:
    sql = "select 'nan'::double as n, ['inf'::float, 1.5] as m, {'a': '-inf'::double} as o, 1 as p"
    ask(sql, out, "json")
    written = (tmp_path / "out").read_text()
    assert written == '{"n": null, "m": [null, 1.5], "o": {"a": null}, "p": 1}\n'


@pytest.mark.parametrize(
    ("form", "rows"),  # without an end, and hardly too many
    [("arrow", None), ("csv", None), ("json", None), ("parquet", None), ("csv", 30_000)],
)
def test_a_result_takes_so_much_room_and_no_more(
    form: Form, rows: int | None, out: BinaryIO, tmp_path: Path
) -> None:
    limits = Limits(seconds=60, rows=rows, file_mb=1)
    with pytest.raises(SqlRefused, match="The result has more than 1 MB"):
        ask("select md5(i::varchar) as text from range(1000000000) t(i)", out, form, limits)
    assert (tmp_path / "out").stat().st_size <= 2**20
    assert ask("select 1 as n", out, form, limits) == Written(1)


REFUSED = {
    "select * from read_text('/etc/hostname')": "read_text",
    "select * from read_csv('/etc/passwd')": "read_csv",
    "select content from read_blob('/etc/passwd')": "read_blob",
    "select * from '/etc/passwd'": "/etc/passwd",
    "select * from glob('/*')": "glob",
    "copy (select 1) to '/tmp/stolen.csv'": "COPY",
    "attach '/tmp/other.duckdb'": "ATTACH",
    "install httpfs": "LOAD",
    "load httpfs": "LOAD",
    "select * from 'https://example.org/a.parquet'": "https://example.org",
    "pragma database_list": "PRAGMA",
    "set memory_limit = '100GB'": "SET",
    "reset threads": "SET",
    "create table mine as select 1": "CREATE",
    "insert into calls values (1)": "INSERT",
    "update calls set cost = 0": "UPDATE",
    "delete from calls": "DELETE",
    "drop view calls": "DROP",
    "export database '/tmp/all'": "EXPORT",
    "call pragma_version()": "CALL",
    "explain analyze select 1": "EXPLAIN",
    "select 1; drop view calls": "2 statements",
    "": "0 statements",
    "-- nothing": "0 statements",
    "select * from llm_calls": "llm_calls",
    "select * from duckdb_settings()": "duckdb_settings",
    "select * from duckdb_secrets()": "duckdb_secrets",
    "select * from information_schema.tables": "information_schema.tables",
    "select * from pg_catalog.pg_tables": "pg_catalog.pg_tables",
    "select * from other.main.calls": "other.main.calls",
    "select * from query('select 1')": "query",
    "select * from query_table('calls')": "query_table",
    "select * from (show tables)": "SHOW",
    "describe calls": "DESCRIBE",
    "select getenv('HOME')": "getenv",
    "select current_setting('memory_limit')": "current_setting",
    "select ?": "places for values",
    "selec 1": "cannot be read as SQL",
    "select 1 " + "x" * 30_000: "characters",
}


@pytest.mark.parametrize("sql", REFUSED, ids=[sql[:40] for sql in REFUSED])
def test_what_is_no_select_over_the_tables_is_refused(sql: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        read_tables(sql, TABLES)
    assert REFUSED[sql].lower() in str(refused.value).lower()


def test_the_process_itself_has_no_way_out(out: BinaryIO) -> None:
    """What the check would let through, were it wrong, fails in the process too."""
    attempts = (
        "select * from read_text('/etc/hostname')",
        "from read_csv('/proc/self/environ')",
        "from '/etc/passwd'",
        "select * from ROWS",  # a variable of Python's
    )
    for sql in attempts:
        with pytest.raises(SqlRefused, match="cannot be answered"):
            answer(sql, {}, out, "arrow", SHORT)
    for sql in ("set threads = 8", "copy (select 1) to '/tmp/stolen'", "load httpfs"):
        with pytest.raises(SqlRefused):
            answer(sql, {}, out, "arrow", SHORT)


@pytest.mark.parametrize(
    "sql",
    [
        "with recursive r as (select 1 as i union all select i + 1 from r) select count(*) from r",
        "select count(*) from range(1000000000000) a, range(1000000) b where a.range % 7 = b.range",
        "select length(repeat('x', 1000000000) || a.range) from range(100) a",
        "select list_sum(range(100000000)), list_sum(range(100000000)) from range(10)",
        "select list(i) from range(10000000000) t(i)",
        "select string_agg(repeat('x', 10000), '') from range(100000000)",
        "select list_transform(range(100000000), lambda x: repeat('a', 100000))",
    ],
)
def test_what_runs_forever_or_takes_all_memory_is_ended(sql: str, out: BinaryIO) -> None:
    with pytest.raises(SqlRefused, match=r"stopped after 1 s|more than 512 MB|was ended"):
        ask(sql, out)


def test_the_environment_does_not_reach_the_process(
    out: BinaryIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"
    with pytest.raises(SqlRefused):
        answer("select getenv('OPENAI_API_KEY')", {}, out, "arrow", SHORT)


def test_a_mistake_is_told_with_what_there_is(out: BinaryIO) -> None:
    with pytest.raises(SqlRefused, match=r'"price" not found.*"cost"'):
        ask("select price from calls", out)


def test_nothing_of_a_statement_is_there_for_the_next(out: BinaryIO) -> None:
    """Even statements that the check would never let through leave nothing behind."""
    ask("select id from calls", out)
    for sql in (
        "create table kept as select 1",
        "create temp macro kept() as 1",
        "set variable kept = 1",
        "select * from calls",
    ):
        with suppress(SqlRefused):
            answer(sql, {}, out, "arrow", SHORT)
    for sql in ("from kept", "select kept()", "select id from calls"):
        with pytest.raises(SqlRefused, match="cannot be answered"):
            answer(sql, {}, out, "arrow", SHORT)
    answer("select getvariable('kept') as kept", {}, out, "arrow", SHORT)
    assert read_rows(out) == [{"kept": None}]


def test_many_are_answered_at_the_same_time(tmp_path: Path) -> None:
    def ask_once(number: int) -> list[dict[str, Any]]:
        with (tmp_path / str(number)).open("w+b") as file:
            answer(f"select {number} as n", {}, file, "arrow", SHORT)
            return read_rows(file)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask_once, range(12))) == [[{"n": n}] for n in range(12)]


def test_a_process_that_died_is_started_again(out: BinaryIO) -> None:
    answers = Answers()
    assert not answers.is_warm
    answers.answer("select 1 as n", {}, out, "arrow", SHORT)
    waiting = answers._waiting
    assert waiting is not None
    os.kill(waiting.process.pid, signal.SIGKILL)
    waiting.process.wait()
    out.seek(0)
    answers.answer("select 2 as n", {}, out, "arrow", SHORT)
    assert read_rows(out) == [{"n": 2}]
    answers.close()
    assert not answers.is_warm


def test_it_ends_when_nobody_asks(out: BinaryIO) -> None:
    answers = Answers(idle_s=0.05)
    answers.answer("select 1", {}, out, "arrow", SHORT)
    assert answers._timer is not None
    answers._timer.join(60)
    assert not answers.is_warm
    answers.answer("select 1", {}, out, "arrow", SHORT)
    answers.close()


COLUMNS = {"calls": ["id", "cost", "model", "error"], "runs": ["id", "title", "cost"]}
EVERY = COLUMNS["calls"]
NARROW = {
    "select sum(cost) from calls": ["cost"],
    "select count(*) from calls": ["id"],
    "select \"COST\"::integer from Calls where model like 'g%'": ["cost", "model"],
    "with c as (select model as m, cost from calls) select m, sum(cost) from c group by all": [
        "cost",
        "model",
    ],
    "select * from calls": EVERY,
    "from calls": EVERY,
    "select c.* exclude id from calls c": EVERY,
    "select columns('c.*') from calls": EVERY,
    "select c from calls c": EVERY,
    "select count(calls) from calls": EVERY,
    "select a from calls t(a)": EVERY,
    "select #1 from (select cost from calls)": EVERY,
    "select price from calls": EVERY,  # the mistake is told with what there is
    "(table calls)": EVERY,
}


@pytest.mark.parametrize("sql", NARROW)
def test_only_columns_that_are_named_are_handed_over(sql: str) -> None:
    assert read_columns(sql, COLUMNS) == {"calls": NARROW[sql]}


def test_a_join_names_columns_of_both() -> None:
    both = "select title from calls c join runs r using (id)"
    assert read_columns(both, COLUMNS) == {"calls": ["id"], "runs": ["id", "title"]}
    natural = "select title from calls natural join runs"
    assert read_columns(natural, COLUMNS) == COLUMNS


APART = {
    "select * from calls": ([], "SELECT agentkit_row FROM calls", "SELECT * FROM calls"),
    "select id, COST from calls c where c.cost > 1 order by model desc limit 9 offset 3; -- so": (
        ["cost", "model"],
        "SELECT agentkit_row FROM calls AS c WHERE (c.cost > 1) ORDER BY model DESC LIMIT 9"
        " OFFSET 3",
        "SELECT id, COST FROM calls AS c",
    ),
    "from calls where error like '%a%' and cost + 1 between 1 and 2 order by lower(id)": (
        ["id", "cost", "error"],
        "SELECT agentkit_row FROM calls WHERE ((error ~~ '%a%') AND ((cost + 1) BETWEEN 1 AND 2))"
        " ORDER BY lower(id)",
        "SELECT * FROM calls",
    ),
}


@pytest.mark.parametrize("sql", APART)
def test_a_select_of_rows_is_taken_apart(sql: str) -> None:
    rows = read_select(sql, COLUMNS).rows
    assert rows is not None
    assert (rows.read, _bare(rows.find), _bare(rows.show)) == APART[sql]


def _bare(sql: str) -> str:
    return sql.replace('"', "")


WHOLE = (
    "select count(*) from calls",
    "select cost * 2 as cost from calls order by cost",
    "select cost as id from calls order by id",
    "select lower(id) from calls",
    "select * replace (0 as cost) from calls",
    "select * rename (id as cost) from calls order by cost",
    "select columns('c.*') from calls",
    "select distinct * from calls",
    "select * from calls order by 2",
    "select * from calls order by all",
    "select * from calls group by all",
    "select id from calls group by id having count(*) > 1",
    "select * from calls qualify row_number() over () = 1",
    "select * from calls order by row_number() over (order by id)",
    "select * from calls where id in (select id from runs)",
    "select * from calls limit (select 1)",
    "select * from calls using sample 1",
    "select * from calls tablesample 10%",
    "select * from calls t(a)",
    "select * from calls, runs",
    "select * from calls where price > 1",
    "select price from calls",
    "select * from (from calls)",
    "with c as (from calls) from c",
    "with calls as (select 1 as id) from calls",
    "from calls union all from calls",
    "from runs positional join calls",
    "select 1",
    "values (1)",
)


@pytest.mark.parametrize("sql", WHOLE)
def test_what_may_be_more_than_rows_is_answered_as_a_whole(sql: str) -> None:
    assert read_select(sql, COLUMNS).rows is None
