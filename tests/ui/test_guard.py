"""Who is let in, under which names, and what a page may load."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.file_util import get_static_dir

from agentkit.ui.shell.guard import (
    Doorkeeper,
    SecurityHeaders,
    content_security_policy,
    is_allowed,
    is_here,
)

LOCAL = ["localhost", "127.0.0.1", "::1"]


@pytest.mark.parametrize(
    ("address", "here"),
    [
        (("127.0.0.1", 1), True),
        (("127.8.8.8", 1), True),
        (("::1", 1), True),
        (("::ffff:127.0.0.1", 1), True),
        (("/tmp/socket", None), True),
        (None, True),
        (("0.0.0.0", 1), False),
        (("192.168.1.5", 1), False),
        (("::ffff:192.168.1.5", 1), False),
        (("fe80::1%eth0", 1), False),
        (("localhost.example.com", 1), False),
    ],
)
def test_here_is_this_machine_alone(address: tuple[str, int | None] | None, here: bool) -> None:
    assert is_here(address) == here


@pytest.mark.parametrize(
    ("host", "names", "allowed"),
    [
        ("localhost", LOCAL, True),
        ("localhost:8501", LOCAL, True),
        ("LocalHost.:8501", LOCAL, True),
        ("[::1]:8501", LOCAL, True),
        ("127.0.0.1:1", LOCAL, True),
        ("", LOCAL, False),
        ("evil.com", LOCAL, False),
        ("localhost.evil.com", LOCAL, False),
        ("evil.com:localhost", LOCAL, False),
        ("user@localhost", LOCAL, False),
        ("localhost/evil.com", LOCAL, False),
        ("localhost?x", LOCAL, False),
        ("localhost:99999", LOCAL, False),
        ("docs.example.com", ["*.example.com"], True),
        ("example.com", ["*.example.com"], False),
        ("evilexample.com", ["*.example.com"], False),
        ("[::1]", ["[::1]"], True),
        ("any.thing", ["*"], True),
    ],
)
def test_a_host_is_one_of_the_names(host: str, names: list[str], allowed: bool) -> None:
    assert is_allowed(host, names) == allowed


def _asked(
    client: str, host: str, *, is_open: bool = False, names: tuple[str, ...] = ()
) -> tuple[int, str]:
    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse("the page")

    keeper = Middleware(Doorkeeper, is_open=lambda: is_open, hosts=lambda: names)
    app = Starlette(routes=[Route("/", page)], middleware=[keeper])
    # the test client takes the server's address from the one it asks
    asking = TestClient(app, base_url="http://127.0.0.1", client=(client, 50_000))
    answer = asking.get("/", headers={"Host": host})
    return answer.status_code, answer.text


def test_this_machine_is_served() -> None:
    assert _asked("127.0.0.1", "localhost:8501") == (200, "the page")


def test_another_machine_is_told_how_it_would_be_served() -> None:
    status, text = _asked("192.0.2.7", "localhost")
    assert status == 403
    assert "no login" in text
    assert "AGENTKIT_OPEN=1" in text


def test_an_open_app_answers_others_under_its_own_names_only() -> None:
    names = ("docs.example.com",)
    assert _asked("192.0.2.7", "docs.example.com", is_open=True, names=names)[0] == 200
    status, text = _asked("192.0.2.7", "evil.com", is_open=True, names=names)
    assert status == 403
    assert "'evil.com'" in text
    assert "server.allowedHosts" in text


def test_the_first_pages_inline_script_runs_and_no_other() -> None:
    index_page = Path(get_static_dir()) / "index.html"
    policy = content_security_policy(index_page)
    scripts = dict(part.split(" ", 1) for part in policy.split("; "))["script-src"]
    inline = re.findall(r"<script>(.*?)</script>", index_page.read_text(), re.DOTALL)
    assert len(inline) == 1
    digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in scripts
    assert "'unsafe-inline'" not in scripts
    assert "'unsafe-eval'" not in scripts


def test_each_response_carries_the_policy() -> None:
    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse("the page")

    headers = Middleware(SecurityHeaders, policy="default-src 'self'")
    client = TestClient(Starlette(routes=[Route("/", page)], middleware=[headers]))
    for path in ("/", "/not-there"):
        answer = client.get(path)
        assert answer.headers["content-security-policy"] == "default-src 'self'"
        assert answer.headers["x-content-type-options"] == "nosniff"
