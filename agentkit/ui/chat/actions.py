"""The row under each turn of a chat: copy, thumbs, other versions, what it took, and a menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from agentkit import runs
from agentkit.core.text import shorten
from agentkit.errors import NotFound
from agentkit.ledger import Chat
from agentkit.ledger.feedback import Rating, Thumb, find_ratings, rate
from agentkit.ledger.tree import Tree, choose_head, read_stamp, read_tree
from agentkit.ui.chat import stored
from agentkit.ui.composer import forecast
from agentkit.ui.exports import as_markdown
from agentkit.ui.shared import components, dialogs, state
from agentkit.ui.steps.flow import list_spent
from agentkit.ui.steps.turns import Turn
from agentkit.ui.text import figures, markdown

EDIT, AGAIN, COMPARE = "Edit and resend", "Answer again", "Compare versions"
GO_ON, TO_SET, DELETE = "Go on from here", "Add to a question set", "Delete"
_ICONS = {
    EDIT: ":material/edit:",
    AGAIN: ":material/refresh:",
    COMPARE: ":material/compare:",
    GO_ON: ":material/fork_right:",
    TO_SET: ":material/quiz:",
    DELETE: ":material/delete:",
}
_OLDER = ("older", "Earlier version", ":material/chevron_left:")
_NEWER = ("newer", "Later version", ":material/chevron_right:")
_THUMBS: Sequence[Thumb] = ("down", "up")
"""As `st.feedback` numbers them."""
_TREE = "tree-of-chat"
_TITLE, _COMMENT = 60, 40  # characters that are shown of a question, and of a comment
_LONGEST_COMMENT = 2_000
BUSY = "The chat is answering: stop it, or wait until it has ended."


@dataclass(frozen=True, slots=True)
class Rows:
    """What the rows of a chat tell, looked up for all of them together."""

    chat: Chat
    tree: Tree
    took: Mapping[str, stored.Took]
    ratings: Mapping[str, Rating]
    models: Mapping[str, str]
    """What models are called, by their ids."""
    is_busy: bool
    """Whether the chat is answering."""


def read_rows(chat: Chat, shown: Sequence[Turn], *, is_busy: bool) -> Rows:
    """What the rows of these turns tell."""
    ledger, owner = state.workspace().ledger, state.owner()
    answers = [turn.answer.id for turn in shown if turn.answer]
    return Rows(
        chat,
        _find_tree(chat),
        stored.read_totals(answers),
        find_ratings(ledger, owner, answers),
        {model.id: model.label for model in state.workspace().models()},
        is_busy,
    )


def _find_tree(chat: Chat) -> Tree:
    """The tree of the chat; read once in a session as long as it does not change."""
    ledger = state.workspace().ledger
    stamp = chat.id, read_stamp(ledger, chat.id)
    known: tuple[object, Tree] | None = st.session_state.get(_TREE)
    if known is None or known[0] != stamp:
        known = st.session_state[_TREE] = (stamp, read_tree(ledger, state.owner(), chat.id))
    return known[1]


def draw_row(turn: Turn, rows: Rows, *, is_last: bool) -> None:
    """What can be done with a turn, and what it took."""
    with st.container(
        key=f"actions-{turn.run_id}",
        horizontal=True,
        vertical_alignment="center",
        gap="xsmall",
    ):
        if turn.answer and turn.answer.content:
            components.copy_button(_write_copy(turn), f"copy-{turn.answer.id}")
            _draw_thumbs(rows, turn.answer.id)
        if turn.question:
            beside = rows.tree.siblings(turn.question.id)
            _draw_menu(turn, turn.question.id, _list_actions(turn, beside, is_last=is_last))
            _draw_versions(rows, turn.question.id, beside)
        _draw_took(turn, rows)
        stored.draw_way(turn.answer or turn.question)


def draw_rest(chat: Chat, tree: Tree) -> None:
    """Where a chat goes on before its end, what comes later and the way back there."""
    head = chat.head_id or ""
    later = tree.count_later(head)
    if not later:
        return
    with st.container(key="later", horizontal=True, vertical_alignment="center"):
        kept = figures.count(later, "later question")
        st.caption(f":material/fork_right: The next question goes on from here. {kept} kept.")
        st.button(
            "Back to them",
            key="back-to-later",
            type="tertiary",
            icon=":material/undo:",
            on_click=_go_to_newest,
            args=(chat.id, head),
        )


def is_answering(chat_id: str) -> bool:
    """Whether the chat is answering; if so the person is told that they have to wait."""
    going_on = bool(runs.live(state.owner(), chat_id=chat_id))
    if going_on:
        st.toast(BUSY)
    return going_on


def _write_copy(turn: Turn) -> str:
    """The answer as Markdown, its sources as footnotes."""
    return as_markdown.write_answer(turn.answer.content if turn.answer else "", turn.citations)


def _list_actions(turn: Turn, beside: Sequence[str], *, is_last: bool) -> list[str]:
    """What the menu of a turn offers; cells that were only run again have no words to edit."""
    asks = bool(turn.asked.text)
    offered = {
        EDIT: asks,
        AGAIN: asks,
        COMPARE: len(beside) > 1,
        GO_ON: not is_last,
        TO_SET: asks,
        DELETE: True,
    }
    return [action for action, is_offered in offered.items() if is_offered]


def _draw_menu(turn: Turn, question_id: str, actions: Sequence[str]) -> None:
    key = f"more-{turn.run_id}"

    def choose() -> None:
        action = st.session_state[key]
        if action == GO_ON:
            _go_on(turn)
        else:
            dialogs.ask(action, question_id)

    about = markdown.literal(shorten(turn.asked.text, _TITLE))
    st.menu_button(
        f"More for this turn: {about}",  # seen by screen readers only
        actions,
        format_func=lambda action: f"{_ICONS[action]} {action}",
        key=key,
        type="tertiary",
        icon=":material/more_horiz:",
        on_click=choose,
    )


def _go_on(turn: Turn) -> None:
    last = turn.question
    for said in (*turn.inner, turn.answer):
        last = said or last
    chat_id = st.query_params.get("chat", "")
    if last and not is_answering(chat_id):
        _try(partial(_choose, chat_id, last.id))


def _draw_versions(rows: Rows, question_id: str, beside: Sequence[str]) -> None:
    """`‹ 2/3 ›`, where a question was asked in several ways or answered several times."""
    if len(beside) < 2:
        return
    at, first = beside.index(question_id), beside[0]
    with st.container(horizontal=True, gap=None, width="content", vertical_alignment="center"):
        _draw_way(rows, _OLDER, first, beside[:at][-1:])
        st.caption(f"{at + 1}/{len(beside)}", width="content")
        _draw_way(rows, _NEWER, first, beside[at + 1 :][:1])


def _draw_way(rows: Rows, way: tuple[str, str, str], first: str, to: Sequence[str]) -> None:
    """A button to the version beside this one; it has the same key in all of them."""
    name, label, icon = way
    st.button(
        label,  # seen by screen readers only
        key=f"{name}-{first}",
        type="tertiary",
        icon=icon,
        disabled=rows.is_busy or not to,
        on_click=_go_to_newest,
        args=(rows.chat.id, *to),
    )


def _go_to_newest(chat_id: str, message_id: str) -> None:
    """Show the newest branch through a message."""
    if is_answering(chat_id):
        return
    tree = read_tree(state.workspace().ledger, state.owner(), chat_id)
    _try(lambda: _choose(chat_id, tree.newest_end(message_id)))


def _choose(chat_id: str, message_id: str) -> None:
    choose_head(state.workspace().ledger, state.owner(), chat_id, message_id)


def _try(step: Callable[[], None]) -> None:
    """Do it; what is not there any more is told."""
    try:
        step()
    except NotFound as error:
        st.toast(markdown.literal(str(error)))


def _draw_thumbs(rows: Rows, answer_id: str) -> None:
    key, rating = f"thumbs-{answer_id}", rows.ratings.get(answer_id)
    st.session_state[key] = _THUMBS.index(rating.value) if rating else None
    st.feedback("thumbs", key=key, on_change=_rate, args=(answer_id, key, rating))
    if rating:
        _draw_comment(rating)


def _rate(answer_id: str, key: str, before: Rating | None) -> None:
    chosen = st.session_state[key]
    value = None if chosen is None else _THUMBS[chosen]
    taken_back = f"comment-before-{answer_id}"
    if before and value is None:  # the comment comes back with the next thumb
        st.session_state[taken_back] = before.comment
    comment = before.comment if before else st.session_state.get(taken_back, "")
    _keep(answer_id, value, comment)


def _draw_comment(rating: Rating) -> None:
    """The comment to a rating, to unfold and to write."""
    key = f"comment-{rating.message_id}"
    shown = markdown.literal(shorten(rating.comment, _COMMENT)) or "Add a comment"
    # One that is new is closed. One that the app could close would open again at times, when it is
    # closed in the moment in which the answer to its opening comes.
    opened = st.popover(shown, type="tertiary", key=f"{key}--{_times_kept(rating)}")
    with opened, st.form(f"form-{key}", border=False):  # there also when closed: it keeps its text
        written = f"text-{key}"
        st.text_area(
            "What was right or wrong?",
            value=rating.comment,
            max_chars=_LONGEST_COMMENT,
            key=written,
        )
        icon = ":material/save:"
        st.form_submit_button("Save", icon=icon, on_click=_comment, args=(rating, written))


def _comment(rating: Rating, written: str) -> None:
    _keep(rating.message_id, rating.value, st.session_state[written].strip())
    st.session_state[_kept(rating)] = _times_kept(rating) + 1


def _times_kept(rating: Rating) -> int:
    times: int = st.session_state.get(_kept(rating), 0)
    return times


def _kept(rating: Rating) -> str:
    return f"comment-kept-{rating.message_id}"


def _keep(answer_id: str, value: Thumb | None, comment: str) -> None:
    _try(lambda: rate(state.workspace().ledger, state.owner(), answer_id, value, comment))


def _draw_took(turn: Turn, rows: Rows) -> None:
    """What the answer took, the whole of it to unfold."""
    if turn.answer is None:
        return
    took = rows.took.get(turn.answer.id, stored.NOTHING)
    whole, model = took.whole, rows.models.get(turn.answer.extra.get("model", ""), "")
    if whole.prompt_tokens + whole.completion_tokens:
        label = markdown.literal(figures.briefly(whole, model))
        with st.popover(label, type="tertiary", key=f"took-{turn.answer.id}"):
            told = filter(None, [*figures.took(whole, model), _compare(turn, took)])
            st.markdown("  \n".join(map(markdown.literal, told)))
            if len(took.by_agent.keys() - {""}) > 1:
                st.markdown(list_spent(took.by_agent))


def _compare(turn: Turn, took: stored.Took) -> str:
    """What the answer was expected to take, and took."""
    if turn.question:
        return forecast.compare(turn.question.extra, took.whole)
    return ""
