"""Branches of a chat on its page: edited, answered again, switched, compared, rated, deleted."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.ledger import Chat
from agentkit.ledger.feedback import find_ratings, rate
from agentkit.ledger.tree import delete_branch, read_tree
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.calls.wishes import Parameters
from agentkit.teams import Question
from agentkit.teams.question import Facts
from agentkit.ui.chat import actions
from agentkit.workspace import chat_settings
from agentkit.workspace.chat_settings import ChatSettings
from agentkit.workspace.kernels import AGAIN
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

TEA, POT = "How hot is green tea?", "And the pot?"


def said_by(workspace: ScriptableWorkspace) -> ScriptedClient:
    """Add a model whose answer numbers its calls."""
    numbers = iter(range(1, 100))
    model = scripted_model(lambda request: f"Answer {next(numbers)}. [1]")
    workspace.added.insert(0, model)
    assert isinstance(model.client, ScriptedClient)
    return model.client


def ask(workspace: ScriptableWorkspace, text: str, **facts: Any) -> Chat:
    """Ask in Python and wait; gives the chat as it stands then."""
    known = {"collection": "Kitchen", "model_id": "scripted"}
    run = workspace.ask(OWNER, text, **{**known, **facts})
    run.result()
    return workspace.ledger.chat(OWNER, str(run.chat_id))


def questions(workspace: ScriptableWorkspace, chat: Chat) -> list[str]:
    """What is asked on the branch that the chat shows."""
    return [one.content for one in workspace.ledger.thread(OWNER, chat.id) if one.role == "user"]


def choose(app: AppTest, workspace: ScriptableWorkspace, chat: Chat, place: int, what: str) -> str:
    """Open a dialog of the question at this place of the branch; gives its id."""
    asked = [one for one in workspace.ledger.thread(OWNER, chat.id) if one.role == "user"][place]
    app.session_state["dialog"] = (what, asked.id)
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return asked.id


def run_of(workspace: ScriptableWorkspace, chat: Chat, question_id: str) -> str:
    return str(read_tree(workspace.ledger, OWNER, chat.id).nodes[question_id].run_id)


def first_question(workspace: ScriptableWorkspace, chat: Chat) -> str:
    """The id of the first question of the branch that is shown."""
    return workspace.ledger.thread(OWNER, chat.id)[0].id


def two_turns(workspace: ScriptableWorkspace) -> Chat:
    """A chat of two questions."""
    said_by(workspace)
    chat = ask(workspace, TEA)
    return ask(workspace, POT, chat_id=chat.id)


def submit(app: AppTest, label: str) -> None:
    """Press the button of the open form."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception, app.exception[0].stack_trace


def test_an_edited_question_gets_a_branch_whose_agents_know_only_that_branch(
    kitchen: ScriptableWorkspace,
) -> None:
    client = said_by(kitchen)
    chat = ask(kitchen, TEA, team_id="assistant")
    ask(kitchen, POT, chat_id=chat.id, team_id="assistant")
    app = open_page("chat", chat=chat.id)
    asked = choose(app, kitchen, chat, 1, actions.EDIT)
    app.text_area(key=f"edited-{run_of(kitchen, chat, asked)}").set_value("And the cup?")
    submit(app, "Send")
    settle(app)
    assert questions(kitchen, chat) == [TEA, "And the cup?"]
    assert "2/2" in texts(app)
    sent = str(client.requests[-1]["messages"])
    assert (TEA in sent, "Answer 1" in sent) == (True, True)
    assert (POT in sent, "Answer 2" in sent) == (False, False)


def test_the_agents_of_a_group_know_only_the_branch_that_is_shown(
    kitchen: ScriptableWorkspace,
) -> None:
    client = said_by(kitchen)
    group = "group:round_robin"
    chat = ask(kitchen, TEA, team_id=group)
    first = first_question(kitchen, chat)
    before = len(client.requests)
    ask(kitchen, POT, chat_id=chat.id, again=first, team_id=group)
    of_second = range(before + 1, len(client.requests) + 1)
    app = open_page("chat", chat=chat.id)
    app.button(key=f"older-{first}").click().run()
    before = len(client.requests)
    app.chat_input[0].set_value("And the cup?").run()
    settle(app)
    assert questions(kitchen, chat) == [TEA, "And the cup?"]
    asked = [str(one["messages"]) for one in client.requests[before:]]
    assert len(asked) >= 3, "each of the group is asked"
    for sent in asked:
        assert TEA in sent
        assert POT not in sent
        assert not any(f"Answer {number}." in sent for number in of_second)


