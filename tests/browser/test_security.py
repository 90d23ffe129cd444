"""What a hostile text, page or name tries in a browser, and does not get."""

from __future__ import annotations

import http.server
import json
import random
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Request

from tests.browser import driver
from tests.browser.conftest import chromium
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

PICTURE = "![x](http://pictures.invalid/p.png)"
HIDDEN = [
    # what ends code, or was never code
    f"```\ncode\n``\n{PICTURE}",
    f"```\ncode\n```\n\n{PICTURE}\n\n```\nmore",
    f"~~~\ncode\n```\n~~~\n{PICTURE}\n```",
    f"~~~ a ~~~\n{PICTURE}\n~~~\n{PICTURE}",
    f"```a`b\n{PICTURE}\n```",
    f"    ```\n{PICTURE}\n    ```",
    f"   ```\ncode\n    ```\n   ```\n{PICTURE}\n```\ncode",
    f"> ```\n> code\n{PICTURE}\n```",
    f"> ```\n{PICTURE}\n> ```",
    f"- ```\n  code\n\n{PICTURE}\n```",
    f"- a\n\n  ```\n b\n{PICTURE}\n  ```",
    f"1. ```\n{PICTURE}\n   ```",
    f"`a\n\n{PICTURE}` b",
    f"`` a ` {PICTURE} ` b",
    f"\\`{PICTURE}`",
    f"\\\\\\`a`{PICTURE}`b`",
    f"`a`{PICTURE}`b`",
    f"`a\nb` `{PICTURE}` c`",
    f"a `b\n# c` {PICTURE} `d",
    f"| a | b |\n|---|---|\n| `c | {PICTURE}` |",
    f"<a title=`\n>{PICTURE}`",
    f"<!--\n```\n-->\n{PICTURE}\n```",
    f"<div>\n```\n</div>\n\n{PICTURE}\n\n```",
    f"<pre>\n```\n</pre>\n{PICTURE}\n```",
    # what only the browser's parser knows
    f"$$\n```\n$$\n{PICTURE}\n```",
    f"> $$\n> ```\n> $$\n> {PICTURE}\n> ```",
    f"\\\\$$\n```\n$$\n{PICTURE}\n```",
    f"`a\n$$ b`\n\n```\n$$\n{PICTURE}\n```",
    f"\\\\$ `code$ {PICTURE}`",
    f":::note\n```\n:::\n{PICTURE}\n```",
    f"`a\n:::note b`\n\n```\n:::\n{PICTURE}\n```",
    f"A note.[^1]\n\n[^1]: It says\n\n    {PICTURE}\n\n    ```\n{PICTURE}\n    ```",
    f":red[`{PICTURE}`] :blue-background[{PICTURE}]",
    # formulas
    f"\\[a^2\n```\n{PICTURE}\n```\n\\]",
    f"\\(a^2\n- {PICTURE}\\)",
    f"\\[a^2\n$$\n{PICTURE}\\]\n\n```\n$$\n{PICTURE}\n```",
    f"`a` \\[b^2\\]\n\n```\n$$\n{PICTURE}\n```",
    f"<pre>\n\\[a^2</pre>\nb\\]\n\n```\n$$\n{PICTURE}\n```",
    f"- x\n  \\[a\nb^2\\]\n\n```\n$$\n{PICTURE}\n```",
    f"$a_1 {PICTURE}$",
    # other ways to write one
    "![x][far]\n\n[far]: http://pictures.invalid/p.png",
    "![far]\n\n[far]: http://pictures.invalid/p.png",
    "\\![x](http://pictures.invalid/p.png) \\\\![x](http://pictures.invalid/p.png)",
    "[![x](http://pictures.invalid/p.png)](http://pictures.invalid)",
    "Great![1] ![1](http://pictures.invalid/p.png)",
    '<img src="http://pictures.invalid/p.png"><svg onload=fetch("http://pictures.invalid")>',
    "<style>@import url(http://pictures.invalid/a.css);</style>",
    f"a\r```\rb\r```\r{PICTURE}",
    f"```\x0b\n{PICTURE}\n\x0c```\n{PICTURE}",
    f"```\u2028{PICTURE}\n```\n{PICTURE}",
    f"{'> ' * 30}```\n{PICTURE}\n```",
    "\n\n".join(f"{'  ' * depth}- ```" for depth in range(12)) + f"\n{PICTURE}",
]
PIECES = [
    PICTURE,
    PICTURE,
    "```",
    "~~~",
    "`",
    "``",
    "\n",
    "\n",
    "\n\n",
    "\n    ",
    "\n  ",
    "> ",
    "- ",
    "1. ",
    "$$",
    "$",
    ":::",
    ":::a",
    "\\",
    "\\[",
    "\\]",
    "\\(",
    "\\)",
    "a^2",
    "<!--",
    "-->",
    "<pre>",
    "</pre>",
    "<div>",
    "|",
    "\n|---|\n",
    "[^1]",
    "[^1]: ",
    "# ",
    "\t",
]


def _made_up(number: int) -> str:
    chance = random.Random(number)
    return "".join(chance.choices(PIECES, k=chance.randint(4, 16)))


