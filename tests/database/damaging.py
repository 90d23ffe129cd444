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
    blocks = _find_blocks(file, table, column)
    _flip(file, [blocks[len(blocks) // 2]])


def flip_blocks(file: Path, table: str) -> None:
    """Change a byte in each of the blocks that hold a table."""
    _flip(file, _find_blocks(file, table, "%"))


def _find_blocks(file: Path, table: str, column: str) -> list[int]:
    """The numbers of the blocks, rising, of columns with such a name."""
    with duckdb.connect(str(file)) as opened:
        found = opened.execute(
            "select distinct block_id from pragma_storage_info(?)"
            " where column_name like ? and block_id >= 0",
            [table, column],
        ).fetchall()
    return sorted(number for (number,) in found)


def _flip(file: Path, blocks: list[int]) -> None:
    content = bytearray(file.read_bytes())
    for number in blocks:
        content[HEADERS + number * BLOCK + BLOCK // 3] ^= 0xFF
    file.write_bytes(content)
