"""The chat page: ask, stream, cite, stop, find again."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.core import bus
from agentkit.errors import ModelAuthFailed
from agentkit.event_json import from_json
from agentkit.events import MessageSent
from agentkit.ledger import Chat, StoredMessage
from agentkit.ledger.store import utc_now
from agentkit.teams import Citation, Question
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, press, settle, until_asked

Ingest = Callable[[str, dict[str, str]], None]
TEA = "Green tea is steeped at 80 degrees.\n\nBlack tea is steeped at 95 degrees for four minutes."
QUESTION = "How hot for green tea?"


def texts(app: AppTest) -> list[str]:
    """All prose and captions on the page, without their escapes."""
    return [
        re.sub(r"\\(.)", r"\1", shown.value)
        for shown in [*app.markdown, *app.caption, *app.error, *app.info]
    ]


def keys(app: AppTest, start: str) -> list[str]:
    return [str(button.key) for button in app.button if str(button.key).startswith(start)]


def ask(app: AppTest, question: str = QUESTION) -> AppTest:
    app.chat_input[0].set_value(question).run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def only_chat(workspace: ScriptableWorkspace) -> Chat:
    (chat,) = workspace.ledger.chats(OWNER)
    return chat


def thread(workspace: ScriptableWorkspace) -> list[StoredMessage]:
    return workspace.ledger.thread(OWNER, only_chat(workspace).id)


def test_an_empty_store_leads_to_the_samples_and_to_a_first_question(
    workspace: ScriptableWorkspace,
) -> None:
    app = open_page("chat")
    app.button(key="load-samples").click().run()
    assert [run.kind for run in runs.live(OWNER)] == ["ingest"]
    settle(app)
    assert {document.status for document in workspace.library.documents(OWNER, "Samples")} == {
        "indexed"
    }
    suggested = keys(app, "ask-")
    app.button(key=suggested[0]).click().run()
    settle(app)
    assert only_chat(workspace).collection == "Samples"
    assert suggested[0].removeprefix("ask-") in texts(app)


def test_questions_over_the_samples_are_suggested_when_all_of_them_are_in(
    workspace: ScriptableWorkspace,
) -> None:
    workspace.ingest_samples(OWNER).result()
    go_on = threading.Event()
    loading = runs.start(lambda: go_on.wait(60), kind="ingest", title="Samples", owner=OWNER)
    app = open_page("chat")
    assert not keys(app, "ask-")
    go_on.set()
    loading.result()
    app.run()
    assert keys(app, "ask-")


def test_an_answer_links_to_its_sources_and_says_what_it_took(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    model = workspace.script("Green tea takes 80 degrees [1]. It costs $5, see `[1]` and [9].")
    app = settle(ask(open_page("chat")))
    answer = thread(workspace)[-1]
    assert app.query_params["chat"] == only_chat(workspace).id
    link = f"[\\[1\\]](#cite-{answer.id}-1)"
    assert f"Green tea takes 80 degrees {link}. It costs \\$5, see `[1]` and \\[9?\\]." in [
        shown.value for shown in app.markdown
    ]
    (took,) = [text for text in texts(app) if "tokens in" in text]
    what = (
        rf"{model.label}\s+[\d,]+ tokens in, [\d,]+ out\s+free, on this machine\s+[\d.]+ s\s+first"
        r" word after"
    )
    assert re.match(what, took)
    assert not keys(app, "stop-")
    kept = workspace.sessions.of(OWNER, only_chat(workspace).id)
    assert app.session_state["chat-session"] is kept, "the one whose agents answered"


def test_a_marker_that_its_passage_does_not_bear_out_looks_like_none(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("Green tea takes 80 degrees [1]. Green tea takes 61 degrees [1], or less [7].")
    app = settle(ask(open_page("chat")))
    answer = thread(workspace)[-1]
    told = [
        (one["marker"], one["verdict"], one["kind"], one["what"]) for one in answer.extra["checks"]
    ]
    assert told[:2] == [(1, "supported", None, ""), (1, "doubtful", "number", "61 degrees")]
    assert [one["verdict"] for one in answer.extra["checks"] if one["marker"] == 7] == ["missing"]
    for page in (
        app,
        open_page("chat", chat=app.query_params["chat"]),
    ):  # also when it is read again
        shown = next(one.value for one in page.markdown if one.value.startswith("Green tea takes"))
        assert f"80 degrees [\\[1\\]](#cite-{answer.id}-1)." in shown
        assert f"61 degrees [\\[1?\\]](#cite-{answer.id}-1?)" in shown
        assert "or less \\[7?\\]." in shown
        (legend,) = [text for text in texts(page) if "Check before you rely on it" in text]
        assert "does not say “61 degrees”" in legend
        assert "names no passage" in legend


def test_an_answer_of_an_older_version_has_no_doubts(workspace: ScriptableWorkspace) -> None:
    chat = workspace.ledger.create_chat(OWNER, "Old", "answer", "offline", "Kitchen")
    asked = say(workspace, chat, "0", None, "user", "How hot?")
    said = say(workspace, chat, "1", asked, "assistant", "It takes 95 degrees [1].")
    app = open_page("chat", chat=chat.id)
    assert f"It takes 95 degrees [\\[1\\]](#cite-{said}-1)." in [one.value for one in app.markdown]
    assert not [text for text in texts(app) if "Check before" in text]


def test_a_running_answer_shows_what_there_is_and_a_refreshed_browser_finds_it_again(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("It is 80 degrees.\n\nThe pot", " is warmed first [1].")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    refreshed = open_page("chat", chat=app.query_params["chat"])
    assert {QUESTION, "It is 80 degrees.", "The pot"} <= set(texts(refreshed))
    assert len(keys(refreshed, "stop-")) == 1
    client.go_on.set()
    settle(refreshed)
    assert thread(workspace)[-1].content == "It is 80 degrees.\n\nThe pot is warmed first [1]."
    assert texts(refreshed).count(QUESTION) == 1
    assert not keys(refreshed, "stop-")


def test_thinking_is_live_then_folded_above_the_answer(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    picture = "![spy](http://127.0.0.1:9/spy.png)"
    client = workspace.halting(f"<think>Green or black? [1] {picture}", "</think>It is 80 degrees.")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    app.run()
    assert _unfolded(app, "Thinking").startswith("Green or black? [1]")
    client.go_on.set()
    settle(app)
    (label,) = [one.label for one in app.expander if one.label.startswith("Thought for ")]
    assert re.fullmatch(r"Thought for [\d.]+ s · about \d+ tokens", label)
    assert "!\\[spy]" in _unfolded(app, label)
    answer = thread(workspace)[-1]
    assert (answer.content, answer.extra["citations"]) == ("It is 80 degrees.", [])
    assert answer.thinking is not None
    assert answer.thinking.text == f"Green or black? [1] {picture}"
    assert "Green or black?" not in [shown for shown in texts(app) if "80 degrees" in shown]


def _unfolded(app: AppTest, label: str) -> str:
    """The prose in an expander."""
    (folded,) = [one for one in app.expander if one.label == label]
    return str(folded.markdown[0].value)


def test_stop_keeps_what_was_written(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("It is 80 degrees.", " Never said.")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    app.run()
    app.button(key=keys(app, "stop-")[0]).click().run()
    settle(app)
    assert "It is 80 degrees." in texts(app)
    assert any("Stopped" in text for text in texts(app))
    assert [(said.content, said.status) for said in thread(workspace)][-1] == (
        "It is 80 degrees.",
        "stopped",
    )


def test_what_is_asked_meanwhile_waits_its_turn_and_can_be_taken_back(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("It is", " 80 degrees [1].")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    ask(app, "Taken back")
    app.button(key=keys(app, "unqueue-")[0]).click().run()
    [chat] = workspace.ledger.chats(OWNER)
    assert workspace.ledger.settings(OWNER, chat.id)["draft"] == "Taken back", "to be changed"
    ask(app, "And black tea?")
    ask(app, "And white tea?")
    assert any("Asked after this answer: And black tea?" in text for text in texts(app))
    assert any("Asked after this answer: And white tea?" in text for text in texts(app))
    client.go_on.set()
    for _ in range(3):
        settle(app)
    assert [said.content for said in thread(workspace) if said.role == "user"] == [
        QUESTION,
        "And black tea?",
        "And white tea?",
    ]


def test_what_waits_belongs_to_the_chat_and_is_asked_once(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("It is", " 80 degrees [1].")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    app.chat_input[0].upload("coffee.txt", b"Coffee is brewed cold.", "text/plain")
    ask(app, "And coffee?")
    chat = app.query_params["chat"]
    tabs = [open_page("chat", chat=chat), open_page("chat", chat=chat)]
    for tab in tabs:
        assert any("Asked after this answer: And coffee?" in text for text in texts(tab))
    client.go_on.set()
    for tab in (*tabs, *tabs):
        settle(tab)
    assert [said.content for said in thread(workspace) if said.role == "user"] == [
        QUESTION,
        "And coffee?",
    ]
    assert [one.name for one in Question.from_message(thread(workspace)[2]).attachments] == [
        "coffee.txt"
    ]
    assert [one.name for one in workspace.library.documents(OWNER, f"chat:{chat}")] == [
        "coffee.txt"
    ]


def test_after_a_closed_app_what_waits_is_asked_when_the_person_says_so(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("It is", " 80 degrees [1].")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    ask(app, "And black tea?")
    client.go_on.set()
    (run,) = runs.live(OWNER)
    assert run.wait(120)
    with workspace.database.transaction():
        workspace.database.execute("update runs set state = 'interrupted' where id = ?", [run.id])
    later = open_page("chat", chat=app.query_params["chat"])
    assert any("Still to be asked: And black tea?" in text for text in texts(later))
    assert len(thread(workspace)) == 2
    settle(later.button(key=keys(later, "ask-now-")[0]).click().run())
    assert thread(workspace)[2].content == "And black tea?"
    assert not any("Still to be asked" in text for text in texts(later))


def test_how_much_of_the_steps_is_shown_belongs_to_the_chat(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    app = settle(ask(open_page("chat")))
    first = app.query_params["chat"]
    app.segmented_control(key="level-choice").set_value("everything").run()
    assert open_page("chat", chat=first).segmented_control(key="level-choice").value == "everything"
    other = open_page("chat")  # a new one is as it was chosen last
    assert other.segmented_control(key="level-choice").value == "everything"
    settle(ask(other))
    other.segmented_control(key="level-choice").set_value("answer").run()
    assert open_page("chat", chat=first).segmented_control(key="level-choice").value == "everything"


def test_a_question_that_could_not_be_asked_is_there_after_a_refresh(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    app = settle(ask(open_page("chat")))
    chat = only_chat(workspace)
    question = Question("And coffee?", "Kitchen", "answer", "no such model", chat.id)
    workspace.ledger.set(
        OWNER, chat.id, "not_asked", {**question.to_json(), "problem": "There is no such model."}
    )
    app = open_page("chat", chat=chat.id)
    assert any("Not asked: And coffee?" in text.replace("*", "") for text in texts(app))
    app.button(key="forget-question").click().run()
    assert not any("And coffee?" in text for text in texts(open_page("chat", chat=chat.id)))


def test_a_source_opens_beside_the_answer_and_outlives_its_document(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("Green tea is steeped at 80 degrees [1].")
    app = settle(ask(open_page("chat")))
    answer = thread(workspace)[-1]
    chips = app.button_group(key=f"sources-{answer.id}-0")
    assert [re.sub(r"\\(.)", r"\1", option) for option in chips.options] == [
        "[1] tea.txt, lines 1-3"
    ]
    chips.set_value(1).run()
    assert not app.exception, app.exception[0].stack_trace
    assert [button.label for button in app.download_button] == ["Download the original"]
    workspace.library.delete_documents(OWNER, [answer.extra["citations"][0]["document_id"]])
    app.run()
    assert any(text.startswith("This document was deleted.") for text in texts(app))
    assert not app.download_button
    app.button(key="close-source").click().run()
    assert not any(text.startswith("This document was deleted.") for text in texts(app))


def test_a_failed_answer_says_why_and_can_be_tried_again(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script(
        ModelAuthFailed("The server refuses the key; enter another in the settings."),
        "It is 80 degrees [1].",
    )
    app = settle(ask(open_page("chat")))
    assert any("refuses the key" in text for text in texts(app))
    app.button(key=keys(app, "again-")[0]).click().run()
    settle(app)
    assert [said.content for said in thread(workspace)] == [QUESTION, "It is 80 degrees [1]."]
    assert not any("refuses the key" in text for text in texts(app))


def test_an_answer_that_is_not_whole_says_so_also_after_a_refresh(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    cut = {"content": "It is 80 degrees [1] and then", "reply_end": "broken_off"}
    workspace.script(cut, "It is 80 degrees [1].")
    app = settle(ask(open_page("chat")))
    for shown in (app, open_page("chat", chat=app.query_params["chat"])):
        assert "It is 80 degrees" in " ".join(texts(shown))
        (warning,) = shown.warning
        assert (
            warning.value
            == "The answer is not whole: the server ended it without saying that this was all."
        )
    settle(app.button(key=keys(app, "again-")[0]).click().run())
    assert not app.warning
    assert not keys(app, "again-")


def test_an_unknown_chat_and_one_of_somebody_else_are_told_kindly(
    workspace: ScriptableWorkspace,
) -> None:
    other = workspace.ledger.create_chat("somebody else", "Secret", "answer", "offline", "Kitchen")
    for chat_id in ("no-such-chat", other.id):
        app = open_page("chat", chat=chat_id)
        assert any(f"There is no chat '{chat_id}'" in text for text in texts(app))
        app.button(key="new-chat").click().run()
        assert "chat" not in app.query_params
        assert not any("There is no chat" in text for text in texts(app))


def test_a_long_chat_shows_its_end_first(workspace: ScriptableWorkspace) -> None:
    chat = long_chat(workspace, 200)
    app = open_page("chat", chat=chat.id)
    assert len(app.chat_message) == 30
    assert "Question 99" in texts(app)
    app.button(key="earlier").click().run()
    assert len(app.chat_message) == 60


def test_files_go_along_for_this_chat_alone_or_into_the_collection(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("It is brewed cold [1].", "It is brewed cold [1].")
    app = open_page("chat")
    app.chat_input[0].upload(
        "coffee.txt", b"Cold brew coffee is brewed cold for a night.", "text/plain"
    )
    settle(ask(app, "How is cold brew coffee made?"))
    assert any("coffee.txt (for this chat only)" in text for text in texts(app))
    assert [document.name for document in workspace.library.documents(OWNER, "Kitchen")] == [
        "tea.txt"
    ]
    assert "coffee.txt" in {
        citation["document"] for citation in thread(workspace)[-1].extra["citations"]
    }
    app.toggle(key="keep-files").set_value(True).run()
    app.chat_input[0].upload("milk.txt", b"Milk is boiled.", "text/plain")
    settle(ask(app, "And milk?"))
    assert {document.name for document in workspace.library.documents(OWNER, "Kitchen")} == {
        "tea.txt",
        "milk.txt",
    }


def test_a_chat_keeps_its_collection_team_and_model(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA, "milk.txt": "Milk is boiled."})
    ingest("Garden", {"beans.txt": "Beans are sown in May."})
    app = settle(ask(open_page("chat")))
    chat = only_chat(workspace)
    assert (chat.collection, chat.team, chat.model) == ("Kitchen", "answer", "offline")
    app.selectbox(key=f"collection-{chat.id}").set_value("Garden").run()
    app.selectbox(key=f"team-{chat.id}").set_value("research").run()
    again = open_page("chat", chat=chat.id)
    assert again.selectbox(key=f"collection-{chat.id}").value == "Garden"
    assert again.selectbox(key=f"team-{chat.id}").value == "research"
    settle(ask(again, "When are beans sown, and how is soil prepared?"))
    inner = [said for said in thread(workspace) if said.extra.get("inner")]
    assert [said.sender for said in inner] == ["Researcher"]
    again.session_state[f"steps-{inner[0].run_id}"] = True  # what a click on the expander does
    again.run()
    shown = texts(again)
    assert any("Looked up “When are beans sown" in text for text in shown)
    assert any("Researcher** to Writer" in text for text in shown)


def test_a_new_chat_begins_with_the_default_team_not_that_of_the_last_one(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    ingest("Garden", {"beans.txt": "Beans are sown in May."})
    workspace.ledger.create_chat(OWNER, "Beans", "research", "offline", "Garden")
    app = open_page("chat")
    assert app.selectbox(key="team-new").value == "answer"
    assert app.selectbox(key="collection-new").value == "Garden"
    app.selectbox(key="team-new").set_value("research").run()
    settle(ask(app, "When are beans sown?"))
    assert workspace.ledger.chat(OWNER, app.query_params["chat"]).team == "research"
    app.button(key="new-chat").click().run()
    assert app.selectbox(key="team-new").value == "answer"


def test_a_question_that_a_dead_process_left_can_be_asked_again(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("It is 80 degrees [1].")
    chat = workspace.ledger.create_chat(OWNER, QUESTION, "answer", "scripted", "Kitchen")
    say(workspace, chat, "q", None, "user", QUESTION)
    app = open_page("chat", chat=chat.id)
    app.button(key="again-run-q").click().run()
    settle(app)
    assert [said.content for said in thread(workspace)] == [QUESTION, "It is 80 degrees [1]."]


def test_a_run_that_needs_a_person_asks_on_the_page(workspace: ScriptableWorkspace) -> None:
    chat = workspace.ledger.create_chat(OWNER, "Approve", "answer", "offline", "Kitchen")

    def work() -> str:
        bus.emit(MessageSent("q", None, "user", "team", "user", "Send the letter"))
        return runs.ask_human("Clerk", "Shall I send it?")

    run = runs.start(work, kind="chat", owner=OWNER, chat_id=chat.id, ledger=workspace.ledger)
    app = open_page("chat", chat=chat.id)
    for _ in range(100):
        if run.waiting_for:
            break
        run.wait(0.05)
    app.run()
    assert any("Clerk asks: Shall I send it?" in text.replace("*", "") for text in texts(app))
    assert app.chat_input[0].placeholder == "Answer Clerk"
    app.chat_input[0].set_value("Yes").run()
    assert run.wait(60)
    assert run.result() == "Yes"


def _asking(workspace: ScriptableWorkspace) -> tuple[AppTest, runs.Run[str]]:
    """A page on which a run waits for words of the person."""
    chat = workspace.ledger.create_chat(OWNER, "Approve", "answer", "offline", "Kitchen")

    def work() -> str:
        bus.emit(MessageSent("q", None, "user", "team", "user", "Send the letter"))
        return runs.ask_human("Clerk", "Shall I send it?")

    run = runs.start(work, kind="chat", owner=OWNER, chat_id=chat.id, ledger=workspace.ledger)
    app = open_page("chat", chat=chat.id)
    until_asked(app, run)
    return app, run


def test_no_answer_can_be_given(workspace: ScriptableWorkspace) -> None:
    app, run = _asking(workspace)
    press(app, "skip", run.waiting_for.request_id if run.waiting_for else "")
    assert run.wait(60)
    assert run.result() == ""


def test_an_answer_that_comes_too_late_is_kept(workspace: ScriptableWorkspace) -> None:
    app, run = _asking(workspace)
    run.answer("Yes, from another window")
    assert run.wait(60)
    app.chat_input[0].set_value("No").run()
    assert run.result() == "Yes, from another window"
    assert any("Not sent: No" in text.replace("*", "") for text in texts(app))


def test_after_a_stop_what_waits_is_asked_when_the_person_says_so(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.halting("It is", " 80 degrees [1].")
    app = ask(open_page("chat"))
    assert client.halted.wait(60)
    for later in ("And black tea?", "And white tea?"):
        ask(app, later)
    app.button(key=keys(app, "stop-")[0]).click().run()
    settle(app)
    client.go_on.set()
    settle(ask(app, "And coffee?"))  # another question lets none of them go
    settle(app)
    assert [said.content for said in thread(workspace) if said.role == "user"][1:] == [
        "And coffee?"
    ]
    assert sum("Still to be asked: " in text for text in texts(app)) == 2
    settle(app.button(key=keys(app, "ask-now-")[1]).click().run())
    settle(app)
    assert thread(workspace)[-2].content == "And white tea?"
    assert [text for text in texts(app) if "to be asked" in text] == [
        ":material/schedule: Still to be asked: And black tea?"
    ]


def test_text_of_an_answer_that_failed_stays_and_can_be_gone_on_with(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    client = workspace.breaking(
        "Green tea is steeped at 80 degrees [1]. The pot is", "80 degrees [1]."
    )
    app = settle(ask(open_page("chat")))
    for shown in (app, open_page("chat", chat=app.query_params["chat"])):
        assert any(text.startswith("Green tea is steeped at 80 degrees") for text in texts(shown))
        (error,) = shown.error
        assert error.value.startswith(
            "The answer broke off. What had been written by then is kept. "
        )
        assert "the server went away" in error.value
        assert len(keys(shown, "go-on-")) == len(keys(shown, "again-")) == 1
    client.whole = True
    settle(app.button(key=keys(app, "go-on-")[0]).click().run())
    whole = "Green tea is steeped at 80 degrees [1]. The pot 80 degrees [1]."
    assert [said.content for said in thread(workspace)] == [QUESTION, whole]
    assert not [*app.error, *keys(app, "go-on-"), *keys(app, "again-")]


def test_while_an_answer_is_gone_on_with_what_there_was_stays_on_the_page(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.breaking("Green tea is steeped at 80 degrees. ", "never said")
    app = settle(ask(open_page("chat")))
    client = workspace.halting("The pot", " is warmed first.")
    app.run()
    app.selectbox(key=f"model-{only_chat(workspace).id}").set_value("halting").run()
    app.button(key=keys(app, "go-on-")[0]).click().run()
    assert client.halted.wait(60)
    app.run()
    assert any("80 degrees. The pot" in text for text in texts(app))
    client.go_on.set()
    settle(app)
    assert (
        thread(workspace)[-1].content
        == "Green tea is steeped at 80 degrees. The pot is warmed first."
    )


def test_trying_again_keeps_the_files_that_went_along(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script(ModelAuthFailed("The server refuses the key."), "It is brewed cold [1].")
    app = open_page("chat")
    app.chat_input[0].upload(
        "coffee.txt", b"Cold brew coffee is brewed cold for a night.", "text/plain"
    )
    settle(ask(app, "How is cold brew coffee made?"))
    (document,) = workspace.library.documents(OWNER, f"chat:{only_chat(workspace).id}")
    settle(app.button(key=keys(app, "again-")[0]).click().run())
    assert any("coffee.txt (for this chat only)" in text for text in texts(app))
    assert "coffee.txt" in {
        citation["document"] for citation in thread(workspace)[-1].extra["citations"]
    }
    workspace.script(ModelAuthFailed("The server refuses the key."), "It is brewed cold [1].")
    settle(ask(app, "And for how long?"))
    workspace.library.delete_documents(OWNER, [document.id])
    settle(app.button(key=keys(app, "again-")[0]).click().run())
    assert not app.warning  # this question had no files of its own


def test_what_a_newer_version_noted_is_shown_as_such(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("It is 80 degrees [1].")
    app = settle(ask(open_page("chat")))
    run_id = thread(workspace)[0].run_id
    row = {
        "run_id": run_id,
        "seq": 1000,
        "happened_at": utc_now(),
        "kind": "DreamDreamt",
        "data": '{"of": "tea"}',
    }
    with workspace.database.transaction():
        workspace.database.insert("events", row)
        workspace.database.insert("events", {**row, "seq": 1001, "kind": "Noted", "data": "{}"})
    app.session_state[f"steps-{run_id}"] = True
    app.run()
    assert not app.exception
    shown = " ".join(texts(app))
    assert (
        "Something of a newer version of agentkit that this one cannot show: DreamDreamt" in shown
    )
    assert "that this one cannot show: Noted" in shown


def test_an_answer_without_passages_costs_no_decoding_of_its_events(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": TEA})
    workspace.script("Hello.")
    app = settle(ask(open_page("chat")))
    assert not thread(workspace)[-1].extra["citations"]
    assert decoded(app) == 0
    app.session_state[f"steps-{thread(workspace)[0].run_id}"] = True
    assert decoded(app) > 3


def decoded(app: AppTest) -> int:
    """How many events are read from JSON while the page is drawn."""
    calls = []

    def look(frame: FrameType, kind: str, _: object) -> None:
        if kind == "call" and frame.f_code is from_json.__code__:
            calls.append(1)

    threading.setprofile(look)
    try:
        app.run()
    finally:
        threading.setprofile(None)
    return len(calls)


def long_chat(
    workspace: ScriptableWorkspace, messages: int, passages: Sequence[str] = ("Green",)
) -> Chat:
    """A stored chat of so many messages, half of them answers that cite these passages."""
    chat = workspace.ledger.create_chat(OWNER, "Long", "answer", "offline", "Kitchen")
    parent = None
    for n in range(messages):
        role, text = (
            ("assistant", f"Answer {n // 2} {markers(passages)}. {'word ' * 140}")
            if n % 2
            else ("user", f"Question {n // 2}")
        )
        parent = say(workspace, chat, f"{n:03}", parent, role, text, passages)
    return chat


def markers(passages: Sequence[str]) -> str:
    """A marker for each."""
    return "".join(f"[{number}]" for number in range(1, len(passages) + 1))


def say(
    workspace: ScriptableWorkspace,
    chat: Chat,
    key: str,
    parent: str | None,
    role: str,
    text: str,
    passages: Sequence[str] = ("Green",),
) -> str:
    """Store a message, as a run of another process did; an answer cites these passages."""
    cited = [
        Citation(n, "gone", "tea.txt", n, None, "", "", 0, 5, passage, 1.0).to_json()
        for n, passage in enumerate(passages, start=1)
    ]
    extra = {} if role == "user" else {"citations": cited, "model": "offline"}
    row: dict[str, object] = {
        "id": f"{chat.id}-{key}",
        "chat_id": chat.id,
        "parent_id": parent,
        "run_id": f"run-{key}",
    }
    row |= {"sender": role, "recipient": "", "role": role, "content": text, "status": "complete"}
    row |= {"extra": json.dumps(extra), "created_at": utc_now()}
    with workspace.database.transaction():
        workspace.database.insert("messages", row)
        workspace.database.execute(
            "update chats set head_id = ? where id = ?", [row["id"], chat.id]
        )
    return str(row["id"])
