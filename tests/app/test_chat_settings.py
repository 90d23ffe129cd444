"""What a chat is asked with beside its questions, on the page: set, shown in short, kept, linked,
and told where it makes no sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.llm.calls.wishes import Parameters
from agentkit.teams import Question
from agentkit.workspace import chat_settings
from agentkit.workspace.chat_settings import ChatSettings
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, ROOT, open_page, settle, texts

QUESTION = "At how many degrees is tea brewed?"
MARKUP = "<b>*green*[tea](x).md"


@pytest.fixture(autouse=True)
def _kitchen(ingest: Callable[[str, dict[str, str]], None]) -> None:
    ingest("Kitchen", {MARKUP: "Green tea is brewed at 70 degrees."})
    ingest("Cellar", {"black.md": "Black tea is brewed at 95 degrees."})


def opened(app: AppTest) -> AppTest:
    app.button(key="settings-open").click().run()
    assert not app.exception
    return app


def type_in(app: AppTest, name: str, value: str, chat: str = "new") -> AppTest:
    app.text_input(key=f"settings-{chat}-{name}").set_value(value).run()
    assert not app.exception
    return app


def ask(app: AppTest, text: str = QUESTION) -> AppTest:
    app.chat_input[0].set_value(text).run()
    return settle(app)


def questions(workspace: ScriptableWorkspace, app: AppTest) -> list[Question]:
    thread = workspace.ledger.thread(OWNER, str(app.query_params["chat"]))
    return [Question.from_message(said) for said in thread if said.role == "user"]


def kept_in(workspace: ScriptableWorkspace, chat: str) -> ChatSettings:
    return chat_settings.read(workspace.ledger, OWNER, chat)


def address(app: AppTest) -> dict[str, Any]:
    """What the address says, by name; several values are listed."""
    return {name: app.query_params[name] for name in app.query_params}


def test_what_is_set_is_shown_linked_asked_with_and_stays_with_the_chat(
    workspace: ScriptableWorkspace,
) -> None:
    app = opened(open_page("chat"))
    app.multiselect(key="settings-new-also").set_value(["Kitchen"]).run()
    app.text_area(key="settings-new-instructions").set_value("Answer in French.").run()
    type_in(type_in(app, "temperature", "0.2"), "seed", "7")
    app.selectbox(key="settings-new-reasoning_effort").set_value("low").run()
    app.button(key="settings-done").click().run()
    shown = "also Kitchen, instructions, temperature 0.2, seed 7, reasoning effort low"
    assert shown in texts(app)
    link = address(app)
    assert link["temperature"] == "0.2"

    ask(app)
    (question,) = questions(workspace, app)
    wished = Parameters(temperature=0.2, seed=7, reasoning_effort="low")
    assert (question.collection, question.also) == ("Cellar", ("Kitchen",))
    assert (question.instructions, question.parameters) == ("Answer in French.", wished)
    chat = str(address(app)["chat"])
    assert address(app).keys() == {"chat"}
    assert shown in texts(open_page("chat", chat=chat))
    assert shown not in texts(open_page("chat"))

    again = open_page("chat", **link)
    assert shown in texts(again), "the link begins a new chat with the same"


def test_what_no_model_takes_is_told_and_nothing_is_lost(workspace: ScriptableWorkspace) -> None:
    app = type_in(opened(open_page("chat")), "temperature", "0.5")
    type_in(app, "temperature", "99")
    assert "temperature is 99.0; it must be a number from 0 to 2. Nothing is changed." in texts(app)
    type_in(app, "seed", "abc")
    assert "“abc” is not a whole number" in texts(app)
    long = app.text_area(key="settings-new-instructions")
    long.set_value("a" * 1_000_000).run()
    assert "1,000,000 characters; at most 20,000" in texts(app)
    assert app.text_area(key="settings-new-instructions").value == "a" * 1_000_000
    assert kept_in(workspace, "") == ChatSettings(parameters=Parameters(temperature=0.5))
    app.button(key="settings-done").click().run()
    assert "“abc” is not a whole number" in texts(app), "it stays open and says what is wrong"
    app.button(key="settings-clear").click().run()
    assert kept_in(workspace, "") == ChatSettings()
    app.button(key="settings-done").click().run()
    assert "settings-done" not in [one.key for one in app.button]


def test_a_link_with_nonsense_is_told_and_the_rest_of_it_holds() -> None:
    app = open_page(
        "chat",
        temperature="hot",
        seed="7",
        also="Nowhere <b>",
        reasoning_effort="very",
        instructions="a" * 30_000,
    )
    told = " ".join(str(one.value) for one in app.toast).replace("\\", "")
    for wrong in ("temperature hot", "also Nowhere <b>", "reasoning_effort very"):
        assert wrong in told
    assert "seed 7" in texts(app)
    assert address(app)["seed"] == "7"
    assert not address(app).keys() & {"temperature", "also", "reasoning_effort", "instructions"}


def test_a_link_says_whom_it_asks_and_what_it_is_narrowed_to(
    workspace: ScriptableWorkspace,
) -> None:
    app = open_page("chat")
    app.selectbox(key="collection-new").set_value("Kitchen").run()
    app.selectbox(key="team-new").set_value("research").run()
    kitchen = workspace.library.collection(OWNER, "Kitchen").id
    app.button(key="narrow").click().run()
    app.multiselect(key=f"narrow-new-{kitchen}-types").set_value(["text/markdown"]).run()
    app.button(key="narrow-done").click().run()
    (tea,) = workspace.library.documents(OWNER, "Kitchen")
    workspace.ledger.set(OWNER, "", "mentions", [tea.id])
    app.run()
    link = address(app)
    plain = open_page("chat", collection="Kitchen")
    assert not re.search("Only: |Next question: ", texts(plain))
    again = open_page("chat", **link)
    assert "Only: MD" in texts(again)
    assert f"Next question: {tea.name}" in texts(again).replace("\\", "")
    ask(again)
    (question,) = questions(workspace, again)
    assert (question.collection, question.team_id) == ("Kitchen", "research")
    assert question.scope.media_types == ["text/markdown"]
    assert question.scope.document_ids == [tea.id]
    odd = open_page(
        "chat", narrow='{"scope": {"tags": 3}}', team="nobody", model="<none>", about="gone"
    )
    told = " ".join(str(one.value) for one in odd.toast).replace("\\", "")
    assert "team nobody, model <none>, narrow" in told
    assert "about gone" in told


def test_a_choice_alone_is_in_the_address_and_what_is_too_long_for_it_is_told(
    workspace: ScriptableWorkspace,
) -> None:
    app = open_page("chat")
    assert not address(app)
    app.selectbox(key="team-new").set_value("research").run().run()
    assert (address(app)["team"], address(app)["collection"]) == ("research", "Cellar")
    again = open_page("chat", **address(app))
    assert again.selectbox(key="team-new").value == "research"
    workspace.ledger.set(OWNER, "", "settings", {"instructions": "茶" * 2_000})
    app.run()
    assert "not in the address of this page: the instructions." in texts(app)
    link = address(app)
    assert link.keys() == {"collection", "team", "model", "without"}
    open_page("chat", **link)
    assert kept_in(workspace, "").instructions == "茶" * 2_000, "it stays when the page is reloaded"
    open_page("chat", collection="Kitchen")
    assert kept_in(workspace, "") == ChatSettings(), "another link begins without"
    workspace.ledger.set(OWNER, "", "settings", {"instructions": "茶" * 2_000})
    ask(app)
    assert questions(workspace, app)[0].instructions == "茶" * 2_000
    assert "Too long for a link" not in texts(app)


def test_a_collection_that_is_gone_is_told_and_the_chat_goes_on(
    workspace: ScriptableWorkspace,
) -> None:
    app = opened(open_page("chat"))
    app.multiselect(key="settings-new-also").set_value(["Kitchen"]).run()
    app.button(key="settings-done").click().run()
    ask(app)
    workspace.library.delete_collection(OWNER, "Kitchen")
    app.run()
    assert "No longer there, and not looked into: Kitchen." in texts(app)
    ask(app, "And black tea?")
    assert [one.also for one in questions(workspace, app)] == [("Kitchen",), ()]


def go(app: AppTest, page: str, chat: str = "") -> AppTest:
    """As the browser's Back button does, which knows of no open dialog."""
    app.switch_page(str(ROOT / f"pages/{page}.py"))
    if chat:
        app.query_params["chat"] = chat
    app.run()
    assert not app.exception
    return app


