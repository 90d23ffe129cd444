"""What may be asked next: below an answer, and in a new chat over a collection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.ledger.queries import CallFilter
from agentkit.settings import choose
from agentkit.workspace import followups
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

Ingest = Callable[[str, dict[str, str]], None]
TEA = (
    "# Steeping\n\nGreen tea is steeped at 80 degrees.\n\n"
    "# Storing leaves\n\nLeaves are kept in the dark, in a tin.\n\n"
    "# Green tea\n\nGreen tea is grown in China and Japan.\n"
)
QUESTION = "Where is green tea grown?"


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    ingest("Kitchen", {"tea.md": TEA})
    return workspace


def labels(app: AppTest, beginning: str) -> list[str]:
    """The labels of the buttons whose key begins like this."""
    found = [one for one in app.button if str(one.key).startswith(beginning)]
    return [str(one.label).replace("\\", "") for one in found]


def ask(workspace: ScriptableWorkspace, model_id: str = "offline") -> str:
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen", model_id=model_id)
    run.result()
    return run.chat_id or ""


def choose_way(workspace: ScriptableWorkspace, way: str) -> None:
    workspace.adopt(choose(workspace.settings, "followups", way))


def test_headings_of_what_was_found_can_be_asked_with_a_click(
    kitchen: ScriptableWorkspace,
) -> None:
    app = open_page("chat", chat=ask(kitchen))
    asked = labels(app, "follow-")
    assert "What is said about “Storing leaves”?" in asked
    assert len(asked) <= followups.MOST
    assert not [one for one in asked if "Green tea" in one]
    first = next(one for one in app.button if str(one.key).startswith("follow-0-"))
    before = kitchen.ledger.chats(OWNER)[0]
    (document, *_) = kitchen.library.documents(OWNER, "Kitchen")
    kitchen.ledger.set(OWNER, before.id, "mentions", [document.id])
    first.click().run()
    settle(app)
    assert not kitchen.ledger.settings(OWNER, before.id).get("mentions"), "of that question alone"
    chat = kitchen.ledger.chats(OWNER)[0]
    said = [one.content for one in kitchen.ledger.thread(OWNER, chat.id) if one.role == "user"]
    assert said == [QUESTION, asked[0]]


def test_they_are_switched_off_in_the_settings(kitchen: ScriptableWorkspace) -> None:
    chat_id = ask(kitchen)
    settings = open_page("settings")
    settings.segmented_control(key="followups-choice").set_value("off").run()
    assert kitchen.settings.followups == "off"
    assert labels(open_page("chat", chat=chat_id), "follow-") == []


def until_drafted(app: AppTest, workspace: ScriptableWorkspace, chat_id: str) -> None:
    """Wait until a model has drafted what may be asked next, then draw the page again."""
    for _ in range(600):
        if "followups" in workspace.ledger.settings(OWNER, chat_id):
            break
        app.run()
    app.run()
    assert not app.exception


def test_a_model_drafts_them_in_a_call_that_is_counted_apart(
    kitchen: ScriptableWorkspace,
) -> None:
    drafted = (
        "1. How is it kept?\n- How hot is it steeped?\nHere you are.\n\n3) Why in a tin?\nMore?"
    )
    model = kitchen.script("In China and Japan [1].", drafted)
    choose_way(kitchen, "model")
    chat_id = ask(kitchen, model.id)
    before = kitchen.figures.totals(CallFilter(OWNER, purpose="follow-up")).calls
    app = open_page("chat", chat=chat_id)
    until_drafted(app, kitchen, chat_id)
    wanted = ["How is it kept?", "How hot is it steeped?", "Why in a tin?"]
    assert labels(app, "follow-") == wanted
    assert labels(open_page("chat", chat=chat_id), "follow-") == wanted
    assert before == 0
    assert kitchen.figures.totals(CallFilter(OWNER, purpose="follow-up")).calls == 1


def test_a_model_that_fails_is_not_asked_again(kitchen: ScriptableWorkspace) -> None:
    model = kitchen.script("In China and Japan [1].", RuntimeError("no"))
    choose_way(kitchen, "model")
    chat_id = ask(kitchen, model.id)
    app = open_page("chat", chat=chat_id)
    until_drafted(app, kitchen, chat_id)
    assert labels(app, "follow-") == []
    assert kitchen.ledger.settings(OWNER, chat_id)["followups"]["questions"] == []


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("", []),
        ("No question here.", []),
        ("Why?\nWhy?\nHow?\nWhen?\nWhere?", ["Why?", "How?", "When?"]),
        ("* “Warum?”\n2. どうして？", ["“Warum?”", "どうして？"]),
        (f"{'x' * 300}?\nShort?", ["Short?"]),
    ],
)
def test_questions_are_read_out_of_a_reply(reply: str, found: list[str]) -> None:
    assert followups.read_questions(reply) == found


def test_a_new_chat_begins_with_headings_or_with_questions_of_ones_own(
    kitchen: ScriptableWorkspace,
) -> None:
    app = open_page("chat")
    assert labels(app, "ask-") == [
        "What is said about “Steeping”?",
        "What is said about “Storing leaves”?",
        "What is said about “Green tea”?",
    ]
    app.button(key="change-starters").click().run()
    [there] = kitchen.library.collections(OWNER)
    field = f"starters-{there.id}"
    app.text_area(key=field).set_value("1?\n2?\n3?\n4?\n5?")
    app.button(key="save-starters").click().run()
    assert "These are 5 questions; up to 4 can be set" in texts(app)
    app.text_area(key=field).set_value("Who drinks <b>tea</b>?\n\n Who  drinks coffee?\n")
    app.button(key="save-starters").click().run()
    own = ["Who drinks <b>tea</b>?", "Who drinks coffee?"]
    assert labels(app, "ask-") == own
    again = open_page("chat")
    assert labels(again, "ask-") == own
    again.button(key="change-starters").click().run()
    again.text_area(key=field).set_value("")
    again.button(key="save-starters").click().run()
    assert len(labels(again, "ask-")) == 3


def test_a_heading_of_which_nothing_is_said_is_passed_over(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    text = "# Notes\n\nTea is green.\n\n# Cups\n\nA cup is small.\n"
    ingest("Kitchen", {"cups.md": text})
    assert followups.list_headings(workspace.library, OWNER, "Kitchen", 4) == ["Cups"]


def test_a_heading_is_asked_about_without_its_number_and_columns_are_none(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    text = (
        "# 3.1 Leave\n\nLeave is 27 days.\n\n# 12. Salaries\n\nSalaries come monthly.\n\n"
        "# 10 rules\n\nRules are kept.\n\n# Article | Price\n\nThe price of an article.\n"
    )
    ingest("Kitchen", {"handbook.md": text})
    found = followups.list_headings(workspace.library, OWNER, "Kitchen", 9)
    assert found == ["Leave", "Salaries", "10 rules"]


def test_a_question_to_begin_with_is_about_the_chosen_documents_alone(
    kitchen: ScriptableWorkspace,
) -> None:
    (document, *_) = kitchen.library.documents(OWNER, "Kitchen")
    kitchen.ledger.set(OWNER, "", "mentions", [document.id])
    app = open_page("chat")
    next(one for one in app.button if str(one.key).startswith("ask-")).click().run()
    settle(app)
    [chat] = kitchen.ledger.chats(OWNER)
    asked = kitchen.ledger.thread(OWNER, chat.id)[0]
    assert asked.extra["scope"]["document_ids"] == [document.id]
    assert not kitchen.ledger.settings(OWNER, "").get("mentions")