def test_no_text_of_a_model_makes_the_browser_fetch_a_picture(page: Page, tmp_path: Path) -> None:
    """Here without the app's policy, which would stop it as well: the text itself has none left."""
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps([*HIDDEN, *map(_made_up, range(300))]), encoding="utf-8")
    asked: list[str] = []

    def note(request: Request) -> None:
        if "pictures.invalid" in request.url:
            asked.append(request.url)

    with serving(tmp_path, {"TEXTS": str(texts)}, "tests/browser/drawing.py") as served:
        page.on("request", note)
        page.goto(served.url)
        expect(page.get_by_text("All are drawn.")).to_be_visible()
        driver.settled(page)
        shown = page.locator("[class*='st-key-'] img").evaluate_all(
            "all => all.map(one =>"
            " one.closest('[class*=st-key-]').className.match(/st-key-([a-z0-9-]+)/)[1])"
        )
    assert shown == []
    assert asked == []


def test_a_page_loads_nothing_from_elsewhere(app: App, browser: Browser) -> None:
    """What a script that got in would try: the policy stops each, and says so."""
    page = browser.new_page()
    page.goto(app.url)
    page.get_by_test_id("stChatInputTextArea").wait_for(timeout=PATIENCE_MS)
    icon = page.locator("link[rel='shortcut icon']")  # else one of Google's, by the page's symbol
    expect(icon).to_have_attribute("href", re.compile("^data:image/svg"))
    stopped = page.evaluate("""async () => {
        const stopped = new Set();
        const wanted = ["img-src", "script-src-elem", "frame-src", "object-src", "connect-src"];
        const all = new Promise((done) => document.addEventListener("securitypolicyviolation",
            (event) => {
            stopped.add(event.effectiveDirective);
            if (wanted.every((one) => stopped.has(one))) done();
        }));
        const add = (name, values) =>
            document.body.append(Object.assign(document.createElement(name), values));
        add("img", { src: "http://pictures.invalid/p.png" });
        add("script", { src: "http://pictures.invalid/p.js" });
        add("script", { textContent: "window.got_in = true" });
        add("iframe", { src: "http://pictures.invalid/" });
        add("object", { data: "http://pictures.invalid/" });
        add("a", { href: "javascript:window.got_in = true", id: "trap" });
        document.getElementById("trap").click();
        try { await fetch("http://pictures.invalid/"); } catch { }
        await all;
        return window.got_in === undefined;
    }""")
    page.close()
    assert stopped


@contextmanager
def _foreign_site(body: str) -> Iterator[str]:
    """A page of somebody else, at another port of this machine."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{site.server_address[1]}/"
        finally:
            site.shutdown()


def test_a_foreign_page_cannot_frame_the_app(app: App, browser: Browser) -> None:
    with _foreign_site(
        f'<iframe src="{app.url}/" onload="document.title = 1"></iframe>'
    ) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function("() => document.title === '1'")
        framed = page.frames[1]
        assert framed.url.startswith("chrome-error:")
        assert framed.get_by_test_id("stApp").count() == 0
        page.close()


def test_a_foreign_page_gets_no_connection(app: App, browser: Browser) -> None:
    with _foreign_site("<p>Somebody else's page</p>") as address:
        page = browser.new_page()
        page.goto(address)
        opened = page.evaluate(
            """(address) => new Promise((tell) => {
                const socket = new WebSocket(address);
                socket.onopen = () => tell(true);
                socket.onerror = () => tell(false);
            })""",
            f"ws{app.url.removeprefix('http')}/_stcore/stream",
        )
        page.close()
    assert opened is False


def test_a_name_that_was_turned_to_this_machine_gets_nothing(app: App, browser: Browser) -> None:
    """DNS rebinding: the browser takes the foreign name for the app's own address."""
    port = app.url.rpartition(":")[2]
    rebound = browser.browser_type.launch(
        executable_path=chromium(), args=["--host-resolver-rules=MAP rebound.test 127.0.0.1"]
    )
    page = rebound.new_page()
    answer = page.goto(f"http://rebound.test:{port}/")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_text("agentkit does not answer under the name")).to_be_visible()
    for path in ("/healthz", "/_stcore/health", "/_stcore/host-config", "/media/x"):
        answer = page.goto(f"http://rebound.test:{port}{path}")
        assert answer is not None
        assert answer.status == 403, path
    opened = page.evaluate(
        """(address) => new Promise((tell) => {
            const socket = new WebSocket(address);
            socket.onopen = () => tell(true);
            socket.onerror = () => tell(false);
        })""",
        f"ws://rebound.test:{port}/_stcore/stream",
    )
    assert opened is False
    rebound.close()


def test_other_machines_are_refused_unless_the_app_is_open(
    tmp_path: Path, browser: Browser
) -> None:
    """Every address listens, as when none is set; a request over this machine's own address is from
    elsewhere.
    """
    everywhere = ["--server.address=0.0.0.0"]
    for number, (environment, status) in enumerate([({}, 403), ({"AGENTKIT_OPEN": "1"}, 200)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        names = {"STREAMLIT_SERVER_ALLOWED_HOSTS": f"127.0.0.1 {_own_address()}"}
        with serving(folder, {**environment, **names}, options=everywhere) as app:
            port = app.url.rpartition(":")[2]
            context = browser.new_context()
            answer = context.new_page().goto(f"http://{_own_address()}:{port}/")
            assert answer is not None
            assert answer.status == status
            assert ("AGENTKIT_OPEN=1" in answer.text()) == (status == 403)
            assert context.request.get(app.url).status == 200
            context.close()


def _own_address() -> str:
    """An address of this machine that is not loopback; without a network a second loopback would
    not do.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        address: str = probe.getsockname()[0]
        return address
