"""The dialogs in which a chat branches: edit a question, answer it again, keep it for measuring,
delete it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from agentkit import runs
from agentkit.core.given import find_first
from agentkit.errors import AgentkitError, NotFound
from agentkit.ledger.feedback import find_ratings
from agentkit.ledger.tree import delete_branch
from agentkit.retrieval.store.questions import Question as Measured
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.teams import Question
from agentkit.ui.chat.actions import (
    AGAIN,
    BUSY,
    COMPARE,
    DELETE,
    EDIT,
    TO_SET,
    Rows,
)
from agentkit.ui.composer import composer
from agentkit.ui.shared import dialogs, state
from agentkit.ui.steps.turns import Turn
from agentkit.ui.text import figures, markdown

_TEXT_HEIGHT = 200
_TOLD = "told-by-dialog"
"""What a dialog has done, told when the page is drawn anew: a toast of its own would go with it."""
_EDITED = "edited-turn"
_NEW_SET = "A new set"
_WAITS = "The chat is answering: this is asked after that answer."
_AS_THEN = (
    "It is asked with the instructions and model parameters that it had then; those of the chat are"
    " others now."
)
_GONE = "That turn is no longer in the chat; it may have been deleted in another tab."


def draw_dialog(chosen: Question, turns: Sequence[Turn], rows: Rows) -> None:
    """The dialog that was chosen in the menu of one of these turns, if any; `chosen` is whom the
    chat asks next.
    """
    if told := st.session_state.pop(_TOLD, ""):
        st.toast(told)
    action, subject = dialogs.read_open()
    dialogs_of: dict[object, Callable[[Turn, Rows], None]] = {
        EDIT: partial(_edit, chosen),
        AGAIN: partial(_answer_again, chosen),
        COMPARE: _compare,
        TO_SET: _add_to_set,
        DELETE: _delete,
    }
    draw = dialogs_of.get(action)
    if draw is None:
        return
    turn = find_first(turns, lambda one: one.question and one.question.id == subject)
    if action == EDIT:  # what was typed would go with the dialog: sending tells that the turn has
        turn = _remember(turn, (rows.chat.id, subject))
    if turn is None:
        dialogs.close()
        st.toast(_GONE)
        return
    draw(turn, rows)


def _remember(turn: Turn | None, asked: tuple[str, str]) -> Turn | None:
    """The turn, or as it was when it was last there; `asked` is its chat and its question."""
    if turn:
        st.session_state[_EDITED] = (asked, turn)
    known_by, known = st.session_state.get(_EDITED, (None, None))
    return known if known_by == asked else None


def _compare(turn: Turn, rows: Rows) -> None:
    from agentkit.ui.chat import comparing

    comparing.draw_comparison(rows, turn.question.id if turn.question else "")


@dialogs.dialog(EDIT, width="medium")
def _edit(chosen: Question, turn: Turn, rows: Rows) -> None:
    with st.form("edit-question", border=False):
        key = f"edited-{turn.run_id}"
        st.text_area("Question", value=turn.asked.text, key=key, height=_TEXT_HEIGHT)
        asks = _draw_whom(chosen, turn, rows)
        told = "The question as it was stays beside this one, with all after it."
        _draw_consequence(told, chosen, turn, rows)
        sent = st.form_submit_button("Send", type="primary", icon=":material/send:")
    if sent and not st.session_state[key].strip():
        st.error("The question is empty; type what you want to know.")
    elif sent:
        _send(turn, rows, asks, st.session_state[key].strip())


@dialogs.dialog(AGAIN, width="medium")
def _answer_again(chosen: Question, turn: Turn, rows: Rows) -> None:
    with st.form("answer-again", border=False):
        st.markdown(f"**{markdown.literal(turn.asked.text[:300])}**")
        asks = _draw_whom(chosen, turn, rows)
        told = f"This answer stays beside the new one; *{COMPARE}* shows both."
        _draw_consequence(told, chosen, turn, rows)
        sent = st.form_submit_button(AGAIN, type="primary", icon=":material/refresh:")
    if sent:
        _send(turn, rows, asks, turn.asked.text)


def _draw_consequence(told: str, chosen: Question, turn: Turn, rows: Rows) -> None:
    st.caption(f"{told} Files and documents are the same.")
    then, now = turn.asked, chosen
    if (then.instructions, then.parameters) != (now.instructions, now.parameters):
        st.caption(_AS_THEN)
    if rows.is_busy:
        st.info(_WAITS, icon=":material/schedule:")


def _draw_whom(chosen: Question, turn: Turn, rows: Rows) -> tuple[str, str]:
    """The team and the model to ask, at first those of the turn, where they are still there."""
    asked = state.find_team(turn.asked.team_id) or state.team(chosen.team_id)
    there = [*state.workspace().teams(state.owner()), asked]  # a version need not be the newest
    known, before = {one.id: one.title for one in there}, asked.id
    models = dict(rows.models)
    named = turn.asked.model_id or str(turn.extra.get("model", ""))
    model = named if named in models else chosen.model_id
    left, right = st.columns(2)
    team_id = left.selectbox(
        "Team",
        list(known),
        index=list(known).index(before),
        format_func=known.__getitem__,
        key=f"whom-team-{turn.run_id}",
    )
    model_id = right.selectbox(
        "Model",
        list(models),
        index=list(models).index(model),
        format_func=models.__getitem__,
        key=f"whom-model-{turn.run_id}",
    )
    return team_id, model_id


def _send(turn: Turn, rows: Rows, asks: tuple[str, str], text: str) -> None:
    """Ask it beside the question of the turn; while the chat answers, after that."""
    team_id, model_id = asks
    again = turn.question.id if turn.question else ""
    question = Question(
        text,
        rows.chat.collection,
        team_id,
        model_id,
        chat_id=rows.chat.id,
        again=again,
    )
    dialogs.close()
    composer.send(question)
    st.rerun()


@dialogs.dialog("Add to a question set", width="medium")
def _add_to_set(turn: Turn, rows: Rows) -> None:
    questions, owner = state.workspace().library.questions, state.owner()
    sets = {one.id: one for one in questions.sets(owner)}
    cited = list(dict.fromkeys(str(one["document"]) for one in turn.citations))
    st.caption("The retrieval lab measures with it how well searches find these documents.")
    with st.form("add-to-set", border=False):
        chosen = st.selectbox(
            "Question set",
            [*sets, ""],
            format_func=lambda set_id: sets[set_id].name if set_id else _NEW_SET,
            key="to-set",
        )
        name = st.text_input("Name of a new set", max_chars=120, key="to-set-name")
        text = st.text_area("Question", value=turn.asked.text, key=f"to-set-text-{turn.run_id}")
        expected = st.multiselect(
            "Documents that answer it",
            cited,
            default=cited,
            accept_new_options=True,
            key=f"to-set-documents-{turn.run_id}",
        )
        sent = st.form_submit_button("Add", type="primary", icon=":material/library_add:")
    if not sent:
        return
    try:
        measured = Measured(text, dict.fromkeys(map(str, expected), 1))
        into = _keep_measured(sets.get(chosen), name, rows.chat.collection, measured)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    dialogs.close()
    st.session_state[_TOLD] = f"Added to {markdown.literal(into)}; the retrieval lab has it."
    st.rerun()


def _keep_measured(known: QuestionSet | None, name: str, collection: str, one: Measured) -> str:
    """Put the question into the set, a new one if `known` is None, in place of the same question in
    it; gives the set's name.
    """
    questions, owner = state.workspace().library.questions, state.owner()
    if known is None:
        return questions.create(owner, name, collection, [one]).name
    others = [each for each in questions.questions(owner, known.id) if each.text != one.text]
    return questions.replace_questions(owner, known.id, [*others, one]).name


@dialogs.dialog("Delete this turn?")
def _delete(turn: Turn, rows: Rows) -> None:
    question_id = turn.question.id if turn.question else ""
    st.markdown(_describe_loss(turn, rows, question_id))
    if not dialogs.confirm("delete-branch", "Delete"):
        return
    if runs.live(state.owner(), chat_id=rows.chat.id):
        st.error(BUSY, icon=":material/error:")
        return
    dialogs.close()
    try:
        delete_branch(state.workspace().ledger, state.owner(), rows.chat.id, question_id)
    except NotFound as error:
        st.session_state[_TOLD] = markdown.literal(str(error))
    st.rerun()


def _describe_loss(turn: Turn, rows: Rows, question_id: str) -> str:
    """What goes with a turn, and what stays."""
    count = rows.tree.count_questions(question_id)
    beside = len(rows.tree.siblings(question_id)) - 1
    goes = "**1 question and its answer** go."
    if count > 1:
        every = figures.count(count, "question")
        goes = f"**{every} and their answers** go: this one, and what was asked after it."
    told = [goes]
    if beside:
        told.append(
            f"{figures.count(beside, 'other version')} of this question can still be shown."
        )
    told += _describe_ratings([node.id for node in rows.tree.below(question_id)])
    if turn.asked.attachments:
        told.append("Files that were attached stay in the chat.")
    told.append("What calls cost stays on the Usage page. This cannot be undone.")
    return " ".join(told)


def _describe_ratings(message_ids: Sequence[str]) -> list[str]:
    """What goes of the thumbs of these messages, if there are any."""
    found = find_ratings(state.workspace().ledger, state.owner(), message_ids).values()
    if not found:
        return []
    thumbs, comments = figures.count(len(found), "thumb"), sum(bool(one.comment) for one in found)
    if comments:
        thumbs += f" with {figures.count(comments, 'comment')}"
    return [f"{thumbs} of yours {'goes' if len(found) == 1 else 'go'} too."]
