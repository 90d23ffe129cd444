"""What stands around the pages: warm-up and shutdown, the health check, and errors that nobody expected."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agentkit.errors import AgentkitError
from agentkit.llm import connections
from agentkit.llm.config import OFFLINE
from agentkit.llm.discover import reachable
from agentkit.ui import state

log = logging.getLogger(__name__)
FIRST_PAGE_S = 5.0  # a server that nobody looks at warms up all the same


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Load the heavy libraries in the background from the start; close the workspace at the end."""
    threading.Thread(target=_warm, name="agentkit-warm-up", daemon=True).start()
    yield
    await run_in_threadpool(state.close)


async def health(request: Request) -> JSONResponse:
    """`GET /healthz`: 503 and `failing` with what is wrong in the database or the indexes; else 200 and `ok`.

    A model server that does not answer makes it `degraded`: the documents and the offline model still work.
    """
    problems, model = await run_in_threadpool(_problems), await run_in_threadpool(_model)
    status = "failing" if problems else "ok" if model["ok"] else "degraded"
    return JSONResponse({"status": status, "problems": problems, "model": model}, 503 if problems else 200)


def show_error(error: Exception) -> bool:
    """Log an unexpected error under a number and show that number instead of its insides."""
    if isinstance(error, AgentkitError):
        st.error(str(error), icon=":material/error:")
        return True
    number = uuid.uuid4().hex[:8]
    log.error("error %s", number, exc_info=error)
    st.error(
        f"Something went wrong that should not have. Reload the page; if it stays, look for error {number} in the log.",
        icon=":material/error:",
    )
    return True


ROUTES = [Route("/healthz", health)]


def _problems() -> list[dict[str, str]]:
    try:
        return [{"what": problem.what, "advice": problem.advice} for problem in state.workspace().library.check()]
    except AgentkitError as error:
        return [{"what": str(error), "advice": "see the message"}]


def _model() -> dict[str, object]:
    try:
        configured = connections(state.workspace().settings)
    except AgentkitError as error:
        return {"ok": False, "name": "", "detail": str(error)}
    if not configured:
        return {"ok": True, "name": OFFLINE, "detail": ""}
    step = reachable(configured[0])
    return {"ok": step.ok, "name": configured[0].name, "detail": step.detail}


def _warm() -> None:
    try:
        workspace = state.workspace()
        state.drawn.wait(FIRST_PAGE_S)
        workspace.warm()
    except AgentkitError as error:  # the pages show it; the log has it for whoever runs the server
        log.error("%s", error)
