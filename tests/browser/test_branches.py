"""Branches of a chat by mouse and keyboard, wide and on a phone: questions edited, answers made
again, versions switched and compared, rated, gone on from, kept for the lab and deleted; also while
an answer is written, and beside another tab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer, words

pytestmark = pytest.mark.walk

COST, SUNDAY = "What does it cost?", "What does it cost on Sundays?"
SUNDAYS = "On Sundays it costs two crowns. [1]"
RESEARCH = "Researcher and writer"
LONG, WRITTEN = "Who built the pier?", "The pier was built by"
WHOLE = f"{WRITTEN} the people of Skarholm."


def script(body: dict[str, Any]) -> Answer:
    """Each question has its own answer; that to `LONG` halts in its middle."""
    last = str(body["messages"][-1]["content"])
    if last == LONG and any(parse_passages(text_of(one["content"])) for one in body["messages"]):
        return Answer(WHOLE, halt_after=len(words(WRITTEN)))
    known = {COST: "It costs nothing. [1]", SUNDAY: SUNDAYS}
    return Answer(known.get(last, f"{papers.FERRY} [1]"))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(script) as running:
        yield running


def test_a_chat_branches_and_nothing_is_lost(app: App, page: Page, server: OpenAIServer) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
    driver.go(page, "Chat")
    driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
    driver.answered(page, driver.ask(page, COST))
    _edit_by_mouse(page)
    _switch_by_keyboard(page)
    _rate_and_copy(page)
    _answer_again(page)
    _compare(page)
    _keep_for_the_lab(page)
    _go_on_and_back(page)
    _find_the_partial_answer(page, server)
    _edit_while_it_answers(page, server)
    driver.resize(page, 390, 844)
    _use_on_a_phone(page)
    _delete(page)
    _edit_by_keyboard(page)
    _rate_and_copy_by_keyboard(page)
    _compare_teams_by_keyboard(page)
    _compare_and_keep_by_keyboard(page)
    _go_on_and_delete_by_keyboard(page)
    _ask_what_another_tab_deleted(page)


def _turn(page: Page, question: str) -> Locator:
    """The turn on the page that asks exactly this."""
    asks = page.get_by_test_id("stChatMessage").get_by_text(question, exact=True)
    return page.locator("[class*='st-key-turn-']").filter(has=asks)


def _choose(page: Page, question: str, action: str) -> None:
    """Take something from the menu of a turn."""
    driver.settled(page)
    page.get_by_role("button", name=f"More for this turn: {question}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def _choose_by_keyboard(page: Page, question: str, action: str) -> None:
    """The same, from one entry to the next."""
    driver.settled(page)
    page.get_by_role("button", name=f"More for this turn: {question}", exact=True).focus()
    page.keyboard.press("Enter")
    entries = page.get_by_role("menuitem")
    expect(page.locator("[role=menu]:focus, [role=menu] :focus")).to_have_count(1)
    page.keyboard.press("End")
    expect(entries.last).to_be_focused()
    names = entries.all_inner_texts()
    for place in reversed(range(len(names))):
        if action in names[place]:
            break
        page.keyboard.press("ArrowUp")
        expect(entries.nth(place - 1)).to_be_focused()
    page.keyboard.press("Enter")


def _is_back_at_the_menu(page: Page, question: str) -> None:
    """A dialog that was closed gives the focus back."""
    expect(page.get_by_role("dialog")).to_have_count(0)
    menu = page.get_by_role("button", name=f"More for this turn: {question}", exact=True)
    expect(menu).to_be_focused()


def _edit_by_mouse(page: Page) -> None:
    _choose(page, COST, "Edit and resend")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("stays beside this one")
    dialog.get_by_role("textbox", name="Question").fill(SUNDAY)
    dialog.get_by_role("button", name="Send").click()
    expect(dialog).to_have_count(0)
    turn = _turn(page, SUNDAY)
    expect(turn).to_contain_text("two crowns")
    expect(turn).to_contain_text("2/2")
    expect(_turn(page, COST)).to_have_count(0)


def _switch_by_keyboard(page: Page) -> None:
    """The focus stays on the way to other versions; what is shown survives a reload."""
    driver.settled(page)
    earlier = page.get_by_role("button", name="Earlier version")
    later = page.get_by_role("button", name="Later version")
    earlier.focus()
    page.keyboard.press("Enter")
    expect(_turn(page, COST)).to_contain_text("1/2")
    expect(earlier).to_be_disabled()
    expect(later).to_be_focused()
    page.reload()
    expect(_turn(page, COST)).to_contain_text("1/2")
    driver.settled(page)
    later.focus()
    page.keyboard.press("Enter")
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")
    expect(earlier).to_be_focused()


def _rate_and_copy(page: Page) -> None:
    turn = _turn(page, SUNDAY)
    driver.settled(page)
    turn.get_by_test_id("stFeedback").get_by_role("radio").first.click()
    comment = turn.get_by_role("button", name="Add a comment")
    written = page.get_by_role("textbox", name="What was right or wrong?")
    comment.click()
    written.fill("Too cheap.")
    page.keyboard.press("Escape")  # it was not saved, and waits
    expect(written).to_have_count(0)
    driver.settled(page)
    comment.click()
    expect(written).to_have_value("Too cheap.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(turn.get_by_role("button", name="Too cheap.")).to_be_visible()
    page.reload()
    expect(turn.get_by_role("button", name="Too cheap.")).to_be_visible()
    driver.settled(page)
    turn.get_by_role("button", name="Copy the answer").click()
    expect(turn.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"two crowns. \[\^1\]\s+\[\^1\]: ferry.docx", copied)


def _answer_again(page: Page) -> None:
    """The first question once more, of another team and another model."""
    _choose(page, papers.FERRY_QUESTION, "Answer again")
    dialog = page.get_by_role("dialog")
    for what, name in (("Team", RESEARCH), ("Model", "Offline")):
        dialog.get_by_role("combobox", name=what).click()
        page.get_by_role("option", name=name).click()
    dialog.get_by_role("button", name="Answer again").click()
    expect(dialog).to_have_count(0)
    turn = _turn(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("2/2")
    expect(_turn(page, SUNDAY)).to_have_count(0)


def _compare(page: Page) -> None:
    _choose(page, papers.FERRY_QUESTION, "Compare versions")
    dialog = page.get_by_role("dialog")
    for version in ("Version 1 · Answer with citations · test-model", f"Version 2 · {RESEARCH}"):
        expect(dialog.get_by_text(version).first).to_be_visible()
    left, right = (dialog.get_by_role("combobox", name=side) for side in ("Left", "Right"))
    expect(left).to_have_value(re.compile("Answer with citations"))
    expect(right).to_have_value(re.compile(RESEARCH))
    expect(dialog.get_by_role("row", name="Tokens in ≠")).to_be_visible()
    assert dialog.inner_text().count("21:40") >= 2, "both answers stand there"
    expect(dialog).to_contain_text(SUNDAY)
    expect(dialog).to_contain_text("This branch has no such turn.")
    driver.settled(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        driver.settled(page)
        assert violations(page, f"two versions, {scheme}") == []
    page.emulate_media(color_scheme="light")
    driver.settled(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def _keep_for_the_lab(page: Page) -> None:
    """Into a new set, and the lab measures with it."""
    _choose(page, papers.FERRY_QUESTION, "Add to a question set")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name of a new set").fill("Ferries")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("Added to Ferries; the retrieval lab has it.")).to_be_visible()
    driver.go(page, "Retrieval lab")
    page.get_by_test_id("stButtonGroup").get_by_text("Measure", exact=True).click()
    page.get_by_role("button", name="Measure with 1 question").click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    driver.go(page, "Chat")
    expect(_turn(page, papers.FERRY_QUESTION)).to_be_visible()


def _go_on_and_back(page: Page) -> None:
    """From the first answer, and back to what was asked after it."""
    driver.settled(page)
    page.get_by_role("button", name="Earlier version").first.click()
    expect(_turn(page, SUNDAY)).to_be_visible()
    _choose(page, papers.FERRY_QUESTION, "Go on from here")
    expect(
        page.get_by_text("The next question goes on from here. 2 later questions kept.")
    ).to_be_visible()
    expect(_turn(page, SUNDAY)).to_have_count(0)
    driver.settled(page)
    page.get_by_role("button", name="Back to them").click()
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")


def _use_on_a_phone(page: Page) -> None:
    driver.settled(page)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 390
    row = _turn(page, SUNDAY).locator("[class*='st-key-actions-']")
    for button in row.get_by_role("button").all():
        box = button.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    row.get_by_role("button", name="Earlier version").click()
    expect(_turn(page, COST)).to_contain_text("1/3")
    _choose(page, COST, "Compare versions")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("two crowns")
    first, second, *_ = dialog.get_by_text(re.compile(r"^Version [12] · ")).all()
    above, below = first.bounding_box(), second.bounding_box()
    assert above
    assert below
    assert above["y"] < below["y"]
    driver.settled(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def _delete(page: Page) -> None:
    """What goes is told before; the version beside it is shown then."""
    _choose(page, papers.FERRY_QUESTION, "Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("7 questions and their answers go")
    expect(dialog).to_contain_text("1 other version of this question can still be shown")
    driver.settled(page)
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Earlier version")).to_have_count(0)
    expect(_turn(page, papers.FERRY_QUESTION)).to_be_visible()
    expect(_turn(page, COST)).to_have_count(0)


def _find_the_partial_answer(page: Page, server: OpenAIServer) -> None:
    """What was stopped is another version of what was asked again."""
    turn = driver.ask(page, LONG)
    expect(turn).to_contain_text(WRITTEN)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("Stopped.")
    server.go_on.set()
    driver.settled(page)
    page.get_by_role("button", name="Try again").click()
    expect(turn).to_contain_text("2/2")
    expect(turn).to_contain_text(WHOLE)
    driver.settled(page)
    turn.get_by_role("button", name="Earlier version").click()
    expect(turn).to_contain_text("Stopped.")
    expect(turn).to_contain_text(WRITTEN)
    expect(turn).not_to_contain_text(WHOLE)
    driver.settled(page)
    turn.get_by_role("button", name="Later version").click()
    expect(turn).to_contain_text(WHOLE)


def _edit_while_it_answers(page: Page, server: OpenAIServer) -> None:
    """The question waits, with its branch, and nothing of the answer is lost."""
    server.go_on.clear()
    _choose(page, LONG, "Answer again")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Answer again").click()
    expect(_turn(page, LONG)).to_contain_text(WRITTEN)
    _choose(page, SUNDAY, "Edit and resend")
    expect(dialog).to_contain_text("this is asked after that answer")
    dialog.get_by_role("textbox", name="Question").fill(COST)
    dialog.get_by_role("button", name="Send").click()
    expect(page.get_by_text(f"Asked after this answer: {COST}")).to_have_count(1)
    server.go_on.set()
    expect(_turn(page, COST)).to_contain_text("3/3")
    expect(_turn(page, LONG)).to_have_count(0)
    driver.settled(page)
    _turn(page, COST).get_by_role("button", name="Earlier version").click()
    expect(_turn(page, LONG)).to_contain_text("3/3")
    expect(_turn(page, LONG)).to_contain_text(WHOLE)


def _edit_by_keyboard(page: Page) -> None:
    driver.answered(page, driver.ask(page, COST))
    _choose_by_keyboard(page, COST, "Edit and resend")
    question = page.get_by_role("dialog").get_by_role("textbox", name="Question")
    driver.tab_to(page, question)
    page.keyboard.press("Control+a")
    page.keyboard.type(SUNDAY)
    page.keyboard.press("Control+Enter")
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")
    expect(_turn(page, SUNDAY)).to_contain_text("two crowns")
    driver.settled(page)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_focused()


def _rate_and_copy_by_keyboard(page: Page) -> None:
    turn = _turn(page, SUNDAY)
    turn.get_by_test_id("stFeedback").get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    comment = turn.get_by_role("button", name="Add a comment")
    expect(comment).to_be_visible()
    driver.settled(page)
    comment.focus()
    page.keyboard.press("Enter")
    box = page.get_by_role("textbox", name="What was right or wrong?")
    box.focus()
    page.keyboard.type("Cheap enough.")
    page.keyboard.press("Control+Enter")
    kept = turn.get_by_role("button", name="Cheap enough.")
    expect(kept).to_be_focused()
    page.evaluate("navigator.clipboard.writeText('')")
    turn.get_by_role("button", name="Copy the answer").focus()
    page.keyboard.press("Enter")
    expect(turn.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert "two crowns" in page.evaluate("navigator.clipboard.readText()")


def _compare_teams_by_keyboard(page: Page) -> None:
    """The question of another team, and the answers of both side by side; then that one goes."""
    dialog = page.get_by_role("dialog")
    _choose_by_keyboard(page, SUNDAY, "Answer again")
    driver.tab_to(page, dialog.get_by_role("combobox", name="Team"))
    page.keyboard.type(RESEARCH)
    expect(page.get_by_role("option").first).to_have_text(RESEARCH)
    page.keyboard.press("Enter")
    driver.tab_to(page, dialog.get_by_role("button", name="Answer again"))
    page.keyboard.press("Enter")
    expect(_turn(page, SUNDAY)).to_contain_text("3/3")
    _choose_by_keyboard(page, SUNDAY, "Compare versions")
    for version in ("Version 2 · Answer with citations", f"Version 3 · {RESEARCH}"):
        expect(dialog.get_by_text(version).first).to_be_visible()
    assert dialog.inner_text().count(SUNDAYS) == 2, "both answers stand there"
    expect(dialog.get_by_role("row", name="Tokens in ≠")).to_be_visible()
    expect(dialog.get_by_text("≠ marks what differs.")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    last = dialog.get_by_role("columnheader", name="Version 3").bounding_box()
    assert last
    assert last["x"] + last["width"] <= 390
    page.keyboard.press("Escape")
    _is_back_at_the_menu(page, SUNDAY)
    _choose_by_keyboard(page, SUNDAY, "Delete")
    driver.tab_to(page, dialog.get_by_role("button", name="Delete", exact=True))
    page.keyboard.press("Enter")
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")


def _compare_and_keep_by_keyboard(page: Page) -> None:
    """Two versions side by side; the question into the set of the lab."""
    dialog = page.get_by_role("dialog")
    _choose_by_keyboard(page, SUNDAY, "Compare versions")
    expect(dialog).to_contain_text("Version 2")
    driver.settled(page)
    page.keyboard.press("Escape")
    _is_back_at_the_menu(page, SUNDAY)
    _choose_by_keyboard(page, SUNDAY, "Add to a question set")
    driver.tab_to(page, dialog.get_by_role("button", name="Add", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Added to Ferries; the retrieval lab has it.")).to_be_visible()
    _is_back_at_the_menu(page, SUNDAY)


def _go_on_and_delete_by_keyboard(page: Page) -> None:
    _choose_by_keyboard(page, papers.FERRY_QUESTION, "Go on from here")
    expect(page.get_by_text("2 later questions kept.")).to_be_visible()
    driver.settled(page)
    page.get_by_role("button", name="Back to them").focus()
    page.keyboard.press("Enter")
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")
    _choose_by_keyboard(page, SUNDAY, "Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 question and its answer go.")
    driver.tab_to(page, dialog.get_by_role("button", name="Keep"))
    page.keyboard.press("Enter")
    _is_back_at_the_menu(page, SUNDAY)
    _choose_by_keyboard(page, SUNDAY, "Delete")
    dialog.get_by_role("button", name="Delete", exact=True).press("Enter")
    expect(_turn(page, COST)).to_be_visible()
    expect(_turn(page, SUNDAY)).to_have_count(0)


def _ask_what_another_tab_deleted(page: Page) -> None:
    """What is asked of a branch that is gone is told and kept, not asked elsewhere unseen."""
    other = page.context.new_page()
    other.goto(page.url)
    expect(_turn(other, COST)).to_be_visible()
    _choose(page, COST, "Edit and resend")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Question").fill(SUNDAY)
    _choose(other, COST, "Delete")
    other.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(_turn(other, COST)).to_have_count(0)
    driver.settled(other)
    dialog.get_by_role("button", name="Send").click()
    expect(page.get_by_text(f"Not asked: {SUNDAY}")).to_be_visible()
    expect(page.get_by_text("deleted in another tab")).to_be_visible()
    expect(_turn(page, COST)).to_have_count(0)
    driver.settled(page)
    page.get_by_role("button", name="Try again").click()
    expect(_turn(page, SUNDAY)).to_contain_text("two crowns")
    expect(page.get_by_text("Not asked:")).to_have_count(0)
