"""Code of agents in the browser: it plots, its table and its file are there, and after a restart of
the app what is gone is named and made again by a click.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.messages import text_of
from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import free_port, serving
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

LOAD = """import pandas as pd
fares = pd.DataFrame({"month": ["Jan", "Feb", "Mar"], "euros": [310.5, 402, 610.25]})
fares.to_csv("fares.csv", index=False)
fares"""
PLOT = """import matplotlib.pyplot as plt
plt.plot(fares.month, fares.euros)
plt.title("Fares by month")
plt.show()"""
CHART = """import altair as alt
alt.Chart(fares, title="Fares again").mark_bar().encode(x="month", y="euros")"""
DEATH = "import os\nos._exit(1)"
ANSWER = "Fares nearly doubled."


def _play(body: dict[str, Any]) -> Answer:
    """Load, plot, draw a chart, answer; or let the kernel die, or say what is there."""
    text = text_of(body["messages"][-1].get("content"))
    after = {"[table": PLOT, "[picture": CHART}
    for sign, code in after.items():
        if text.startswith("exitcode: 0") and sign in text:
            return _code(code)
    if text.startswith("exitcode"):
        return Answer(f"{ANSWER}\n\nTERMINATE")
    return _code({"Die.": DEATH, "How many?": "print(len(fares), 'rows')"}.get(text, LOAD))


def _code(code: str) -> Answer:
    return Answer(f"I compute:\n\n```python\n{code}\n```")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_play) as running:
        yield running


@pytest.fixture
def environment(server: OpenAIServer) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-browser",
        "OPENAI_MODEL": "test-model",
    }


def _ask(page: Page, question: str) -> Locator:
    """Ask, and approve all code; gives the turn, which has ended."""
    turn = driver.ask(page, question)
    page.get_by_role("button", name="Approve all", exact=True).click()
    driver.answered(page, turn)
    return turn


def _sees_results(turn: Locator) -> None:
    picture = turn.get_by_role("img", name="Plot: Fares by month")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("image => image.naturalWidth") > 100
    expect(turn.get_by_test_id("stDataFrame")).to_be_visible()
    expect(turn.get_by_test_id("stVegaLiteChart")).to_be_visible()


def test_code_plots_and_what_a_restart_took_is_made_again_by_a_click(
    tmp_path: Path, environment: dict[str, str], page: Page, server: OpenAIServer
) -> None:
    port = free_port()
    with serving(tmp_path, environment, port=port) as app:
        page.goto(app.url)
        driver.choose_team(page, "Assistant with tools and code")
        turn = _ask(page, "How did fares develop?")
        _sees_results(turn)
        expect(turn).to_contain_text(ANSWER)
        assert driver.table(page)[1][-2:] == ["Feb", "402"]
        with page.expect_download() as coming:
            turn.get_by_role("button", name="fares.csv").click()
        assert coming.value.suggested_filename == "fares.csv"
        assert coming.value.path().read_text().splitlines()[0] == "month,euros"
        _names_what_is_alive(page)
        turn = _ask(page, "How many?")
        driver.unfold(turn, "Steps")
        driver.unfold(turn, "Ran Python")
        expect(turn.get_by_test_id("stCode").filter(has_text="3 rows")).to_be_visible()
    before = len(server.chats)
    with serving(tmp_path, environment, port=port):
        page.reload()
        gone = page.locator("[class*='st-key-kernel-gone-']")
        expect(gone).to_contain_text("the app was started again. Gone: fares (DataFrame, 3 × 2).")
        gone.get_by_role("button", name="Run the cells again").click()
        again = page.locator("[class*='st-key-turn-']").filter(has_text="Run the cells again").last
        expect(again).to_contain_text("4 cells ran again.")
        _sees_results(again)
        expect(gone).to_have_count(0)
        assert len(server.chats) == before, "no model was asked"
        _ask(page, "How many?")
        said = text_of(server.chats[-2]["messages"][0]["content"])
        assert "Alive in the kernel: fares (DataFrame, 3 × 2)." in said
        _dies_and_goes_on(page)


def _names_what_is_alive(page: Page) -> None:
    line = page.get_by_role("button", name="Python kernel · 1 variable")
    line.click()
    shown = page.get_by_test_id("stPopoverBody")
    expect(shown.get_by_role("button", name="End kernel")).to_be_visible()
    expect(shown.locator("tbody td").filter(has_text="DataFrame")).to_be_attached()
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)


def _dies_and_goes_on(page: Page) -> None:
    """The death of a kernel is told, and the next question has a new one."""
    turn = _ask(page, "Die.")
    expect(turn).to_contain_text("The kernel ended, and with it all variables: its process ended.")
    gone = page.locator("[class*='st-key-kernel-gone-']")
    expect(gone).to_contain_text("Gone: fares (DataFrame, 3 × 2).")
    turn = _ask(page, "Once more, how did fares develop?")
    _sees_results(turn)
    expect(gone).to_have_count(0)
