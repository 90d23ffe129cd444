"""What stands around the pages: warm-up and shutdown, the health check, and errors that nobody
expected.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit import delta_generator
from streamlit.file_util import get_static_dir

from agentkit.errors import AgentkitError, ConfigError
from agentkit.llm.connections.config import OFFLINE, default_connection
from agentkit.llm.connections.discover import reachable
from agentkit.settings import load_settings
from agentkit.ui.shared import downloads, state
from agentkit.ui.shell import metrics, reruns
from agentkit.ui.shell.guard import Doorkeeper, SecurityHeaders, content_security_policy, is_here
from agentkit.ui.shell.index_page import StyledPage
from agentkit.ui.text import markdown

log = logging.getLogger(__name__)
SCRIPT = Path(__file__).with_name("router.py")
"""What Streamlit runs for every look at a page."""
_YIELD_S = 0.0005
"""How soon whoever answers the browser gets the processor from what is loaded meanwhile: with the
usual 5 ms for each piece that is sent, the first page would wait.
"""
FIRST_PAGE_S = 5.0  # a server that nobody looks at warms up all the same


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """Load the heavy libraries in the background from the start; close the workspace at the end."""
    if _is_open():
        log.warning(
            "AGENTKIT_OPEN is set: whoever reaches this server can read and delete everything."
        )
    _keep_import_path()
    reruns.mend()
    _warn_of_nothing()
    threading.Thread(target=_warm, name="agentkit-warm-up", daemon=True).start()
    yield
    await run_in_threadpool(state.close)


def _warn_of_nothing() -> None:
    """Spare the first page Streamlit's search whether it runs in a shell, among the files of all
    modules.
    """
    delta_generator._use_warning_has_been_displayed = True


def _keep_import_path() -> None:
    """Put the script's folder into the import path for good, at its end.

    Else Streamlit puts it in front for each look at a page and takes it out again. What another
    thread imports at that moment passes over one folder of the path, and is not found.
    """
    sys.path.append(str(SCRIPT.parent))


async def health(request: Request) -> JSONResponse:
    """`GET /healthz`: 200 and `ok`, or 503 and `failing` when the database cannot be read.

    It is cheap, so that it may be asked often: `doctor` looks at everything. Whoever asks from
    this machine is also told what is wrong, and whether the model server answers (else the
    status is `degraded`; the documents and the offline model still work).
    """
    problem = await run_in_threadpool(_problem)
    status, code = ("failing", 503) if problem else ("ok", 200)
    if not is_here(request.scope.get("client")):
        return JSONResponse({"status": status}, code)
    model = await run_in_threadpool(_model)
    if not problem and not model["ok"]:
        status = "degraded"
    return JSONResponse({"status": status, "problem": problem, "model": model}, code)


def show_error(error: Exception) -> bool:
    """Log an unexpected error under a number and show that number instead of its insides."""
    if isinstance(error, AgentkitError):
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return True
    number = uuid.uuid4().hex[:8]
    log.error("error %s", number, exc_info=error)
    st.error(
        "Something went wrong that should not have. Reload the page; if it stays, look for error"
        f" {number} in the log.",
        icon=":material/error:",
    )
    return True


ROUTES = [Route("/healthz", health), metrics.ROUTE, downloads.ROUTE]


def middleware() -> list[Middleware]:
    """What each request passes before it is answered, in this order."""
    index_page = Path(get_static_dir()) / "index.html"
    return [
        Middleware(SecurityHeaders, policy=content_security_policy(index_page)),
        Middleware(
            Doorkeeper,
            is_open=_is_open,
            hosts=lambda: st.get_option("server.allowedHosts"),
            origins=lambda: st.get_option("server.corsAllowedOrigins"),
        ),
        Middleware(StyledPage, index_page=index_page),
    ]


@cache
def _is_open() -> bool:
    try:
        return load_settings().open
    except ConfigError:  # the pages say what is wrong with the settings
        return False


def _problem() -> str:
    try:
        state.workspace().database.value("select 1 from chats limit 1")
    except AgentkitError as error:
        return str(error)
    return ""


def _model() -> dict[str, object]:
    try:
        connection = default_connection(state.workspace().settings)
    except AgentkitError as error:
        return {"ok": False, "name": "", "detail": str(error)}
    if connection is None:
        return {"ok": True, "name": OFFLINE, "detail": ""}
    step = reachable(connection)
    return {"ok": step.ok, "name": connection.name, "detail": step.detail}


def _warm() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_YIELD_S)
    try:
        _load()
    finally:
        sys.setswitchinterval(usual)


def _load() -> None:
    state.loaded.clear()
    try:
        _load_first_page()
    finally:
        gc.freeze()  # what is loaded now stays: looking through it again stops all pages for long
        state.loaded.set()
    try:
        workspace = state.workspace()
        workspace.spans.begin()
        workspace.resume_left()
        workspace.remove_discarded()
        state.drawn.wait(FIRST_PAGE_S)
        _load_first_answer()
        workspace.warm()
        gc.freeze()
    except AgentkitError as error:  # the pages show it; the log has it for whoever runs the server
        log.error("%s", error)


def _load_first_page() -> None:
    """Load what the chat page is made of, while the browser loads its own part."""
    from agentkit.ui.chat import chat, export, search, welcome  # noqa: F401
    from agentkit.ui.composer import composer, prompts  # noqa: F401


def _load_first_answer() -> None:
    """Load how the usual team answers, while the page is looked at."""
    from agentkit.llm.offline import extractive  # noqa: F401
    from agentkit.llm.support import checking  # noqa: F401
    from agentkit.teams import answer  # noqa: F401
