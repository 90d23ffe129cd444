"""Long chats on the chat page: what was shortened and which limits were told stands among the
steps, in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.errors import ModelAuthFailed
from agentkit.events import Compressed, LimitTold, ModelReplied, Recorded
from agentkit.ledger import Chat
from agentkit.ledger.store import utc_now
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import new_id
from agentkit.runs import Run
from agentkit.ui.steps.draw import describe
from agentkit.ui.steps.turns import steps
from agentkit.ui.text.figures import short
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle

Ingest = Callable[[str, dict[str, str]], None]


def taking_notes(workspace: ScriptableWorkspace, summary: str | Exception) -> None:
    """Add a model of a small window that summarises like this."""

    def reply(params: Mapping[str, Any]) -> str | Exception:
        return (
            summary
            if "You shorten conversations." in params["messages"][0]["content"]
            else "It was the kettle."
        )

    workspace.added.insert(0, replace(scripted_model(reply), context_window=3_000))


def stored_chat(workspace: ScriptableWorkspace, topic: str) -> Chat:
    """A stored chat with the assistant of 60 questions and answers."""
    chat = workspace.ledger.create_chat(OWNER, "Long", "assistant", "scripted", "Kitchen")
    parent = None
    with workspace.database.transaction():
        for number in range(120):
            role, text = (
                ("assistant", f"The {topic} no. {number} is made of copper [1].")
                if number % 2
                else ("user", f"{topic}?")
            )
            row: dict[str, object] = {
                "id": new_id(),
                "chat_id": chat.id,
                "parent_id": parent,
                "run_id": f"run-{number // 2}",
                "sender": role,
            }
            row |= {
                "recipient": "",
                "role": role,
                "content": text,
                "status": "complete",
                "extra": "{}",
                "created_at": utc_now(),
            }
            workspace.database.insert("messages", row)
            parent = row["id"]
        workspace.database.execute("update chats set head_id = ? where id = ?", [parent, chat.id])
    return chat


def asked(app: AppTest, chat: Chat, question: str) -> Run[Any]:
    """Ask on the page, and unfold the steps of the answer."""
    before = set(runs._registry)
    app.chat_input[0].set_value(question).run()
    settle(app)
    (run,) = [
        run for run in runs._registry.values() if run.chat_id == chat.id and run.id not in before
    ]
    app.session_state[f"steps-{run.id}"] = True  # what a click on the expander does
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return run


def labels(app: AppTest) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", expander.label) for expander in app.expander]


def test_a_shortened_chat_is_a_step_with_its_summary_and_the_next_question_takes_no_other(
    kitchen: ScriptableWorkspace,
) -> None:
    taking_notes(kitchen, "##USER## asked about pots.")
    chat = stored_chat(kitchen, "pot")
    app = open_page("chat", chat=chat.id)
    first = asked(app, chat, "What was the first?")
    (event,) = [one.event for one in first.events() if isinstance(one.event, Compressed)]
    line = (
        f":material/compress: Shortened the chat: 120 messages to {event.messages_after}, about"
        f" {event.tokens_before:,} to {event.tokens_after:,} tokens; {event.tokens_spent:,} tokens"
        " spent"
    )
    assert line in labels(app)
    assert any("##USER## asked about pots." in block.value for block in app.code)
    assert any("It was the kettle." in text.value for text in app.markdown)
    app.segmented_control(key="level-choice").set_value("answer").run()
    assert line not in labels(app)
    second = asked(app, chat, "And the last?")
    assert {one.event.agent for one in second.events() if isinstance(one.event, ModelReplied)} == {
        "Assistant"
    }


def test_a_summary_that_fails_is_told_with_its_reason(kitchen: ScriptableWorkspace) -> None:
    taking_notes(kitchen, ModelAuthFailed("the key costs $5 too much"))
    chat = stored_chat(kitchen, "pan")
    app = open_page("chat", chat=chat.id)
    asked(app, chat, "What was the first?")
    assert any(
        caption.value == r":material/error: The chat was not shortened: the key costs \$5 too much"
        for caption in app.caption
    )
    assert any(
        label.startswith(":material/compress: Shortened the chat: 120 messages to ")
        for label in labels(app)
    )


def test_a_limit_that_is_nearly_used_up_is_told_among_the_steps(
    kitchen: ScriptableWorkspace,
) -> None:
    taking_notes(kitchen, "##USER## asked about lids.")
    free = kitchen.ask(
        OWNER, "What was the first?", collection="Kitchen", team_id="assistant", model_id="scripted"
    )
    free.wait(120)
    (needed,) = [
        one.event.usage.total
        for one in free.events()
        if isinstance(one.event, ModelReplied) and one.event.purpose == "chat"
    ]
    kitchen.settings = replace(kitchen.settings, run_tokens=needed + 10)
    chat = kitchen.ledger.create_chat(OWNER, "Short", "assistant", "scripted", "Kitchen")
    app = open_page("chat", chat=chat.id)
    run = asked(app, chat, "What was the first?")
    (told,) = [one.event for one in run.events() if isinstance(one.event, LimitTold)]
    assert not told.reached
    shown = [re.sub(r"\\(.)", r"\1", caption.value) for caption in app.caption]
    limit, used = f"{needed + 10:,} tokens", f"{told.used:,} tokens"
    line = (
        f"The run has nearly used up the limit of {limit}: {used} with the call that is made now."
    )
    assert f":material/data_usage: {line}" in shown


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            Compressed("a", "s", True, 84, 12, 12_300, 3_100, 310),
            (
                ":material/compress: Shortened the chat: 84 messages to 12, 12,300 to 3,100 tokens;"
                " 310 tokens spent"
            ),
        ),
        (
            Compressed("a", "s", True, 2, 1, 90, 1, estimated=True),
            ":material/compress: Shortened the chat: 2 messages to 1, about 90 to 1 token",
        ),
        (
            Compressed("a", "s", False, 84, 84, 12_300, 12_300, 1, error="no room"),
            ":material/error: The chat was not shortened: no room; 1 token spent",
        ),
        (
            LimitTold("a", "chat", "tokens", 12_000, 10_000, True),
            r":material/block: The limit of 10,000 tokens was reached\: with the next call of a,"
            r" the chat would take at least "
            r"12,000 tokens\.",
        ),
    ],
)
def test_the_lines_in_words(event: Compressed | LimitTold, line: str) -> None:
    (step,) = steps([Recorded(1, 0.0, event)])
    assert describe(step) == line


def test_the_meter_tells_what_a_chat_takes_and_a_turn_is_brought_back(
    kitchen: ScriptableWorkspace,
) -> None:
    taking_notes(kitchen, "##USER## asked about jugs.")
    chat = stored_chat(kitchen, "jug")
    app = open_page("chat", chat=chat.id)
    assert not _meters(app), "no model was asked so far"
    run = asked(app, chat, "What was the first?")
    app.session_state["context"] = True  # the meter is unfolded
    app.run()
    (event,) = [one.event for one in run.events() if isinstance(one.event, Compressed)]
    calls = [one.event for one in run.events() if isinstance(one.event, ModelReplied)]
    took = max(call.usage.prompt for call in calls if call.agent == "Assistant")
    covered = 120 - (event.messages_after - 2)
    turns = app.multiselect(key="whole-choice").options
    assert turns == ["jug?"] * len(turns)
    assert _meters(app) == [
        f"{short(took)} of 3.0k tokens, {len(turns)} turns shortened,"
        f" {short(event.tokens_before - event.tokens_after)} saved"
    ]
    assert covered // 2 - 1 <= len(turns) <= covered // 2
    ids = [said.id for said in kitchen.ledger.thread(OWNER, chat.id)]
    app.multiselect(key="whole-choice").set_value([ids[2]]).run()
    assert not app.exception
    asked(app, chat, "And now?")
    app.session_state["context"] = True
    app.run()
    client: Any = kitchen.added[0].client
    sent = [str(each["content"]) for each in client.requests[-1]["messages"]]
    assert "The jug no. 3 is made of copper ." in sent
    assert "The jug no. 5 is made of copper ." not in sent
    assert app.multiselect(key="whole-choice").value == [ids[2]], "and so from then on"


def _meters(app: AppTest) -> list[str]:
    """What stands on the meter under the composer."""
    found = [block.proto.popover.label for block in _blocks(app) if block.type == "popover"]
    return [label for label in found if "tokens" in label and "·" not in label]


def _blocks(app: AppTest) -> Iterator[Any]:
    def walk(block: Any) -> Iterator[Any]:
        for child in getattr(block, "children", {}).values():
            yield child
            yield from walk(child)

    return walk(app._tree)
