"""The calls as files: all of them, however many, in a private file that leaves nothing behind."""

from __future__ import annotations

import os
import stat
import tracemalloc
from pathlib import Path

import pytest

from agentkit.errors import ConfigError, StoreError
from agentkit.ledger import Ledger
from agentkit.ledger.export import FileForm, calls_file
from agentkit.ledger.figures import Figures
from agentkit.ledger.queries import CallFilter
from tests.ledger.conftest import OWNER
from tests.soak import TIMES

MANY = 150_000 * TIMES
ALL = CallFilter(OWNER)


@pytest.fixture
def many(ledger: Ledger) -> Ledger:
    """A ledger with many calls, most of them with an error that is not short."""
    ledger.database.execute(
        """insert into llm_calls (id, attempt, owner, run_id, chat_id, message_id, agent, provider,
            model, purpose, status, error, error_type, input_tokens, cache_read_tokens,
            cache_write_tokens, output_tokens, reasoning_tokens, estimated, cost, seconds,
            first_token_s, raw_usage, finished_at)
            select 'c' || i, 1, ?, null, null, null, '', 'openai', 'gpt',
        'chat', 'failed',
        '-' || repeat('why, ', 20), '', i, 0, 0, 0, 0, false, null, 1, null, '{}',
        timestamp '2026-03-01' + interval (i) second from range(?) r(i)""",
        [OWNER, MANY],
    )
    return ledger


@pytest.mark.soak
def test_many_calls_are_written_without_being_in_memory(many: Ledger, tmp_path: Path) -> None:
    target = tmp_path / "calls.csv"
    Figures(many).write_calls(
        ALL, tmp_path / "first.parquet", "parquet"
    )  # what is imported at first use is not counted
    tracemalloc.start()
    try:
        Figures(many).write_calls(ALL, target)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with target.open(encoding="utf-8") as file:
        assert sum(1 for _ in file) == 1 + MANY
    assert target.stat().st_size > 20_000_000
    assert peak < 2_000_000


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_file_is_private_and_gone_when_it_is_closed(
    many: Ledger, tmp_path: Path, form: FileForm
) -> None:
    before = os.umask(0)
    try:
        with calls_file(many, CallFilter(OWNER, models=["gpt"]), form) as file:
            found = os.fstat(file.fileno())
            assert stat.S_IMODE(found.st_mode) == 0o600
            assert found.st_nlink == 0
            assert file.read(4) == (b"PAR1" if form == "parquet" else b"id,a")
    finally:
        os.umask(before)
    folder = tmp_path / "exports"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not list(folder.iterdir())


def test_a_place_that_cannot_be_written_is_told(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none/calls\.csv cannot be written"):
        Figures(ledger).write_calls(ALL, tmp_path / "none" / "calls.csv")
    (tmp_path / "exports").rmdir()
    (tmp_path / "exports").write_text("a file is in the way")
    with pytest.raises(StoreError, match="make room there"):
        calls_file(ledger, ALL, "csv")
