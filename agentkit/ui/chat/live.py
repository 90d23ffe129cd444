"""An answer that is being written: what is done for it and its text so far, looked at again and
again.

Pages look less often the more the process has to do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import pick_kind
from agentkit.events import DocumentProgress, HumanInputRequested, MessageSent
from agentkit.runs import Run
from agentkit.teams import Team
from agentkit.ui.chat import source
from agentkit.ui.composer import choices, requests
from agentkit.ui.shared import dialogs, looks, state
from agentkit.ui.steps import cells, draw, wording
from agentkit.ui.steps.chat import excerpt, is_whole
from agentkit.ui.steps.flow import draw_flow
from agentkit.ui.steps.following import Following, follow
from agentkit.ui.steps.step import Asked, Level, Step
from agentkit.ui.steps.transcript import View, draw_transcript
from agentkit.ui.steps.turns import Turn
from agentkit.ui.steps.words import lately
from agentkit.ui.text import figures, markdown

_FASTEST_S, _SLOWEST_S = 0.125, 1.0
_BUSY, _IDLE = 0.5, 0.24
"""Shares of one core: above the first pages look half as often, below the second twice as often."""
_LOOK_S = 2.0
"""What a share is measured over; it is long enough for the work of changing the pace not to count
much.
"""


_TOGETHER = 32
"""How many looks a second all live answers may take: who waits for what a load shows waits too long
where many ask within a moment.
"""


class Pace:
    """Doubles and halves the time between two looks by the processor time that the process takes;
    it doubles at once when there are many answers to look at.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = _FASTEST_S
        self._since = (time.monotonic(), time.process_time())

    def seconds(self, answers: int = 1) -> float:
        """Seconds between two looks from now on, while so many answers are looked at; to be asked
        at every look.
        """
        with self._lock:
            self._seconds = max(self._seconds, slowest_needed(answers))
            now = (time.monotonic(), time.process_time())
            passed, took = now[0] - self._since[0], now[1] - self._since[1]
            if passed >= _LOOK_S:
                self._since = now
                if passed < 2 * _LOOK_S:  # else nobody has looked for a while
                    measured = after(self._seconds, took / passed)
                    self._seconds = max(measured, slowest_needed(answers))
            return self._seconds


def slowest_needed(answers: int) -> float:
    """The pace at which so many answers take no more looks than all may together."""
    seconds = _FASTEST_S
    while seconds < min(answers / _TOGETHER, _SLOWEST_S):
        seconds *= 2
    return seconds


def after(seconds: float, share: float) -> float:
    """The next pace when the process took so large a share of a core with the last one."""
    if share > _BUSY:
        return min(2 * seconds, _SLOWEST_S)
    return max(seconds / 2, _FASTEST_S) if share < _IDLE else seconds


_PACE = Pace()


def pace_looks(best_s: float) -> float:
    """Seconds between two looks that need not be more often than each `best_s`: more while the
    process has much to do.
    """
    return best_s * _seconds() / _FASTEST_S


def _seconds() -> float:
    return _seconds_for(state.owner())


def _seconds_for(owner: str) -> float:
    return _PACE.seconds(len(runs.live(owner, kind="chat")))


def draw_live(run: Run[Any], at_work: Team, asked: HumanInputRequested | None) -> None:
    """The turn that the run is working on, and the source that was opened meanwhile.

    `asked` is what the composer answers: the page is drawn anew when the run asks something else.
    """
    with st.container(key=f"turn-{run.id}"):
        every = _seconds()
        st.fragment(_draw_live, run_every=every)(run, at_work, asked, every)
        _draw_source(run, at_work)


def _draw_live(
    run: Run[Any], at_work: Team, asked: HumanInputRequested | None, every: float
) -> None:
    """The one part of the page that looks again and again; at the end the page is drawn once with
    what is stored.
    """
    is_new = requests.in_words(run) != asked or _seconds() != every
    if run.ended or is_new:
        dialogs.redraw()
    with looks.drawing(lambda: (looks.state_of(run), _seconds_for(run.owner))):
        following = _follow(run, at_work)
        turn = following.catch_up(run)
        if at_work.keeps_secrets:  # what others do, and that they do it, is not for the person
            turn.steps = [step for step in turn.steps if isinstance(step, MessageSent | Asked)]
        draw.draw_turn(turn, lambda: _draw_progress(run, turn, following, at_work))


def _follow(run: Run[Any], at_work: Team) -> Following:
    """What is known of the run, and whether words are shown while they are written.

    They are not where none is for others, and where others hear only parts of them.
    """
    aloud = not (at_work.answers_at_once or at_work.speaks_in_fields)
    return follow(run, at_work.agents[-1], aloud=aloud)