def test_an_open_dialog_stays_with_its_chat_and_changes_no_other(
    workspace: ScriptableWorkspace,
) -> None:
    first = workspace.ask(OWNER, QUESTION, collection="Kitchen")
    second = workspace.ask(OWNER, "And black tea?", collection="Kitchen")
    chats = [str(run.chat_id) for run in (first, second) if run.wait(120)]
    for chat in chats:
        workspace.ledger.set(OWNER, chat, "settings", {"instructions": f"Of {chat}."})
    app = opened(open_page("chat", chat=chats[0]))
    app.query_params["chat"] = chats[1]
    app.run()
    assert not app.text_area, "it was opened on the other chat"
    opened(app)
    go(app, "documents")
    go(app, "chat", chats[1])
    assert not app.text_area
    assert [kept_in(workspace, chat).instructions for chat in chats] == [
        f"Of {chat}." for chat in chats
    ]
    assert opened(app).text_area[0].value == f"Of {chats[1]}."


def test_chosen_documents_narrow_the_next_question_alone(workspace: ScriptableWorkspace) -> None:
    (green,) = workspace.library.documents(OWNER, "Kitchen")
    workspace.ledger.set(OWNER, "", "settings", {"also": ["Kitchen"]})
    workspace.ledger.set(OWNER, "", "mentions", [green.id])
    app = open_page("chat")
    assert f"Next question: {MARKUP}" in texts(app)
    ask(app)
    ask(app, "And black tea?")
    scopes = [one.scope.document_ids for one in questions(workspace, app)]
    assert scopes == [[green.id], None]
    assert "Next question:" not in texts(app)


