"""The real app in a real browser: driven through Debian's Chromium, without windows where that is
installed, or through the one that CHROMIUM_PATH names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from agentkit.retrieval import Source
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.browser import driver, papers
from tests.browser.expecting import PATIENCE_MS
from tests.browser.serving import App, serving
from tests.conftest import MODELS
from tests.servers.openai_server import OpenAIServer

UNUSED = (
    # What Playwright leaves out of a browser of its own accord: the last list counts.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    # Pages of the address line, which nobody sees, would be loaded with each window: 0.4 s.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
)
"""Features of Chromium that no test needs."""
CHEAPER = ("--disable-gpu", "--js-flags=--no-opt")
"""No page of a test lives long enough to earn back what its scripts are compiled for a third time,
and there is no graphics card to be imitated: a twelfth less processor time.
"""
_BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first is Debian's Chromium without windows: a fifth less processor time."""
_FAILED = pytest.StashKey[bool]()


def chromium() -> str:
    """Where the browser is; fails with what to do when there is none."""
    path = os.environ.get("CHROMIUM_PATH")
    found = path or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        pytest.fail(
            "These tests need Chromium: install it (Debian: apt-get install"
            " chromium-headless-shell) or name it in CHROMIUM_PATH."
        )
    return found


@pytest.fixture
def server() -> OpenAIServer | None:
    """The model's server: none, unless the tests of a file have one."""
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def folder_with_ferry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose only document is the letter about the ferry."""
    given = tmp_path_factory.mktemp("ferry")
    letter = given / "ferry.docx"
    letter.write_bytes(papers.ferry_docx())
    workspace = Workspace(Settings(data=given / "data", model_folder=MODELS))
    try:
        source = Source(letter.name, letter, str(letter))
        (done,) = workspace.ingest("local", "Documents", [source]).result()
        assert done.status == "indexed"
    finally:
        workspace.close()
    return given / "data"


@pytest.fixture
def ferry(tmp_path: Path, folder_with_ferry: Path) -> None:
    """The app of the test has that letter from its start: where it isn't taking in that is tried,
    this spares the page that does so.
    """
    shutil.copytree(folder_with_ferry, tmp_path / "data")


@pytest.fixture
def app(
    tmp_path: Path, server: OpenAIServer | None, request: pytest.FixtureRequest
) -> Iterator[App]:
    """The app over an empty data folder, with the model of the server if there is one."""
    key_and_model = {"OPENAI_API_KEY": "sk-browser", "OPENAI_MODEL": "test-model"}
    environment = {"OPENAI_BASE_URL": server.base_url, **key_and_model} if server else {}
    with serving(tmp_path, environment) as served:
        yield served
        if request.node.stash[_FAILED]:
            served.abort()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a file; each test has a fresh profile in it.

    Not for the whole session: as long as Playwright is open its event loop runs here, and no test
    of async code could.
    """
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium(),
            args=[f"--disable-features={','.join(UNUSED)}", *CHEAPER],
        )
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty tab, 1400 pixels wide; nothing on it may go against the app's security policy."""
    context = browser.new_context(viewport={"width": 1400, "height": 950})
    context.set_default_timeout(PATIENCE_MS)
    violations: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            print(f"The browser said: {message.text}")  # stands in the report of a test that fails
        if "Content Security Policy" in message.text:
            violations.append(message.text)

    context.on("console", said)
    yield context.new_page()
    context.close()
    assert violations == []


@pytest.fixture
def chat(ferry: None, app: App, page: Page) -> Page:
    """A new chat over the letter about the ferry."""
    driver.open_app(page, app)
    return page
