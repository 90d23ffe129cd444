"""The style rules are in the page that the browser asks for, and in nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient
from streamlit.file_util import get_static_dir
from streamlit.web.server.starlette.starlette_static_routes import create_streamlit_static_handler

from agentkit.ui.shell.index_page import StyledPage, draw_style

STATIC = Path(get_static_dir())
PAGE = {"Accept": "text/html,application/xhtml+xml"}
REPORT = "<html><body>A report.</body></html>"


@pytest.fixture
def client() -> TestClient:
    pages = create_streamlit_static_handler(str(STATIC), None)
    routes = [Route("/report", lambda _: HTMLResponse(REPORT)), Mount("/", pages)]
    styled = Middleware(StyledPage, index_page=STATIC / "index.html")
    packed = Middleware(GZipMiddleware)
    return TestClient(Starlette(routes=routes, middleware=[styled, packed]))


@pytest.mark.parametrize("address", ["/", "/documents", "/?chat=1"])
def test_every_page_has_the_rules_at_its_end(client: TestClient, address: str) -> None:
    answer = client.get(address, headers=PAGE)
    assert answer.text == (STATIC / "index.html").read_text(encoding="utf-8").replace(
        "</body>", f"{draw_style()}</body>"
    )
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert answer.headers["Cache-Control"] == "no-cache"


def test_the_theme_gives_the_colours() -> None:
    assert draw_style().startswith("<style>:root { --light-ground: ")
    assert "--dark-link: " in draw_style()
    assert "None" not in draw_style()


def test_a_page_of_an_older_release_is_not_kept(client: TestClient) -> None:
    plain = client.get("/", headers={"Accept": "*/*"})
    assert plain.headers["ETag"], "Streamlit's own page can be kept"
    kept = {"If-None-Match": plain.headers["ETag"], "If-Modified-Since": "Fri, 1 Jan 2100"}
    answer = client.get("/", headers=PAGE | kept)
    assert answer.status_code == 200
    assert "<style>" in answer.text
    assert "ETag" not in answer.headers


@pytest.mark.parametrize("accepted", [PAGE, {"Accept": "*/*"}])
def test_all_else_stays_as_it_is(client: TestClient, accepted: dict[str, str]) -> None:
    assert client.get("/report", headers=accepted).text == REPORT
    picture = client.get("/favicon.png", headers=accepted)
    assert picture.content == (STATIC / "favicon.png").read_bytes()
    assert picture.headers["ETag"]
    assert client.head("/", headers=accepted).headers["ETag"]