def test_a_parameter_that_is_refused_is_told_below_the_answer(
    workspace: ScriptableWorkspace,
) -> None:
    from agentkit.ui.composer import settings

    def page() -> None:
        from agentkit.ui.composer import settings

        told = {"agent": "A", "model": "m*1*", "model_id": "c/m", "parameter": "seed"}
        settings.draw_refused({"refused": [told]})

    assert settings.in_short(ChatSettings(instructions="x")) == "instructions"
    app = AppTest.from_function(page).run()
    assert "The model m*1* refuses the seed: it is asked without it." in texts(app)


def open_forecast(app: AppTest) -> str:
    """What the meter under the composer tells, once it is unfolded."""
    app.session_state["context"] = True
    app.run()
    assert not app.exception
    return texts(app)


def test_a_forecast_stands_before_a_question_and_beside_what_its_answer_took(
    workspace: ScriptableWorkspace,
) -> None:
    model = workspace.script(*["Green tea is brewed at 70 degrees [1]."] * 9)
    workspace.ledger.set(OWNER, "", "settings", {"instructions": "In French. " * 100})
    unknown = open_page("chat")
    workspace.ledger.set(OWNER, "", "draft", "green tea " * 400)
    told = open_forecast(unknown)
    assert "needs 5 earlier answers of this team and model" in told
    assert re.search(r"about 1,\d{3} tokens as it is written, up to \d,\d{3} of passages", told)
    workspace.ledger.set(OWNER, "", "settings", None)
    for _ in range(5):
        workspace.ask(OWNER, QUESTION, collection="Kitchen", model_id=model.id).result()
    app = open_page("chat")
    told = open_forecast(app)
    assert "The next answer: about 1 call, nothing to pay, as the middle half of the last 5" in told
    assert "The next request: about " in told
    ask(app)
    assert "forecast 1 call; took 1 call" in texts(app)