def test_versions_are_switched_and_the_chat_stays_there(kitchen: ScriptableWorkspace) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    first = first_question(kitchen, chat)
    ask(kitchen, POT, chat_id=chat.id)
    ask(kitchen, "", chat_id=chat.id, again=first)
    app = open_page("chat", chat=chat.id)
    assert questions(kitchen, chat) == [TEA]
    app.button(key=f"older-{first}").click().run()
    assert questions(kitchen, chat) == [TEA, POT]
    assert "1/2" in texts(open_page("chat", chat=chat.id))
    assert app.button(key=f"older-{first}").disabled


def test_an_answer_is_made_again_by_another_model_and_compared(
    kitchen: ScriptableWorkspace,
) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    app = open_page("chat", chat=chat.id)
    asked = choose(app, kitchen, chat, 0, actions.AGAIN)
    app.selectbox(key=f"whom-model-{run_of(kitchen, chat, asked)}").set_value("offline")
    submit(app, "Answer again")
    settle(app)
    choose(app, kitchen, chat, 0, actions.COMPARE)
    shown = texts(app)
    assert "Version 1 · Answer with citations" in shown
    assert "Version 2 · Answer with citations" in shown
    assert ":primary-background[Answer" in shown
    assert app.selectbox(key=f"compare-Left-{first_question(kitchen, chat)}").options == [
        "Version 1 · Answer with citations · Scripted",
        "Version 2 · Answer with citations · Offline (quotes the documents)",
    ]
    assert "≠ marks what differs." in shown
    assert re.search(r"\| Tokens out ≠ \| \d+ \| \d+ \|", shown)
    assert "| Passages found | 1 | 1 |" in shown
    assert "| Sources cited | tea.txt | tea.txt |" in shown


def test_an_edit_while_the_chat_answers_is_told_and_asked_next(
    kitchen: ScriptableWorkspace,
) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    client = kitchen.halting("It ", "is warm.")
    facts: Facts = {"collection": "Kitchen", "model_id": "halting", "team_id": "assistant"}
    facts["chat_id"] = chat.id
    run = kitchen.ask(OWNER, POT, **facts)
    assert client.halted.wait(120)
    app = open_page("chat", chat=chat.id)
    asked = choose(app, kitchen, chat, 0, actions.EDIT)
    assert "this is asked after that answer" in texts(app)
    app.text_area(key=f"edited-{run_of(kitchen, chat, asked)}").set_value("How hot is it?")
    submit(app, "Send")
    assert "Asked after this answer: How hot is it?" in texts(app)
    choose(app, kitchen, chat, 0, actions.DELETE)
    app.button(key="delete-branch").click().run()
    assert "stop it, or wait until it has ended" in texts(app)
    assert asked in read_tree(kitchen.ledger, OWNER, chat.id).nodes, "not while it answers"
    client.go_on.set()
    run.result()
    app.session_state["dialog"] = ("", None)
    settle(app)
    settle(app)
    assert questions(kitchen, chat) == ["How hot is it?"]


def test_a_branch_goes_after_it_was_told_what_goes(kitchen: ScriptableWorkspace) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    first = first_question(kitchen, chat)
    ask(kitchen, POT, chat_id=chat.id)
    app = open_page("chat", chat=chat.id)
    choose(app, kitchen, chat, 0, actions.DELETE)
    assert "**2 questions and their answers** go" in texts(app)
    delete_branch(kitchen.ledger, OWNER, chat.id, first)  # in another tab
    app.button(key="delete-branch").click().run()
    assert not app.exception, app.exception[0].stack_trace
    assert questions(kitchen, chat) == []
    app.session_state["dialog"] = (actions.EDIT, first)
    app.run()
    assert "may have been deleted in another tab" in app.toast[0].value


def test_what_goes_with_a_branch_are_thumbs_too_and_an_emptied_chat_begins_anew(
    kitchen: ScriptableWorkspace,
) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    rate(kitchen.ledger, OWNER, str(chat.head_id), "down", "Too hot.")
    app = open_page("chat", chat=chat.id)
    assert "change-starters" not in [button.key for button in app.button]
    choose(app, kitchen, chat, 0, actions.DELETE)
    assert "1 thumb with 1 comment of yours goes too." in texts(app)
    app.button(key="delete-branch").click().run()
    assert "Ask **Kitchen** below" in texts(app)
    app.chat_input[0].set_value(POT).run()
    settle(app)
    assert questions(kitchen, chat) == [POT]


