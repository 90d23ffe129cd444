"""The body of a chat: its turns, the one that is being answered, and what can be done about one
that failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import find_first, pick_kind
from agentkit.errors import AgentkitError
from agentkit.events import DocumentDone, HumanInputRequested, MessageSent, events_of
from agentkit.ledger import Chat, StoredMessage, queries
from agentkit.reasons import end_from_json
from agentkit.runs import Run
from agentkit.teams import Question, Team
from agentkit.ui.chat import (
    actions,
    branches,
    budgets,
    doubts,
    evidence,
    followups,
    kernel,
    live,
    source,
    stored,
)
from agentkit.ui.composer import choices, composer, requests, settings
from agentkit.ui.shared import components, state
from agentkit.ui.steps import again as repeating
from agentkit.ui.steps import cells, draw, wording
from agentkit.ui.steps.turns import Turn, last_turns, read_turns
from agentkit.ui.text import figures, markdown
from agentkit.workspace.resuming import find_broken_off

if TYPE_CHECKING:
    from agentkit.teams.extraction import Table

_KEPT = "What had been written by then is kept."
SHOWN = 30  # messages; more come with "Earlier messages"
_WARM = "$x$ :+1:\n\n```python\nx\n```"
"""What the browser has the programs for only once it has been drawn: formulas, emoji, coloured
code.
"""
SESSION = "chat-session"
"""Where the session of a browser holds that of the open chat."""
_SETTINGS_HELP = frozenset(
    {"ModelUnreachable", "ModelAuthFailed", "ModelNotFound", "ConfigError", "RateLimited"}
)


def current_chat() -> Chat | None:
    """The chat in the page's address, None for a new one; raises NotFound for one that is not
    there.
    """
    chat_id = st.query_params.get("chat")
    if chat_id:
        return state.workspace().ledger.chat(state.owner(), chat_id)
    return None


def live_run(chat: Chat) -> Run[Any] | None:
    """The run that is answering in this chat, or that waits for the person since before a start."""
    state.workspace().wait_on(state.owner(), chat.id)
    run = next(iter(runs.live(state.owner(), chat_id=chat.id)), None)
    if run:
        for _ in range(100):
            # a run says the question first: wait that moment, then it is drawn in its place from
            # the start
            if any(_messages(run)) or run.wait(0.01):
                break
    return run


def _messages(run: Run[Any]) -> Iterator[MessageSent]:
    """What was said in the run so far."""
    return iter(pick_kind(events_of(run.events()), MessageSent))


def draw_chat(
    chat: Chat, chosen: Question, run: Run[Any] | None, asked: HumanInputRequested | None
) -> None:
    """The turns of a chat, the last ones first to be shown, and the live one.

    `asked` is what the composer answers: the page is drawn anew when the run asks something else.
    """
    # Its agents and their histories stay as long as somebody has the chat open.
    st.session_state[SESSION] = state.workspace().sessions.open(state.owner(), chat.id)
    turns = read_turns(_read_thread(chat, run))
    shown = last_turns(turns, st.session_state.get(f"shown-{chat.id}", SHOWN))
    hidden = len(turns) - len(shown)
    _draw_head(chat, chosen, _first_words(shown, run))
    if hidden:
        st.button(
            f"Earlier messages ({figures.count(hidden, 'question')})",
            key="earlier",
            icon=":material/expand_less:",
            type="tertiary",
            on_click=_show_more,
            args=(chat.id,),
        )
    rows = actions.read_rows(chat, shown, is_busy=run is not None)
    stored.count_passages(shown)
    kernel.cells_of(turns)
    for turn in shown:
        with st.container(key=f"turn-{turn.run_id}"):
            again = chosen if turn is shown[-1] and run is None else None
            _draw_stored(turn, rows, again, is_last=turn is turns[-1])
    if run:
        live.draw_live(run, _find_team(chat, run), asked)
    else:
        if turns:
            budgets.draw_warnings(chat.id)
            followups.draw_followups(chat, turns[-1])
        kernel.draw_kernel(chat, turns)
        actions.draw_rest(chat, rows.tree)
    branches.draw_dialog(chosen, turns, rows)


def _read_thread(chat: Chat, run: Run[Any] | None) -> list[StoredMessage]:
    """The branch that is shown; while a run answers, what comes before its question."""
    ledger, owner = state.workspace().ledger, state.owner()
    asks = next(_messages(run), None) if run else None
    if asks is None:
        return ledger.thread(owner, chat.id)
    if asks.parent_id:
        return ledger.thread(owner, chat.id, asks.parent_id)
    return []


def _find_team(chat: Chat, run: Run[Any]) -> Team:
    """The team at work, which need not be the one that the chat asks next."""
    asks = next(_messages(run), None)
    team_id = Question.from_message(asks, chat.team).team_id if asks else chat.team
    return choices.find_at_work(team_id)


def warm_up() -> None:
    """Let the browser load, out of sight, what it draws answers and their sources with.

    Else it would take the first answer with a formula or with code off the page while it loads.
    """
    with st.container(key="warm-up"):
        st.markdown(_WARM)
        st.pills("Sources", ["1"], key="warm-sources", disabled=True)
        st.feedback("thumbs", key="warm-thumbs", disabled=True)
        st.menu_button("More", ["More"], key="warm-more", disabled=True)
        st.page_link(state.PAGES / "runs.py", label="Warm up", disabled=True)


def _first_words(shown: Sequence[Turn], run: Run[Any] | None) -> str:
    """What the first question on the page says; empty when there is none."""
    if not shown:
        said = _messages(run) if run else []
        return next((message.content for message in said), "")
    first = shown[0].question
    if first is None:
        return ""
    return first.content


def _draw_head(chat: Chat, chosen: Question, first: str) -> None:
    """The title, and whom the chat asks; for screen readers alone where the first question says the
    same in full.
    """
    is_said = " ".join(first.split()).startswith(chat.title.removesuffix("…"))
    with st.container(key="head-unseen" if is_said else "head"):
        asks = (
            f"{markdown.literal(state.team(chosen.team_id).title)}, over"
            f" {markdown.literal(chosen.collection)}"
        )
        state.page_head(markdown.literal(chat.title), asks)


def draw_head_of_none() -> None:
    """The title where no chat is open, at the place of a chat's title: there is never both."""
    st.empty()
    with st.container(key="head"):
        state.page_head(
            "Chat", "Ask your documents. Every answer cites its sources and shows what it took."
        )


