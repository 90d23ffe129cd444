"""A chat is one calm column: nothing is said twice, nothing stands there that does not matter
now.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page

from tests.browser import driver, papers
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

COLUMN = 736  # pixels
RESEARCH = "Researcher and writer"
LIGHT_INK, DARK_INK = "#57524a", "#bdb6a8"  # of words in graphs, on a light and on a dark page


@pytest.fixture(scope="module")
def asked(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The app with a chat of two researchers about two documents; gives the chat's address, too."""
    with serving(tmp_path_factory.mktemp("look"), {}) as app:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{app.url}/documents")
        given = [("kettle.pdf", papers.kettle_pdf()), ("ferry.docx", papers.ferry_docx())]
        driver.add_files(page, [driver.file(name, content) for name, content in given])
        driver.go(page, "Chat")
        driver.choose_team(page, RESEARCH)
        driver.answered(page, driver.ask(page, papers.WARRANTY_QUESTION))
        address = page.url
        page.close()
        yield app, address


@pytest.fixture(params=[pytest.param(1920, marks=pytest.mark.walk), 1400])
def wide(asked: tuple[App, str], page: Page, request: pytest.FixtureRequest) -> Page:
    """The chat on wide screens."""
    page.set_viewport_size({"width": int(request.param), "height": 950})
    page.goto(asked[1])
    expect(page.locator("a[href^='#cite-']").first).to_be_visible()
    driver.settled(page)
    width = "document.querySelector(\"[class*='st-key-turn-']\").getBoundingClientRect().width"
    page.wait_for_function(f"() => Math.abs({width} - {COLUMN}) <= 1")
    return page


def _box(part: Locator) -> FloatRect:
    found = part.bounding_box()
    assert found is not None
    return found


def _column(page: Page) -> list[FloatRect]:
    """Where a turn and the composer stand."""
    return [
        _box(page.locator("[class*='st-key-turn-']").first),
        _box(page.get_by_test_id("stChatInput")),
    ]


def test_a_chat_stands_in_the_middle(wide: Page) -> None:
    main = _box(wide.get_by_test_id("stMain"))
    for box in _column(wide):
        left, right = box["x"] - main["x"], main["x"] + main["width"] - box["x"] - box["width"]
        assert box["width"] == pytest.approx(COLUMN, abs=1)
        assert left == pytest.approx(right, abs=12)  # the bar to scroll with stands on one side


def test_a_source_covers_nothing_and_moves_no_more_than_it_has_to(wide: Page) -> None:
    before = _column(wide)[0]["x"]
    wide.locator("a[href^='#cite-']").first.click()
    panel = wide.locator(".st-key-source")
    expect(panel.locator("img")).to_be_visible()
    edge = _box(panel.locator(".."))["x"]
    boxes = _column(wide)
    assert boxes[0]["x"] == pytest.approx(boxes[1]["x"], abs=1)
    for box in boxes:
        right = box["x"] + box["width"]
        assert right < edge
        assert box["width"] == pytest.approx(COLUMN, abs=1) or edge - right < 40
        assert 0 <= before - box["x"] < 110


def test_the_first_question_is_not_said_a_second_time_above_itself(
    asked: tuple[App, str], page: Page
) -> None:
    page.goto(asked[1])
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(papers.WARRANTY_QUESTION)
    expect(page).to_have_title(f"{papers.WARRANTY_QUESTION} · agentkit")
    driver.settled(page)
    page.wait_for_function(
        "() => document.querySelector('.st-key-head-unseen')?.getBoundingClientRect().height <= 1"
    )
    question = page.locator("#stMain").get_by_text(papers.WARRANTY_QUESTION, exact=True)
    expect(question).to_have_count(2)  # one of them for screen readers
    page.wait_for_function(
        "question => question.getBoundingClientRect().top < 200", arg=question.last.element_handle()
    )
    driver.settled(page)
    driver.act_on_chat(page, papers.WARRANTY_QUESTION, "Rename")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title").fill("Kettles")
    dialog.get_by_role("button", name="Rename", exact=True).click()
    expect(heading).to_have_text("Kettles")
    # Nothing else on the page says that.
    page.wait_for_function(
        "() => document.querySelector('h1')?.getBoundingClientRect().height > 20"
    )


def test_files_are_kept_by_a_switch_that_is_there_with_them(
    asked: tuple[App, str], page: Page
) -> None:
    page.goto(asked[1])
    box, switch = page.get_by_test_id("stChatInput"), page.locator(".st-key-keep-files")
    expect(box).to_be_visible()
    driver.settled(page)
    expect(switch).to_be_attached()
    expect(switch).to_be_hidden()
    box.locator("input[type=file]").first.set_input_files(
        [driver.file("lid.txt", "The lid is of oak.")]
    )
    expect(box.get_by_text("lid.txt")).to_be_visible()
    expect(switch).to_be_visible()
    page.get_by_role("button", name="Prompts").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(switch.get_by_role("switch")).to_be_checked()
    driver.settled(page)
    box.get_by_test_id("stFileChipDeleteBtn").get_by_role("button").click()
    expect(switch).to_be_hidden()


def test_what_agents_say_is_text_and_their_names_are_quieter(
    asked: tuple[App, str], page: Page
) -> None:
    page.goto(asked[1])
    turn = page.locator("[class*='st-key-turn-']").first
    driver.unfold(turn, "Steps")
    said, who = page.get_by_text("Looked up:"), page.get_by_text("Researcher to Writer")
    expect(said).to_be_visible()
    expect(page.get_by_test_id("stCaptionContainer").filter(has=who)).to_have_count(1)
    expect(page.get_by_test_id("stCaptionContainer").filter(has=said)).to_have_count(0)


def test_what_an_answer_took_is_one_line_that_unfolds(asked: tuple[App, str], page: Page) -> None:
    page.goto(asked[1])
    turn = page.locator("[class*='st-key-turn-']").first
    line = driver.answered(page, turn)
    assert line.inner_text().count(" · ") == 1
    expect(turn).not_to_contain_text("tokens in")
    assert "tokens in" in driver.what_it_took(page, turn)


def test_what_the_server_colours_turns_dark_with_the_page(
    asked: tuple[App, str], page: Page
) -> None:
    page.goto(f"{asked[0].url}/teams?team=research")
    name = page.locator(".st-key-team-picture svg .node text").first
    expect(name).to_have_attribute("fill", LIGHT_INK)
    page.emulate_media(color_scheme="dark")
    expect(name).to_have_attribute("fill", DARK_INK)
    page.emulate_media(color_scheme="light")
    expect(name).to_have_attribute("fill", LIGHT_INK)
