"""Files of any size to take away: made when they are asked for, and sent piece by piece.

Streamlit's own download button holds a whole file in memory, and keeps it there.
"""

from __future__ import annotations

import mimetypes
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from agentkit.errors import AgentkitError
from agentkit.ledger.export import table_csv
from agentkit.retrieval import names

if TYPE_CHECKING:
    import pandas

_MOST = 1_000
"""Links that work at a time; those of pages that were left long ago end first."""
_PIECE = 256 * 1024
_KEY = "download-tokens"
_TYPES = {".parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True, slots=True)
class _Offer:
    make: Callable[[], BinaryIO]
    file_name: str


_offers: OrderedDict[str, _Offer] = OrderedDict()
_lock = threading.Lock()


def draw_link(label: str, make: Callable[[], BinaryIO], file_name: str, *, key: str) -> None:
    """A link to a file that `make` gives, open for reading, each time that it is followed.

    `key` tells the links of a session apart. The address cannot be guessed, and ends with the app.
    """
    tokens: dict[str, str] = st.session_state.setdefault(_KEY, {})
    token = tokens.setdefault(key, secrets.token_urlsafe(24))
    with _lock:
        _offers[token] = _Offer(make, file_name)
        _offers.move_to_end(token)
        while len(_offers) > _MOST:
            _offers.popitem(last=False)
    # Relative to the page, so that it is right below a base path too.
    st.link_button(label, f"download/{token}", icon=":material/download:", key=f"download-{key}")


def draw_csv(name: str, frame: pandas.DataFrame, *, key: str) -> None:
    """A button for a small table as a CSV file of that name."""
    st.download_button(
        "Export CSV",
        lambda: table_csv(frame),
        file_name=names.file_name(name, ".csv"),
        mime="text/csv",
        key=f"export-{key}",
        icon=":material/download:",
        on_click="ignore",
        type="tertiary",
    )


async def send(request: Request) -> Response:
    """`GET /download/TOKEN`: the file, or 404 and 503 with what to do."""
    with _lock:
        offer = _offers.get(request.path_params["token"])
    if offer is None:
        again = "This link is not good any more; open the page again and follow the one there."
        return PlainTextResponse(again, 404)
    try:
        file = await run_in_threadpool(offer.make)
    except AgentkitError as error:
        return PlainTextResponse(str(error), 503)
    return _File(file, offer.file_name)


ROUTE = Route("/{base:path}download/{token}", send)
"""Also below the base path of the app, if it has one."""


class _File(StreamingResponse):
    """An open file to its end, or until the browser is gone; it is closed then."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        kind = _TYPES.get(os.path.splitext(name)[1]) or mimetypes.guess_type(name)[0]
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        headers = {
            "Content-Length": str(size),
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "Cache-Control": "no-store",
        }
        super().__init__(_pieces(file), 200, headers, kind or "application/octet-stream")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