def test_what_was_typed_stays_when_another_tab_deletes_the_turn(
    kitchen: ScriptableWorkspace,
) -> None:
    chat = two_turns(kitchen)
    app = open_page("chat", chat=chat.id)
    asked = choose(app, kitchen, chat, 1, actions.EDIT)
    key = f"edited-{run_of(kitchen, chat, asked)}"
    _delete_in_another_tab(kitchen, chat)
    app.run()
    app.text_area(key=key).set_value("And the cup?")
    submit(app, "Send")
    assert "**Not asked:** And the cup?" in texts(app)


def test_an_edit_stays_in_its_chat(kitchen: ScriptableWorkspace) -> None:
    chat = two_turns(kitchen)
    other = ask(kitchen, TEA)
    app = open_page("chat", chat=chat.id)
    choose(app, kitchen, chat, 1, actions.EDIT)
    app.query_params["chat"] = other.id
    app.run()
    assert not app.exception
    assert not app.toast, "nothing was deleted"
    assert not any(area.label == "Question" for area in app.text_area)


def test_that_a_question_keeps_its_settings_is_told_where_the_chat_has_others(
    kitchen: ScriptableWorkspace,
) -> None:
    client = said_by(kitchen)
    then = ChatSettings(instructions="Answer in French.", parameters=Parameters(seed=7))
    chat = ask(kitchen, TEA, instructions=then.instructions, parameters=then.parameters)
    app = open_page("chat", chat=chat.id)
    others = replace(then, instructions=""), replace(then, parameters=Parameters(seed=8))
    for now in (then, *others):
        chat_settings.keep(kitchen.ledger, OWNER, chat.id, now)
        choose(app, kitchen, chat, 0, actions.AGAIN)
        told = "with the instructions and model parameters that it had then" in texts(app)
        assert told == (now != then)
    submit(app, "Answer again")
    settle(app)
    assert "Answer in French." in str(client.requests[-1]["messages"])
    assert client.requests[-1]["seed"] == 7


def test_a_very_long_question_is_asked_as_it_is(kitchen: ScriptableWorkspace) -> None:
    client = said_by(kitchen)
    chat = ask(kitchen, TEA)
    app = open_page("chat", chat=chat.id)
    asked = choose(app, kitchen, chat, 0, actions.EDIT)
    long = f"{TEA} {'word ' * 30_000}".strip()
    app.text_area(key=f"edited-{run_of(kitchen, chat, asked)}").set_value(long)
    submit(app, "Send")
    settle(app)
    assert questions(kitchen, chat) == [long]
    assert client.requests


def test_an_empty_question_is_told(kitchen: ScriptableWorkspace) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    app = open_page("chat", chat=chat.id)
    asked = choose(app, kitchen, chat, 0, actions.EDIT)
    app.text_area(key=f"edited-{run_of(kitchen, chat, asked)}").set_value("  ")
    submit(app, "Send")
    assert "The question is empty" in texts(app)


def test_thumbs_are_kept_with_a_comment(kitchen: ScriptableWorkspace) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    answer = str(chat.head_id)
    app = open_page("chat", chat=chat.id)
    app.feedback(key=f"thumbs-{answer}").set_value(0).run()
    app.text_area(key=f"text-comment-{answer}").set_value("Too hot.")
    submit(app, "Save")
    rating = find_ratings(kitchen.ledger, OWNER, [answer])[answer]
    assert (rating.value, rating.comment) == ("down", "Too hot.")
    app = open_page("chat", chat=chat.id)
    assert app.feedback(key=f"thumbs-{answer}").value == 0
    for chosen in (1, None, 0):  # also when the thumb was taken back in between
        app.feedback(key=f"thumbs-{answer}").set_value(chosen).run()
        rated = find_ratings(kitchen.ledger, OWNER, [answer])
        assert [one.comment for one in rated.values()] == ["Too hot."] * (chosen is not None)


