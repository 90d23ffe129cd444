"""Takes the pictures of the usage page anew, over a generated month of a team of ten, one of whom
asked the sample documents: `python -m tests.browser.usage_picture`, or with the name of one tab.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from agentkit.ledger.feedback import rate
from agentkit.retrieval import sources_from_paths
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.evaluation.question_files import sample_questions
from agentkit.retrieval.store.questions import Question as Known
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.workspace import SAMPLES, Workspace
from tests.bench import month
from tests.browser import driver
from tests.browser.conftest import chromium
from tests.browser.expecting import expect
from tests.browser.picture import IMAGES
from tests.browser.serving import App, serving
from tests.conftest import MODELS

CALLS, DAYS = 20_000, 30
OWNER = month.PEOPLE[0]
TABS = {
    "Overview": "usage.png",
    "Bill": "usage-bill.png",
    "Errors": "usage-errors.png",
    "Documents": "usage-documents.png",
    "Quality": "usage-quality.png",
}
_UNANSWERABLE = ("Who won the regatta of 1998?", "How much does a pilot's licence cost?")
_TABS_AT = (300, 655)
"""Where the line with the tabs begins, which all have below the same figures."""
_HEIGHT = 1_250
"""Of a picture, at most."""
_OLD = ("pilots 2023.txt", "pilots (copy).txt")
_OLD_TEXT = "Pilots of Port Merrow are called on channel 12."


def fill(data: Path) -> None:
    """The month until today, and in it what one of the ten asked of the samples, with thumbs; and a
    question set that was measured before documents went.
    """
    workspace = Workspace(Settings(data=data, model_folder=MODELS, owner=OWNER))
    today = datetime.combine(datetime.now(UTC).date(), time())
    month.fill(workspace.database, CALLS, today - timedelta(days=DAYS - 1), days=DAYS)
    workspace.ingest_samples(OWNER).result()
    _add_old(workspace)
    known = sample_questions(workspace.settings.sample_questions.read_text(encoding="utf-8"))
    asked = [*[one.text for one in known], *_UNANSWERABLE]
    for number, text in enumerate(asked):
        run = workspace.ask(OWNER, Question(text, SAMPLES, model_id="offline"))
        run.result()
        _set_back(workspace, run.id, days=number * (DAYS - 1) // len(asked))
        if number % 3 == 0:
            rate(workspace.ledger, OWNER, run.message_id, "up" if number % 2 else "down")
    _measure(workspace, known)
    workspace.close()


def _add_old(workspace: Workspace) -> None:
    """Documents that no answer cites, some of them old."""
    folder = workspace.settings.data.with_name("archive")
    folder.mkdir()
    for name in _OLD:
        (folder / name).write_text(_OLD_TEXT, encoding="utf-8")
    workspace.ingest(OWNER, "Archive", sources_from_paths([folder])).result()
    workspace.database.execute(
        "update documents set updated_at = updated_at - to_days(400) where name like '%2023%'"
    )


def _measure(workspace: Workspace, known: Sequence[Known]) -> None:
    """A set that scores less since documents are gone."""
    library = workspace.library
    made = library.questions.create(OWNER, "Sample questions", SAMPLES, known)
    usual = library.options(OWNER, SAMPLES)
    measure(library, OWNER, made.id, SAMPLES, usual)
    gone = [one.id for one in library.documents(OWNER, SAMPLES) if one.name.endswith("pdf")]
    library.delete_documents(OWNER, gone)
    measure(library, OWNER, made.id, SAMPLES, usual)


def _set_back(workspace: Workspace, run_id: str, days: int) -> None:
    """As if it had been asked so many days ago."""
    for table, column, key in _TIMES:
        workspace.database.execute(
            f"update {table} set {column} = {column} - to_days(?) where {key} = ?", [days, run_id]
        )


_TIMES = (
    ("runs", "started_at", "id"),
    ("runs", "finished_at", "id"),
    ("messages", "created_at", "run_id"),
    ("llm_calls", "finished_at", "run_id"),
    ("events", "happened_at", "run_id"),
    ("steps", "happened_at", "run_id"),
)


def take(browser: Browser, app: App, tab: str, *, width: int = 1400, dark: bool = False) -> bytes:
    """The page with this tab, as PNG, as long as it is."""
    context = browser.new_context(
        viewport={"width": width, "height": 1000},
        color_scheme="dark" if dark else "light",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{app.url}/usage?tab={tab}")
    expect(page.get_by_role("tab", name=tab, exact=True)).to_have_attribute("aria-selected", "true")
    driver.settled(page)
    page.wait_for_timeout(1_500)  # until charts are drawn and what opened has faded
    length = page.locator("#stMain").evaluate("main => main.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(int(length), 2_600)})
    page.wait_for_timeout(1_500)
    taken = page.screenshot(animations="disabled")
    context.close()
    return taken


def cut(png: bytes, tab: str) -> bytes:
    """What of a page is shown in the documentation, in 256 colours."""
    picture = Image.open(BytesIO(png)).convert("RGB")
    left, top = (0, 0) if tab == "Overview" else _TABS_AT
    low = min(top + _HEIGHT, picture.height)
    made = BytesIO()
    palette = Image.Quantize.MAXCOVERAGE
    shown = picture.crop((left, top, picture.width, low))
    shown.quantize(256, palette, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


def main(tabs: Sequence[str]) -> None:
    """Serve the app over that month and take the pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        fill(Path(folder) / "data")
        rules = {"AGENTKIT_OWNER": OWNER, "AGENTKIT_USAGE_OF_ALL": "true"}
        browser = playwright.chromium.launch(executable_path=chromium())
        with serving(Path(folder), rules) as app:
            for tab in tabs:
                (IMAGES / TABS[tab]).write_bytes(cut(take(browser, app, tab), tab))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or list(TABS))