def speak(chat: Chat | None, run: Run[Any] | None) -> None:
    """Tell a screen reader what goes on in the chat, and the answer once it is there."""
    request = run.waiting_for if run else None
    doing = "Answering" if run else ""
    state_now = doing
    if request:
        state_now = f"{wording.DOING['asks']}: {requests.in_plain(request)}"
    chat_id = chat.id if chat else ""
    components.speak_state(
        chat_id, state_now, "The answer has ended.", begun=composer.has_begun(chat_id)
    )


def draw_unknown(problem: str) -> None:
    """Instead of a chat that is not there."""
    st.markdown(f":material/search_off: {markdown.literal(problem)}")


def _show_more(chat_id: str) -> None:
    key = f"shown-{chat_id}"
    st.session_state[key] = st.session_state.get(key, SHOWN) + SHOWN


def _draw_stored(turn: Turn, rows: actions.Rows, again: Question | None, *, is_last: bool) -> None:
    answered = turn.answer
    took, cited = stored.NOTHING, None
    if answered:
        took = rows.took.get(answered.id, stored.NOTHING)
        marker = source.find_open(answered.id)
        cited = find_first(turn.citations, lambda citation: citation["marker"] == marker)

    def answer() -> None:
        _draw_unread(turn)
        lost = turn.status != "complete" and bool(turn.inner)
        stored.draw_steps(turn, took, unfolded=again is not None and lost)
        repeating.draw_problem(turn.run_id)
        if turn.thought:
            draw.draw_thinking(turn.thought)
        ran = cells.to_cells(kernel.cells_of([turn]))  # looked up for all of them before
        cells.draw_results(ran, turn.run_id)
        cells.draw_again(turn.question, ran)
        _draw_result(turn, again)
        actions.draw_row(turn, rows, is_last=is_last)
        if again:
            _draw_ways_on(turn, rows, again)

    with (
        st.container()
    ):  # as a live turn has it, whose place it takes: else the text goes for a frame
        draw.draw_turn(turn, answer)
    if answered and cited:  # after its answer also for the keyboard; the style puts it beside it
        nth = source.occurrence(answered.id)
        doubted = doubts.of_marker(turn.checks, cited["marker"], nth)
        source.draw_source(answered.id, cited, answered.content, doubted)