def test_a_question_goes_into_a_set_of_the_lab_with_the_documents_it_cites(
    kitchen: ScriptableWorkspace,
) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    app = open_page("chat", chat=chat.id)
    for name, told in (("", ""), ("Teas", "Added to Teas")):
        choose(app, kitchen, chat, 0, actions.TO_SET)
        app.text_input(key="to-set-name").set_value(name)
        submit(app, "Add")
        assert not told or told in app.toast[0].value
    (made,) = kitchen.library.questions.sets(OWNER)
    (question,) = kitchen.library.questions.questions(OWNER, made.id)
    assert (question.text, dict(question.expected)) == (TEA, {"tea.txt": 1})


def test_cells_that_ran_again_are_no_question_to_edit() -> None:
    from agentkit.events import MessageSent
    from agentkit.ui.steps.turns import Turn

    asked = MessageSent("q", None, "user", "Runner", "user", "", extra={AGAIN: 2})
    turn = Turn("run", asked)
    assert actions._list_actions(turn, ["q"], is_last=False) == [actions.GO_ON, actions.DELETE]


def test_the_partial_answer_behind_try_again_is_another_version(
    kitchen: ScriptableWorkspace,
) -> None:
    client = kitchen.breaking("At 80 deg", "At 80 degrees.")
    run = kitchen.ask(OWNER, Question(TEA, "Kitchen", model_id="breaking"))
    assert run.wait(120)
    client.whole = True
    app = open_page("chat", chat=str(run.chat_id))
    app.button(key=f"again-{run.id}").click().run()
    settle(app)
    assert "At 80 degrees." in texts(app)
    first = next(iter(read_tree(kitchen.ledger, OWNER, str(run.chat_id)).nodes))
    app.button(key=f"older-{first}").click().run()
    assert "The answer broke off." in texts(app)
    assert "At 80 deg" in texts(app)


def test_what_is_asked_again_of_a_turn_that_is_gone_can_be_asked_at_the_end(
    kitchen: ScriptableWorkspace,
) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    client = kitchen.breaking("Warm", "Warm it first.")
    run = kitchen.ask(OWNER, Question(POT, "Kitchen", model_id="breaking", chat_id=chat.id))
    assert run.wait(120)
    client.whole = True
    app = open_page("chat", chat=chat.id)
    _delete_in_another_tab(kitchen, chat)
    app.button(key=f"again-{run.id}").click().run()
    assert f"**Not asked:** {POT}" in texts(app)
    assert "stand beside was deleted in another tab" in texts(app)
    app.button(key="send-again").click().run()
    settle(app)
    assert questions(kitchen, chat) == [TEA, POT]
    assert "Not asked" not in texts(app)


def test_a_question_to_a_branch_that_another_tab_left_is_not_asked_elsewhere_unseen(
    kitchen: ScriptableWorkspace,
) -> None:
    chat = two_turns(kitchen)
    app = open_page("chat", chat=chat.id)
    _delete_in_another_tab(kitchen, chat)
    app.chat_input[0].set_value("Of which clay?").run()
    assert "**Not asked:** Of which clay?" in texts(app)
    assert "what you saw was deleted" in texts(app)
    assert questions(kitchen, chat) == [TEA]
    app.button(key="send-again").click().run()
    settle(app)
    assert questions(kitchen, chat) == [TEA, "Of which clay?"]


def test_a_question_to_a_chat_that_is_gone_can_be_asked_in_a_new_one(
    kitchen: ScriptableWorkspace,
) -> None:
    said_by(kitchen)
    chat = ask(kitchen, TEA)
    app = open_page("chat", chat=chat.id)
    kitchen.discard_chats(OWNER, [chat.id])  # in another tab
    app.chat_input[0].set_value(POT).run()
    assert not app.exception, app.exception[0].stack_trace
    assert f"**Not asked:** {POT}" in texts(app)
    app.button(key="send-again").click().run()
    settle(app)
    (new,) = kitchen.ledger.chats(OWNER)
    assert questions(kitchen, new) == [POT]


def _delete_in_another_tab(workspace: ScriptableWorkspace, chat: Chat) -> None:
    """Remove the last turn of the branch that is shown."""
    asked = [one for one in workspace.ledger.thread(OWNER, chat.id) if one.role == "user"]
    delete_branch(workspace.ledger, OWNER, chat.id, asked[-1].id)


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Any:
    yield
    for run in runs.live(OWNER):
        run.stop()
