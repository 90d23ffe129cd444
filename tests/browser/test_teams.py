"""Teams built from nothing by forms: seen, tried, saved, used in a chat, and taken away as a script
that gives the same messages when it is run without the app.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit import Settings, Workspace, sources_from_paths
from agentkit.messages import text_of
from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.browser.team_forms import (
    begin,
    choose,
    enter,
    field,
    fill,
    leave_only,
    press,
    row,
    run_script,
    save_and_use,
    switch,
    take_away,
    take_requests,
    try_it,
)
from tests.servers.openai_server import Answer, OpenAIServer

TEA = "Green tea is steeped at 80 degrees."
TINS = "Leaves of tea are kept in a tin."
ANSWER = "Green tea is steeped at 80 degrees [1]."
QUESTION = "How hot is green tea?"
SURE = "Say it in one sentence."
PLAN = "Plan: look it up\n#E1 = search_documents[green tea]"
PERSON = "Only the temperature matters."
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


def speak(body: dict[str, Any]) -> Answer:
    """What the agents of all teams say; the same whenever they are told the same."""
    system, last = (text_of(body["messages"][at].get("content")) for at in (0, -1))
    asked = json.dumps(body["messages"], ensure_ascii=False)
    if "ballot" in asked:
        return Answer(json.dumps({"thought": "I am sure.", "ballot": "80 degrees"}))
    if "agreed" in asked:
        return Answer(json.dumps({"thought": "Hm.", "speak": "80 degrees.", "agreed": True}))
    if "You plan how to answer" in system:
        return Answer(PLAN)
    if SURE in last:
        return Answer(f"{ANSWER} That is all.")
    if "You answer from the passages" in system:
        return Answer(ANSWER if TINS in asked else "UPDATE CONTEXT")
    return _talk(system, asked)


def _talk(system: str, asked: str) -> Answer:
    """Those who talk in pairs and groups."""
    if "put a question to Writer" in system:
        return Answer("Say it shorter, please. Nothing else is wrong with it.")
    if "improve your answer" in system:
        return Answer(f"{ANSWER} TERMINATE" if "Summary" in asked else "Tea is a drink. " * 40)
    if "You write the answer from what was found" in system:
        return Answer("80 degrees.\n\nTERMINATE" if PERSON in asked else "It is hot.")
    if "You look up what the question needs" in system:
        return Answer("The documents tell of steeping and storing.")
    if "You say what is missing" in system:
        return Answer("What is wanted is not clear.")
    if "You shorten conversations" in system:
        return Answer("Writer told at length that tea is a drink.")
    return Answer("Writer" if PERSON in asked else "Researcher")  # who speaks next


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(speak) as running:
        yield running


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServer) -> Iterator[App]:
    """One app for all teams of this file, with two documents."""
    folder = tmp_path_factory.mktemp("teams")
    files = [folder / "tea.md", folder / "tins.md"]
    for file, text in zip(files, (TEA, TINS), strict=True):
        file.write_text(text)
    model = {"OPENAI_API_KEY": "sk-browser", "OPENAI_MODEL": "test-model"}
    with serving(folder, {**model, "OPENAI_BASE_URL": server.base_url}) as served:
        workspace = Workspace(Settings(data=served.data))
        workspace.ingest("local", "Documents", sources_from_paths(files)).result()
        workspace.close()
        yield served


@pytest.fixture
def teams(app: App, server: OpenAIServer, page: Page) -> Page:
    """The list of teams."""
    page.goto(f"{app.url}/teams")
    expect(page.get_by_role("heading", name="Teams", level=1)).to_be_visible()
    driver.settled(page)
    server.requests.clear()
    return page


def ask_in_chat(page: Page, question: str) -> Locator:
    save_and_use(page)
    turn = driver.ask(page, question)
    driver.answered(page, turn)
    return turn


def is_same_in_script(script: str, app: App, server: OpenAIServer, typed: str = "") -> str:
    """What the script prints; it tells the models what they were told in the chat."""
    in_chat = take_requests(server)
    assert in_chat
    printed = run_script(script, QUESTION, app, server, typed)
    assert take_requests(server) == in_chat
    return printed


@pytest.mark.walk
def test_retrieve_chat(teams: Page, app: App, server: OpenAIServer) -> None:
    page = teams
    begin(page, "RetrieveChat")
    fill(page, "Name", "Tea readers")
    expect(page.get_by_role("heading", name="Tea readers", level=1)).to_be_visible()
    picture = page.locator("[data-testid=stGraphVizChart] svg")
    expect(picture).to_contain_text("UPDATE CONTEXT")
    switch(page.locator("#stMain"), "Update context")
    expect(picture).not_to_contain_text("UPDATE")
    switch(page.locator("#stMain"), "Update context")
    enter(page.get_by_role("spinbutton", name="N results"), "1")
    try_it(page)
    expect(page.get_by_text("(dry run) Here Assistant would answer.").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Tea readers", level=1)).to_be_visible()
    driver.settled(page)
    assert violations(page, "a team") == []
    script = take_away(page, "Python script")
    turn = ask_in_chat(page, QUESTION)
    expect(page.locator(".st-key-choice")).to_contain_text("Tea readers")
    expect(turn).to_contain_text("Green tea is steeped at 80 degrees")
    expect(turn.locator("a[href^='#cite-']").first).to_be_visible()
    first, second = (one.body["messages"][-1]["content"] for one in server.requests)
    assert (TINS in first, TINS in second) == (False, True)
    assert ANSWER in is_same_in_script(script, app, server)


@pytest.mark.walk
def test_a_discussion_ends_in_a_vote(teams: Page, app: App, server: OpenAIServer) -> None:
    page = teams
    begin(page, "Structured discussion")
    driver.unfold(page.locator("#stMain"), "Vote")
    name = field(page, "Name").last  # of the stage's fields: they are drawn when it is unfolded
    expect(name).to_have_value("vote")
    enter(name, "ballot")
    told = "a vote needs a field that is counted, and that the program is told"
    expect(page.get_by_text(told).first).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    fill(page, "Counted", "ballot")
    expect(page.get_by_text(told)).to_have_count(0)
    choose(page, "Who speaks", "test-model")
    try_it(page)
    expect(page.get_by_text("(3 of 3 votes)")).to_be_visible()
    driver.settled(page)
    driver.resize(page, 390, 844)
    assert page.evaluate(_NO_WIDER)
    driver.resize(page, 1400, 950)
    document = json.loads(take_away(page, "JSON"))
    assert document["flow"]["stages"][1]["counted"] == "ballot"
    script = take_away(page, "Python script")
    take_requests(server)
    turn = ask_in_chat(page, QUESTION)
    expect(turn).to_contain_text("80 degrees (3 of 3 votes)")
    assert "Ann: 80 degrees\nBob: 80 degrees" in is_same_in_script(script, app, server)


@pytest.mark.walk
def test_two_agents_whose_talk_is_compressed(teams: Page, app: App, server: OpenAIServer) -> None:
    page = teams
    begin(page, "Two agents")
    driver.unfold(page.locator("#stMain"), "Writer")
    writer = row(page, 1)
    driver.unfold(writer.locator("[data-testid=stExpander]").last, "More")
    switch(writer, "Compression")
    choose(writer, "Mode", "COMPRESS")
    enter(writer.get_by_role("spinbutton", name="Trigger count"), "300")
    enter(writer.get_by_role("spinbutton", name="Leave last n"), "1")
    choose(page, "Who speaks", "test-model")
    try_it(page)
    expect(page.get_by_text(re.compile("shortened|compressed", re.I)).first).to_be_visible()
    script = take_away(page, "Python script")
    take_requests(server)
    turn = ask_in_chat(page, QUESTION)
    expect(turn).to_contain_text("Green tea is steeped at 80 degrees")
    assert ANSWER in is_same_in_script(script, app, server)


@pytest.mark.walk
def test_a_plan_first_with_prompts_of_ones_own(teams: Page, app: App, server: OpenAIServer) -> None:
    page = teams
    begin(page, "Plan first")
    choose(page, "Prompts", "own")
    solver = field(page, "Solver prompt")
    expect(solver).to_have_value(re.compile("Now answer the question"))
    enter(solver, "Without a place for what was found.")
    expect(page.get_by_text("it has to hold {question}, {worker_log}").first).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    enter(solver, f"{{question}}\n{{worker_log}}\n{SURE}")
    try_it(page)
    expect(page.get_by_text("(dry run)").first).to_be_visible()
    script = take_away(page, "Python script")
    save_and_use(page)
    turn = driver.ask(page, QUESTION)
    turn.get_by_role("button", name="Run this plan").click()
    driver.answered(page, turn)
    expect(turn).to_contain_text("That is all.")
    assert "That is all." in is_same_in_script(script, app, server)


FOLLOWERS = {
    "Researcher": ["Critic"],
    "Critic": ["Me"],
    "Writer": ["Critic"],
    "Me": ["Researcher", "Writer"],
}


@pytest.mark.walk
def test_a_group_with_a_person_and_transitions(teams: Page, app: App, server: OpenAIServer) -> None:
    page = teams
    begin(page, "Group")
    press(page, "Add an agent")
    driver.settled(page)
    me = row(page, 3)
    enter(field(me, "Name"), "Me")
    choose(me, "Role", "person")
    for place, (name, followers) in enumerate(FOLLOWERS.items()):
        press(page, "Add a transition")
        driver.settled(page)
        transition = page.locator(f"[class*='-row-flow-transitions-{place}']").first
        expect(transition).to_contain_text(f"After {name}")
        leave_only(transition, followers)
    choose(page, "Who speaks", "test-model")
    try_it(page)
    trial = page.get_by_role("textbox", name="Your answer")
    trial.fill(PERSON)
    trial.press("Enter")
    expect(page.get_by_text("80 degrees.").first).to_be_visible()
    script = take_away(page, "Python script")
    take_requests(server)
    save_and_use(page)
    turn = driver.ask(page, QUESTION)
    expect(page.locator("[class*='st-key-asks-']")).to_contain_text("Your turn")
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(PERSON)
    box.press("Enter")
    driver.answered(page, turn)
    expect(turn.locator("[class*='st-key-answer-']")).to_contain_text("80 degrees.")
    assert "80 degrees." in is_same_in_script(script, app, server, f"{PERSON}\n")


@pytest.mark.walk
def test_a_ready_made_team_is_looked_into_and_copied(teams: Page) -> None:
    page = teams
    press(page, "Group of three (the model decides)")
    expect(page.get_by_text("Comes with agentkit and stays as it is")).to_be_visible()
    driver.settled(page)
    driver.unfold(page.locator("#stMain"), "Critic")
    told = field(row(page, 1), "System message")
    expect(told).to_have_value(re.compile("you are the critic"))
    expect(told).to_be_disabled()
    assert violations(page, "a ready-made team") == []
    press(page, "Copy to change")
    copied = page.get_by_role("heading", name="Group of three (2)", level=1)
    expect(copied).to_be_visible()
    driver.settled(page)
    driver.go(page, "Teams")
    expect(page.get_by_role("button", name="New team")).to_be_visible()
    page.go_back()
    expect(copied).to_be_visible()
    driver.settled(page)
    driver.unfold(page.locator("#stMain"), "Critic")
    enter(field(row(page, 1), "System message"), "You are kind.")
    save_and_use(page)
    expect(page.locator(".st-key-choice")).to_contain_text("Group of three (2)")


def test_what_is_opened_is_seen_from_its_top_and_reached_by_tab(teams: Page) -> None:
    teams.set_viewport_size({"width": 1400, "height": 500})
    driver.settled(teams)
    expect(teams.locator(".st-key-pieces [data-testid='stSkeleton']")).to_have_count(0)
    teams.get_by_role("button", name="New team").press("Enter")
    body = teams.get_by_test_id("stPopoverBody")
    expect(body).to_be_visible()
    teams.keyboard.press("Tab")
    expect(body.get_by_role("button").first).to_be_focused()
    teams.keyboard.press("Escape")
    expect(body).to_have_count(0)
    last = teams.locator("[class*='st-key-open-'] button").last
    last.scroll_into_view_if_needed()
    name = last.inner_text()
    last.click()
    heading = teams.get_by_role("heading", name=name, exact=True)
    expect(heading).to_be_in_viewport()