def _draw_ways_on(turn: Turn, rows: actions.Rows, again: Question) -> None:
    """How an answer that is not whole is gone on with."""
    if budgets.is_stopped(turn):
        budgets.draw_raising(rows.chat.id, turn, again)
    is_whole = turn.status == "complete" and not turn.cut
    if not is_whole and not cells.describe_again(turn.question):
        _draw_again(again, turn)


def _draw_unread(turn: Turn) -> None:
    """Attached files that could not be read: the answer cannot know them."""
    if turn.status == "failed" or not turn.asked.attachments:
        return
    ledger, owner = state.workspace().ledger, state.owner()
    done = list(queries.told(ledger, owner, [turn.run_id], DocumentDone))
    for _, event in reversed(done):
        if event.status == "failed":
            st.warning(draw.describe(event))


def _draw_result(turn: Turn, again: Question | None) -> None:
    if turn.answer:
        _draw_answer(turn, turn.answer)
    doubts.draw_legend(turn.checks)
    _draw_remarks(turn)
    if turn.status == "complete" and not turn.citations:
        evidence.draw_missing(turn, again)
    _draw_status(turn)


def _draw_answer(turn: Turn, answer: StoredMessage | MessageSent) -> None:
    """The text, and below it what leads to its sources."""
    table = answer.extra.get("table")
    if answer.content:
        markers = {int(citation["marker"]) for citation in turn.citations}
        with st.container(key=f"{'with-table' if table else 'answer'}-{answer.id}"):
            marked = doubts.places(turn.checks)
            st.markdown(markdown.answer(answer.content, answer.id, markers, marked))
            st.empty()  # in place of the last part of `_draw_text`
    if table:  # with a source for every value: the markers lead there
        _draw_downloads(answer.id, table)
    elif turn.citations:
        source.draw_chips(answer.id, turn.citations, doubts.wholly_doubtful(turn.checks))


def _draw_status(turn: Turn) -> None:
    """Why the turn ended, where that is not with its answer."""
    written = turn.answer is not None and turn.answer.content
    match turn.status:
        case "stopped":
            kept = _KEPT if written else "Nothing had been written yet."
            st.caption(f":material/stop_circle: Stopped. {kept}")
        case "failed" if turn.answer:
            what = "No answer."
            if written:
                what = f"The answer broke off. {_KEPT}"
            why = markdown.literal(wording.without_names(turn.answer.extra.get("error", "")))
            st.error(f"{what} {why}", icon=":material/error:")
            if turn.answer.extra.get("error_type") in _SETTINGS_HELP:
                st.page_link(
                    state.PAGES / "settings.py",
                    label="Look at the model's settings",
                    icon=":material/tune:",
                )
        case "interrupted" if error := runs.find_error(turn.run_id, state.owner()):
            st.error(markdown.literal(f"No answer. {error}"), icon=":material/error:")
        case "interrupted":
            when = "before this was answered."
            if written:
                when = f"in the middle of this answer. {_KEPT}"
            st.warning(f"The app was closed {when}", icon=":material/warning:")


def _draw_downloads(answer_id: str, data: Mapping[str, object]) -> None:
    """A button for each format of the table that an answer brings; a file is made when it is asked
    for.
    """

    def table() -> Table:
        from agentkit.teams.extraction import Table  # loads the kinds of values

        return Table.from_json(data)

    def text() -> bytes:
        return table().to_csv().encode("utf-8-sig")  # spreadsheets take it for UTF-8 by that mark

    def columns() -> bytes:
        return table().to_parquet()

    def whole() -> bytes:
        return json.dumps(data, ensure_ascii=False, indent=2).encode()

    formats: dict[str, tuple[Callable[[], bytes], str]] = {
        "CSV": (text, "text/csv"),
        "Parquet": (columns, "application/vnd.apache.parquet"),
        "JSON": (whole, "application/json"),
    }
    with st.container(horizontal=True, gap="small"):
        for name, (made, mime) in formats.items():
            st.download_button(
                name,
                made,
                file_name=f"table.{name.lower()}",
                mime=mime,
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
                key=f"table-{name}-{answer_id}",
                help=f"All rows, with the source of each value ({name})",
            )


