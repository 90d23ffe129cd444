"""A person takes part in the browser: at each turn, before the end, as a member of a group, at the
table of a game, and in two windows at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer
from tests.teams.werewolf.table import players

pytestmark = pytest.mark.walk

SUNDAYS = "And on Sundays?"
FIRST = "The last ferry leaves at 21:40."
SUNDAY = "On Sundays none leaves."
DRAFT = "A draft about the ferry."
PIER = "Name the pier, please."


def _assistant(messages: list[dict[str, Any]]) -> Answer:
    """Looks up, answers, and answers what the person says then."""
    if messages[-1]["role"] == "tool":
        return Answer(FIRST)
    if text_of(messages[-1].get("content")) == SUNDAYS:
        return Answer(SUNDAY)
    wanted = {"name": "search_documents", "arguments": json.dumps({"query": "last ferry"})}
    return Answer(tool_calls=[{"id": "one", "type": "function", "function": wanted}])


def _group(system: str, messages: list[dict[str, Any]]) -> Answer:
    """The writer is done once the person has said what is missing."""
    if "you are the researcher" in system:
        return Answer("It leaves from pier 3.")
    if "you are the critic" in system:
        return Answer("The pier is missing.")
    wants_pier = any(text_of(one.get("content")) == PIER for one in messages)
    return Answer("From pier 3.\n\nTERMINATE" if wants_pier else DRAFT)


def _play(body: dict[str, Any]) -> Answer:
    messages = body["messages"]
    system = text_of(messages[0]["content"])
    if "game of werewolf" in system:
        return Answer(players()(body))
    return _group(system, messages) if "A researcher, a critic" in system else _assistant(messages)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_play) as running:
        yield running


def _choose(page: Page, *, team: str, variant: tuple[str, str] | None = None) -> None:
    page.locator(".st-key-choice button").first.click()
    page.get_by_role("combobox", name="Team").click()
    page.get_by_role("option", name=team, exact=True).click()
    driver.settled(page)
    if variant:
        page.get_by_role("combobox", name=variant[0]).click()
        page.get_by_role("option", name=variant[1]).click()
    driver.leave_choices(page)


def _ask_me(page: Page, when: str) -> None:
    """Choose when one is asked."""
    page.locator(".st-key-choice button").first.click()
    page.get_by_role("radio", name=when, exact=True).click()
    expect(page.get_by_role("radio", name=when, exact=True)).to_be_checked()
    driver.leave_choices(page)


def _card(page: Page, what: str) -> Locator:
    """The question of the run."""
    card = page.locator("[class*='st-key-asks-']")
    expect(card).to_contain_text(what)
    return card


def _press(part: Page | Locator, name: str) -> None:
    part.get_by_role("button", name=name, exact=True).click()


def _say(page: Page, text: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(text)
    box.press("Enter")


def _says_what_enter_does(page: Page, what: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_have_attribute("placeholder", what)


def test_at_each_turn_one_skips_speaks_and_ends(chat: Page) -> None:
    page = chat
    _choose(page, team="Assistant")
    _ask_me(page, "At each turn")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    card = _card(page, "Your turn. Answer Assistant below")
    expect(turn).to_contain_text('search_documents("query": "last ferry")')
    _says_what_enter_does(page, "Answer Assistant")
    skip = card.get_by_role("button", name="Skip", exact=True)
    skip.focus()
    page.keyboard.press("Enter")  # by the keyboard alone
    _card(page, "Assistant is done.")
    expect(turn).to_contain_text(FIRST)
    _say(page, SUNDAYS)
    expect(turn).to_contain_text(SUNDAY)
    _press(_card(page, "Assistant is done."), "End")
    driver.answered(page, turn)
    expect(turn.locator("[class*='st-key-answer-']")).to_contain_text(SUNDAY)
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text("You let them go on")
    expect(turn).to_contain_text(f"You: {SUNDAYS}")
    expect(turn).to_contain_text("You ended it")
    _says_what_enter_does(page, "Ask your documents, or attach files")


def test_before_the_end_one_is_asked_once_more_also_after_a_reload(chat: Page) -> None:
    page = chat
    _choose(page, team="Assistant")
    _ask_me(page, "Before the end")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    _card(page, "Assistant is done.")
    expect(page.locator("[data-testid='stChatInput']")).to_be_visible()
    waits = page.get_by_role("button", name=f"{papers.FERRY_QUESTION} waiting for you", exact=True)
    expect(waits).to_be_visible()  # in the list of the chats
    page.reload()
    _card(page, "Assistant is done.")
    driver.settled(page)
    _say(page, SUNDAYS)
    expect(turn).to_contain_text(SUNDAY)
    _press(_card(page, "Assistant is done."), "End")
    driver.answered(page, turn)
    page.locator(".st-key-choice button").first.click()
    expect(page.get_by_role("radio", name="Before the end", exact=True)).to_be_checked()


def test_in_a_group_the_person_is_a_member(chat: Page) -> None:
    page = chat
    _choose(page, team="Group of three", variant=("Who speaks next", "In turn"))
    _ask_me(page, "At each turn")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    _card(page, "Your turn. Answer Writer below")
    expect(turn).to_contain_text("You have the floor, in turn")
    expect(turn).to_contain_text(DRAFT)
    _says_what_enter_does(page, "Answer Writer")
    _say(page, PIER)
    _press(_card(page, "Writer is done."), "End")
    driver.answered(page, turn)
    expect(turn.locator("[class*='st-key-answer-']")).to_contain_text("From pier 3.")
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text(f"You: {PIER}")


def test_a_seat_at_the_table_through_a_vote(chat: Page) -> None:
    page = chat
    _choose(page, team="Werewolf for six", variant=("Your part", "You play"))
    turn = driver.ask(page, "Play, please!")
    fates, card = turn.get_by_text("Fate"), page.locator("[class*='st-key-asks-']")
    prompt = ""
    # By chance one has another role each time, and may be the first to die.
    while "Vote now, all" not in prompt:
        expect(card.or_(fates).first).to_be_visible()
        if fates.is_visible():
            break
        expect(card).to_contain_text(re.compile(r"You are Player\d, (a|the) "))
        expect(turn).not_to_contain_text("is thinking")
        prompt, asked = card.inner_text(), _key_in(card.get_attribute("class") or "")
        card.get_by_role("button").last.click()  # nobody, no, or no answer
        expect(page.locator(f".{asked}")).to_have_count(0)
    if "Vote now, all" in prompt:
        # Who is killed in the night after it is asked nothing more: the game may be over by now.
        expect(turn.get_by_text("The votes: ").or_(fates).first).to_be_visible()
        page.get_by_role("button", name="Stop", exact=True).or_(fates).first.click()
    expect(fates).to_be_visible()
    expect(page.get_by_text("in another window")).to_have_count(0)


def _key_in(classes: str) -> str:
    return next(one for one in classes.split() if one.startswith("st-key-asks-"))


def test_two_browsers_that_answer_the_same_question(chat: Page, app: App, browser: Browser) -> None:
    page = chat
    _choose(page, team="Assistant")
    _ask_me(page, "Before the end")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    _card(page, "Assistant is done.")
    context = browser.new_context(viewport={"width": 1400, "height": 950})
    other = context.new_page()
    other.goto(page.url)
    _card(other, "Assistant is done.")
    _says_what_enter_does(other, "Answer Assistant")
    driver.settled(other)
    other.get_by_test_id("stChatInputTextArea").fill("It is enough, says the other")
    _say(page, SUNDAYS)
    expect(other.get_by_text("answered in another window")).to_be_visible()
    expect(page.get_by_text("answered in another window")).to_have_count(0)
    expect(turn).to_contain_text(SUNDAY)
    expect(other.get_by_test_id("stChatInputTextArea")).to_have_value(
        "It is enough, says the other"
    )
    _press(_card(page, "Assistant is done."), "End")
    driver.answered(page, turn)
    _says_what_enter_does(other, "Ask your documents, or attach files")
    context.close()
