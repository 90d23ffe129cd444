"""One run: what it was and took, its steps as a tree with their waterfall, and the chosen step."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO

import streamlit as st

from agentkit.core.given import join_filled
from agentkit.core.text import shorten
from agentkit.errors import NotFound
from agentkit.ledger import Ledger, queries, run_list, sides
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace
from agentkit.ledger.trace import build_trace
from agentkit.ui.runs import detail, overview, question, words
from agentkit.ui.runs.parts import SHOWN
from agentkit.ui.shared import components, downloads, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.steps import stepping, transcript, wording
from agentkit.ui.steps.transcript import View
from agentkit.ui.text import figures, markdown, times

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_MOST_KEPT = 4
"""Traces of ended runs that stay in memory, for all sessions together."""
_PROBLEMS = 8
_LEAST_SHARE = 100  # less of the run's time than this part of it is not told
_GOING_ON = ("running", "waiting")
_STEPPED = ("chat", "script", "extract")
"""Kinds of runs that can be stepped through: agents talk in them."""
_REPEATS = 3
"""Runs that began from this one, the newest, which are offered for comparing."""
_FAILED = 5
"""Failed steps that the summary names."""


def draw_trace(run_id: str) -> None:
    """The run of that id; for one that is not there, that it is not."""
    ways = st.container(horizontal=True, vertical_alignment="center", key="ways")
    ways.button(
        "All runs", key="all-runs", icon=":material/arrow_back:", on_click=overview.close_run
    )
    ledger, owner = state.workspace().ledger, state.owner()
    try:
        run = run_list.one(ledger, owner, run_id)
        trace = _read_trace(run)
    except NotFound:
        state.page_head("Runs", "What was run, and each step of it.")
        st.markdown(f":material/search_off: There is no run '{markdown.literal(run_id)}'.")
        return
    st.set_page_config(page_title=f"{words.of_kind(run.kind)} · agentkit")
    with ways:
        _draw_ways(run)
    _draw_head(run)
    _draw_problems(run, trace)
    span = _find_chosen(trace)
    left, right = st.columns([3, 2], gap="medium")
    with left, st.container(key="steps"):
        is_talk = run.kind in _STEPPED and run.state not in _GOING_ON
        with st.container(horizontal=True, vertical_alignment="center"):
            field = st.container()
            is_stepped = is_talk and stepping.draw_switch(run.id)
        if is_stepped:
            _step_through(run)
        else:
            _draw_steps(run, trace, span, field)
    with right, st.container(key="step"):
        if span is None:
            _draw_summary(run, trace)
        else:
            detail.draw_detail(run, trace, span)


@st.fragment
def _step_through(run: RunTotals) -> None:
    """What was said and done up to a moment; going on to another one draws only this."""
    made = stepping.draw_moments(run.id) or []
    transcript.draw_transcript(made, View(run.id, "everything", again=False))
    if answer := stepping.find_answer(run.id):
        with st.container(border=True, key="stepped-answer"):
            st.caption("Answer")
            st.markdown(markdown.prose(answer[:SHOWN]))


def choose_step(step: str) -> None:
    """Look at this step, from the next drawing on; `close` for none."""
    if step == "close":
        st.query_params.pop("step", None)
    else:
        st.query_params["step"] = step


def _find_chosen(trace: Trace) -> Span | None:
    step = st.query_params.get("step", "")
    span = trace.find(step)
    if step and span is None:
        st.warning(
            f"This run has no step {markdown.literal(step)}; choose one below.",
            icon=":material/search_off:",
        )
    return span


def _read_trace(run: RunTotals) -> Trace:
    """The spans of a run; those of one that has ended do not change, and the last ones are kept."""
    if run.state in _GOING_ON:
        return _build_trace(run.id)
    folder = str(state.workspace().settings.data)
    return _keep_trace(folder, state.owner(), run.id, run.state, run.seconds)


@st.cache_resource(max_entries=_MOST_KEPT, show_spinner=False)
def _keep_trace(folder: str, owner: str, run_id: str, ended: str, seconds: float | None) -> Trace:
    """The spans of a run that ended so: one that is looked into again, in another tab or after a
    reload, is there at once.
    """
    return _build_trace(run_id)


def _build_trace(run_id: str) -> Trace:
    ledger, owner = state.workspace().ledger, state.owner()
    return build_trace(queries.events(ledger, owner, run_id, with_requests=False))


# The head


def _draw_head(run: RunTotals) -> None:
    title = " ".join(run.title.split()) or words.of_kind(run.kind)
    took = figures.seconds(run.seconds) if run.seconds is not None else ""
    about = [
        words.of_kind(run.kind),
        words.of_team(run.team),
        words.of_state(run.state),
        times.format_time(run.started_at),
        took,
        figures.count(run.tokens, "token") if run.tokens else "",
        words.cost(run),
    ]
    state.page_head(markdown.literal(title), markdown.literal(join_filled(" · ", about)))
    end = run_list.ends(state.workspace().ledger, state.owner(), [run.id]).get(run.id)
    if why := words.why_ended(run, end):
        icon = ":material/error:" if run.state == "failed" else ":material/flag:"
        st.markdown(f"{icon} {markdown.literal(why)}")


def _draw_ways(run: RunTotals) -> None:
    """Where the run leads to: its chat, its page, the runs before and after it."""
    ledger, owner = state.workspace().ledger, state.owner()
    if run.chat_id and _has_chat(ledger, owner, run.chat_id):
        _draw_link("chat.py", "Open the chat", ":material/forum:", {"chat": run.chat_id})
    if run.kind == "ingest":
        _draw_link("documents.py", "Documents", ":material/description:", {})
    if run.kind == "measure":
        address = {"view": "Measure"}
        _draw_link("retrieval_lab.py", "Measurements", ":material/science:", address)
    before = queries.find_resumed(ledger, owner, run.id)
    after = run.reason if run.state == "continued" else ""
    ways = (("The run before", before), ("The run that went on", after))
    _draw_comparing("Compare with the run before", before, run.id)
    for later in sides.find_repeats(ledger, owner, run.id)[:_REPEATS]:
        _draw_comparing("Compare with the run again", run.id, later)
    for label, run_id in ways:
        if run_id:
            st.button(
                label,
                key=f"other-{run_id}",
                icon=":material/route:",
                type="tertiary",
                on_click=overview.open_run,
                args=(run_id,),
            )
    if run.state == "running":
        st.button("Look again", key="look-again", icon=":material/refresh:", type="tertiary")


def _draw_comparing(label: str, first: str, second: str) -> None:
    if not first:
        return
    st.button(
        label,
        key=f"compare-{first}-{second}",
        icon=":material/compare_arrows:",
        type="tertiary",
        on_click=overview.open_comparison,
        args=(first, second),
    )


def _draw_link(page: str, label: str, icon: str, address: dict[str, str]) -> None:
    st.page_link(PAGES / page, label=label, icon=icon, query_params=address)


def _has_chat(ledger: Ledger, owner: str, chat_id: str) -> bool:
    try:
        ledger.chat(owner, chat_id)
    except NotFound:
        return False
    return True


def _draw_problems(run: RunTotals, trace: Trace) -> None:
    """What is odd; of a run that goes on not that it, or a step of it, has no end yet."""
    goes_on = overview.find_at_work(run.id)
    problems = [one for one in trace.problems if not (goes_on and one.kind == "no end")]
    if not problems:
        return
    listed = [words.of_problem(one) for one in problems[:_PROBLEMS]]
    left = len(problems) - len(listed)
    more = [f"and {figures.count(left)} more"] if left else []
    text = "; ".join([*listed, *more])
    st.caption(f":material/warning: What was stored of this run is odd: {markdown.literal(text)}.")


# The steps


def _draw_steps(run: RunTotals, trace: Trace, span: Span | None, field: DeltaGenerator) -> None:
    if len(trace.events) == 0:
        st.info("No events of this run are kept.", icon=":material/inventory_2:")
        return
    with field:
        found = _draw_find(run, trace)
    lanes = {name: place for place, name in enumerate(trace.lanes)}
    holders = {one.parent for one in trace.spans[1:]}
    began = trace.run.start
    rows = [
        [
            one.seq,
            one.depth,
            words.STEPS[one.kind],
            " ".join(words.of_step(one, trace)[:200].split()),
            lanes.get(one.lane, -1),
            round(one.start - began, 4),
            round(one.seconds, 4),
            one.status,
            words.describe_span(one),
            int(one.critical),
            int(one.seq in holders),
            int(found is not None and not found.isdisjoint(one.seqs)),
        ]
        for one in trace.spans
    ]
    components.trace(
        choose_step,
        {
            "run": run.id,
            "seconds": round(trace.run.seconds, 4),
            "lanes": list(map(wording.name_agent, trace.lanes)),
            "rows": rows,
            "open": span.seq if span else None,
            "searched": found is not None,
        },
    )
    st.caption(
        "Up and down move, Enter opens a step, Esc closes it, left and right fold. Bold steps with"
        " full bars are the critical path: they decided how long the run took."
    )


def _draw_find(run: RunTotals, trace: Trace) -> set[int] | None:
    """What is looked for in the run, as `?find=` in the address; the numbers of the events that
    have it, None while nothing is looked for.
    """
    key = f"find-{run.id}"
    st.session_state.setdefault(key, st.query_params.get("find", ""))
    text = st.text_input(
        "Find in this run",
        key=key,
        icon=":material/search:",
        placeholder="Find in prompts, replies, arguments, results",
        label_visibility="collapsed",
        persist_state="session",
    ).strip()
    if not text:
        st.query_params.pop("find", None)
        return None
    st.query_params["find"] = text
    seqs = run_list.find_events(state.workspace().ledger, state.owner(), run.id, text)
    steps = [one for one in trace.spans if not seqs.isdisjoint(one.seqs)]
    st.caption(f"{figures.count(len(steps), 'step')} with {markdown.literal(text)}")
    return seqs


# The run as a whole, beside its steps


def _draw_summary(run: RunTotals, trace: Trace) -> None:
    st.subheader("The run", anchor=False)
    calls = [span for span in trace.spans if span.kind in ("model", "embedding")]
    counted = f"{figures.count(len(trace.spans) - 1, 'step')}, {figures.count(len(calls), 'call')}"
    st.caption(f"{counted}. Choose a step to see all of it.")
    _draw_path(trace)
    with st.container(gap="xsmall"):
        _draw_notable(calls, trace)
    if asked := question.find_asked(trace):
        question.draw_adding(asked.content, trace, trace.run)
    make = partial(_file, state.workspace().ledger, state.owner(), run.id)
    downloads.draw_link("Download the trace", make, f"trace-{run.id}.json", key=f"trace-{run.id}")


def _draw_notable(calls: Sequence[Span], trace: Trace) -> None:
    """The steps that took most, and those that failed."""
    steps = [span for span in trace.spans[1:] if span.seconds]
    dearest = max((span for span in calls if span.cost), key=_cost, default=None)
    largest = max((span for span in calls if span.tokens), key=_tokens, default=None)
    longest = max(steps, key=_seconds, default=None)
    _draw_ranked("Dearest call", "dearest", dearest, trace)
    _draw_ranked("Most tokens", "largest", largest, trace)
    _draw_ranked("Longest step", "longest", longest, trace)
    failed = [span for span in trace.spans[1:] if span.status == "failed"]
    for span in failed[:_FAILED]:
        _draw_ranked("Failed", f"failed-{span.seq}", span, trace)


_tokens, _seconds = attrgetter("tokens"), attrgetter("seconds")


def _cost(span: Span) -> float:
    return span.cost or 0.0


def _draw_path(trace: Trace) -> None:
    """What took the time, of the steps that decided when the run ended."""
    took = sorted(trace.critical_s().items(), key=lambda one: one[1], reverse=True)
    names = {kind: words.STEPS[kind] for kind, _ in took} | {"run": "between steps"}
    least = trace.run.seconds / _LEAST_SHARE
    parts = [f"{names[kind]} {figures.seconds(took_s)}" for kind, took_s in took if took_s > least]
    if parts:
        st.markdown(f"**Critical path**  \n{markdown.literal(' · '.join(parts))}")


def _draw_ranked(label: str, key: str, span: Span | None, trace: Trace) -> None:
    if span is None:
        return
    name = shorten(words.of_step(span, trace), 60) or words.STEPS[span.kind]
    told = [f"{label}: {words.STEPS[span.kind]} {name}", words.describe_span(span)]
    st.button(
        markdown.literal(join_filled(", ", told)),
        key=f"go-{key}",
        icon=":material/arrow_forward:",
        type="tertiary",
        on_click=choose_step,
        args=(str(span.seq),),
    )


def _file(ledger: Ledger, owner: str, run_id: str) -> BinaryIO:
    """The whole trace with its events, and what was sent to models, as JSON."""
    trace = build_trace(queries.events(ledger, owner, run_id))
    return io.BytesIO(json.dumps(trace.to_json(), ensure_ascii=False).encode())