def _draw_remarks(turn: Turn) -> None:
    """What the agents want the person to know, and why their chat ended, unless they were simply
    done.
    """
    for note in turn.extra.get("notes", ()):
        text, detail = _note(note)
        if detail:
            with st.expander(markdown.literal(text), icon=":material/info:"):
                st.code(detail, language=None, wrap_lines=True)
        else:
            st.caption(f":material/info: {markdown.literal(text)}")
    settings.draw_refused(turn.extra)
    if turn.fallback:
        st.warning(markdown.literal(wording.why_words(turn.fallback)), icon=":material/cloud_off:")
    if turn.cut in wording.CUT:
        st.warning(
            f"The answer is not whole: {wording.CUT[turn.cut]}.", icon=":material/content_cut:"
        )
    if turn.status == "complete" and (why := _describe_end(turn.extra)):
        st.caption(f":material/flag: Ended: {markdown.literal(why)}.")


def _note(stored: Any) -> tuple[str, str]:
    """What a note tells, and its detail; older versions stored both as one text."""
    if isinstance(stored, Mapping):
        return str(stored.get("text", "")), str(stored.get("detail", ""))
    text, _, detail = str(stored).partition("\n")
    return text, detail


def _describe_end(extra: Mapping[str, Any]) -> str:
    """Why the agents' chat ended; older versions stored it in words."""
    end = end_from_json(extra.get("end"))
    if end:
        return wording.describe_end(end)
    return str(extra.get("ended") or "")


def _draw_again(chosen: Question, turn: Turn) -> None:
    """Ask the same in place of a turn that has no whole answer; the old turn stays in the chat's
    tree.
    """
    if turn.question is None:
        return
    said = turn.question
    question = replace(chosen, text=said.content, again=said.id)
    problem = queries.why_not_resumed(state.workspace().ledger, state.owner(), turn.run_id)
    if problem:
        st.error(markdown.literal(problem), icon=":material/error:")
    can_go_on, can_resume = _can_go_on(chosen, turn), not problem and _can_resume(turn)
    with st.container(horizontal=True, gap="small", key=f"retry-{turn.run_id}"):
        if can_resume:
            st.button(
                "Continue",
                key=f"resume-{turn.run_id}",
                icon=":material/play_arrow:",
                help="Go on from the last complete step: nothing is done or paid for twice.",
                on_click=composer.resume,
                args=(turn.run_id,),
            )
        elif can_go_on:
            st.button(
                "Continue",
                key=f"go-on-{turn.run_id}",
                icon=":material/play_arrow:",
                help="Go on from what is there: nothing of it is done again.",
                on_click=composer.send,
                args=(replace(question, go_on=True),),
            )
        st.button(
            "Try again",
            key=f"again-{turn.run_id}",
            icon=":material/refresh:",
            help="Ask the same from the beginning: same documents, same files.",
            on_click=composer.send,
            args=(question,),
        )


def _can_resume(turn: Turn) -> bool:
    """Whether the app was closed in the middle, and enough is noted to go on with the agents."""
    if turn.status != "interrupted":
        return False
    try:
        find_broken_off(state.workspace().ledger, state.owner(), turn.run_id)
    except AgentkitError:
        return False
    return True


def _can_go_on(chosen: Question, turn: Turn) -> bool:
    """Whether there is something to go on from, and a language model that can."""
    if turn.question is None:
        return False
    asked = state.find_team(Question.from_message(turn.question, chosen.team_id).team_id)
    if asked is None or not asked.goes_on:
        return False
    is_begun = bool(turn.answer and turn.answer.content)
    if not is_begun and not turn.inner:
        return False
    return state.workspace().model(chosen.model_id).is_language_model
