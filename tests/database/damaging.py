"""Files that are cut or changed, as a bad disk or an interrupted copy leaves them."""

from __future__ import annotations

from pathlib import Path

import duckdb

HEADERS, BLOCK = 3 * 4_096, 2**18
"""Of DuckDB's files: bytes before the first block, and bytes of a block."""


def cut(file: Path, share: float) -> None:
    """Keep only this share of the file, from its beginning."""
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])


def flip(file: Path, at: float, length: int = 1) -> None:
    """Change some bytes at this share of the file."""
    content = bytearray(file.read_bytes())
    first = min(int(len(content) * at), len(content) - 1)
    for place in range(first, min(first + length, len(content))):
        content[place] ^= 0xFF
    file.write_bytes(content)


def flip_block(file: Path, table: str, column: str) -> None:
    """Change a byte in the block in the middle of those that hold a table's column."""
    with duckdb.connect(str(file)) as opened:
        found = opened.execute(
            "select distinct block_id from pragma_storage_info(?)"
            " where column_name = ? and block_id >= 0",
            [table, column],
        ).fetchall()
    blocks = sorted(number for (number,) in found)
    content = bytearray(file.read_bytes())
    content[HEADERS + blocks[len(blocks) // 2] * BLOCK + BLOCK // 3] ^= 0xFF
    file.write_bytes(content)
