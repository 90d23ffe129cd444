"""The table that an answer brings with it, to take away as a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import streamlit as st


def draw_downloads(answer_id: str, data: Mapping[str, object]) -> None:
    """A button for each format; a file is made when it is asked for."""
    from agentkit.teams.extraction import Table

    def text() -> bytes:
        return Table.from_json(data).to_csv().encode("utf-8-sig")  # spreadsheets take it for UTF-8 by that mark

    def columns() -> bytes:
        return Table.from_json(data).to_parquet()

    def whole() -> bytes:
        return json.dumps(data, ensure_ascii=False, indent=2).encode()

    formats: dict[str, tuple[Callable[[], bytes], str]] = {
        "CSV": (text, "text/csv"),
        "Parquet": (columns, "application/vnd.apache.parquet"),
        "JSON": (whole, "application/json"),
    }
    with st.container(horizontal=True, gap="small"):
        for name, (made, mime) in formats.items():
            st.download_button(
                name, made, file_name=f"table.{name.lower()}", mime=mime, icon=":material/download:", type="tertiary",
                on_click="ignore", key=f"table-{name}-{answer_id}", help=f"All rows, with the source of each value ({name})",
            )  # fmt: skip