def _draw_source(run: Run[Any], at_work: Team) -> None:
    """The source that was opened while its answer is still being written."""
    if marker := source.find_open(run.message_id):
        turn = _follow(run, at_work).catch_up(run)
        if marker in turn.sources:
            source.draw_source(run.message_id, turn.sources[marker], turn.text)


def _draw_progress(run: Run[Any], turn: Turn, following: Following, at_work: Team) -> None:
    request = run.waiting_for  # looked at once: the run goes on meanwhile
    label, level = _describe_run(run, turn), choices.level()
    unfolded = len(at_work.agents) > 1
    has_transcript = level != "answer"
    if has_transcript:
        icon = ":material/pending:" if request else None if run.ended else "spinner"
        # By its key it stays as the person left it, whatever its label says by then.
        key = f"live-{run.id}"
        with st.expander(label, key=key, type="compact", icon=icon, expanded=unfolded):
            steps = _steps_above(turn, request)
            draw_transcript(steps, View(run.id, level, at_work.agents, live=True))
    if turn.thinking:
        draw.draw_growing_thinking(turn.thinking, unfolded=not turn.text)
    cells.draw_results(turn.steps, run.id)
    _draw_text(turn, run.message_id)
    is_shown = unfolded and has_transcript  # what was said last stands in the transcript
    told: list[str] = []
    if request:
        _draw_said_last(turn, whole=not request.draft, above=level if is_shown else None)
        requests.draw_question(run, request)
    elif unfolded or not has_transcript:
        told = [label]  # above it is out of sight by then, or there is none
    with st.container(horizontal=True, vertical_alignment="center"):
        _draw_foot(run, [*told, *_tell(run, following, at_work)])
        if has_transcript and not at_work.keeps_secrets:
            draw_flow(following.flow, run.id, at_work.agents)


def _draw_foot(run: Run[Any], told: Sequence[str]) -> None:
    """The way to end it, what goes on, and what it has taken so far."""
    st.button(
        "Stop",
        key=f"stop-{run.id}",
        icon=":material/stop_circle:",
        on_click=run.stop,
        disabled=run.stopping,
    )
    if told:
        st.caption(markdown.literal(" · ".join(told)), width="stretch")


def _tell(run: Run[Any], following: Following, at_work: Team) -> list[str]:
    """What is waited for, and what it has taken so far; nothing that would give a secret away."""
    if at_work.keeps_secrets:
        return []
    told = [figures.so_far(following.flow.total)]
    if not run.stopping:
        told.insert(0, following.waiting.describe(time.time()))
    return list(filter(None, told))


def _draw_text(turn: Turn, message_id: str) -> None:
    """What is written so far, where the whole answer will stand: there it takes its place without a
    gap.

    What is whole is drawn by itself, so that the browser need not draw it again with each word.
    """
    hidden, text = lately(turn.text)
    if not text:
        return
    before, growing = markdown.split_finished(text)
    with st.container(key=f"answer-{message_id}"):
        for part in (before, growing) if before else (growing,):
            st.markdown(markdown.answer(part, message_id, turn.sources))
        if hidden:
            left_out = figures.count(hidden, "character")
            st.caption(
                f":material/more_horiz: {left_out} before this are shown when the answer is there."
            )


def _steps_above(turn: Turn, request: HumanInputRequested | None) -> list[Step]:
    """All steps but the question, which stands below them."""
    if request is None:
        return turn.steps
    return [step for step in turn.steps if step != Asked(request)]


def _draw_said_last(turn: Turn, *, whole: bool, above: Level | None) -> None:
    """What the person has to know to answer: what was said last, unless all of it stands above, at
    that level.
    """
    said = pick_kind(turn.steps, MessageSent)
    if not said:
        return
    last = said[-1]
    if not whole:
        if not above and excerpt(last):
            draw.draw(last, "calls")
        return
    stands_above = above is not None and is_whole(last, above)
    if not stands_above:
        draw.draw(last, "everything")


def _describe_run(run: Run[Any], turn: Turn) -> str:
    if run.ended:  # and a dialog is open: once it is closed, the page is drawn with what is stored
        return "Done"
    return "Stopping" if run.stopping else _describe_doing(turn)


def _describe_doing(turn: Turn) -> str:
    last = turn.steps[-1] if turn.steps else None
    is_asking = isinstance(last, Asked) and last.answered is None
    if not is_asking and turn.text:
        return "Writing the answer"
    shown = last
    if not is_asking:
        # A document is told also while the model is asked about it.
        shown = next(filter(_is_reading, turn.steps), last)
    if shown is None:
        return wording.DOING["searches"]
    return draw.describe_doing(shown)


def _is_reading(step: Step) -> bool:
    return isinstance(step, DocumentProgress) and step.stage != "waiting"
