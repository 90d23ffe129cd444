"""What a run asks the person, and how they answer: free text, one of several options, or the
approval of what is to run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st

from agentkit.core.given import find_first, pick_kind
from agentkit.errors import NotFound
from agentkit.events import HumanAnswered, HumanInputRequested, events_of
from agentkit.options import END, PLAN, Moment, key_of
from agentkit.runs import Run
from agentkit.ui.steps import wording
from agentkit.ui.text import markdown, times
from agentkit.ui.text.listing import draw_runnable, draw_warning

ICONS = {
    "approve": ":material/check:",
    "approve_all": ":material/done_all:",
    "always": ":material/verified_user:",
    "edit": ":material/edit:",
    "reject": ":material/block:",
}
_CODE_FONT = (
    "<style>[class*='st-key-draft-'] textarea { font-family: monospace; font-size: 0.875rem;"
    " }</style>"
)
HELP = {
    "approve_all": (
        "Run this, and everything of this kind until the answer is there, without asking again."
    ),
    "always": (
        "Allow it now and from now on, in every chat, without asking. The settings take it back."
    ),
}
_SEEN, _OURS, _TOLD = "question-seen", "questions-answered", "question-told"
"""Which question the page has shown last, with its run; those that were answered here, or told of;
and what is told of one, with its chat.
"""
_SKIP = (
    "skip",
    "Skip",
    ":material/skip_next:",
    "",
    "Say nothing now, and let them go on.",
)
_WAYS_OUT: dict[Moment, tuple[tuple[str, str, str, str, str], ...]] = {
    "": (("skip", "Give no answer", ":material/skip_next:", "", "Go on without an answer."),),
    "turn": (
        _SKIP,
        ("end", "End", ":material/flag:", END, "The answer is made of what there is by now."),
    ),
    "close": (("end", "End", ":material/flag:", "", "It is enough: this is the answer."),),
}
"""By moment, the buttons for whoever says nothing: key, label, icon, answer, and what it does."""
_ASKS: dict[Moment, tuple[str, str]] = {
    "": ("{prompt}", "{who}{prompt}"),
    "turn": (
        "Your turn: answer {to}, skip, or end",
        "**Your turn.** Answer {to} below, let them go on, or end with what there is.",
    ),
    "close": (
        "{to} is done: say what is missing, or end",
        "**{to} is done.** Say below what is still missing or wrong, or end here.",
    ),
}
"""By moment, what is asked: as plain text for a screen reader, and in Markdown."""
_THEN: dict[Moment, str] = {
    "": "it goes on without you",
    "turn": "they go on without you",
    "close": "this is the answer",
}
"""By moment, what comes of a question that nobody answers in time."""


def in_words(run: Run[Any]) -> HumanInputRequested | None:
    """What the run waits for that is answered in the person's own words, in the composer."""
    request = run.waiting_for
    if request is None or request.options or request.draft:
        return None
    return request


def draw_question(run: Run[Any], request: HumanInputRequested) -> None:
    """The question that the run waits with; it is drawn again and again, and keeps what was
    typed.
    """
    with st.container(border=True, key=f"asks-{request.request_id}", gap="small"):
        st.markdown(f":material/contact_support: {_ask_words(request)}")
        if request.language == PLAN:
            from agentkit.ui.composer import plan_editor  # loads how plans are read

            plan_editor.draw(run, request, partial(_give, run, request))
        elif request.draft:
            _draw_approval(run, request)
        elif request.options:
            _draw_options(run, request)
        else:
            _draw_ways_out(run, request)
        if request.until is not None:
            _draw_deadline(request, request.until)


def in_plain(request: HumanInputRequested) -> str:
    """What is asked, for a screen reader."""
    to = wording.name_agent(request.to)
    return _ASKS[request.moment][0].format(to=to, prompt=_to_plain(request))


def _to_plain(request: HumanInputRequested) -> str:
    asked = wording.of_request(request)
    return f"{wording.asker(request)}: {asked}" if request.wants else asked


def answer(run: Run[Any], request: HumanInputRequested, text: str) -> bool:
    """Answer the question; False when it waits no more."""
    forget_told()
    try:
        run.answer(text, request.request_id)
    except NotFound:
        return False
    _ours().add(request.request_id)
    return True


def draw_told(chat_id: str | None, run: Run[Any] | None) -> None:
    """Say that a question that this page has shown was answered elsewhere, or by nobody in time,
    until something is sent here; `run` is the one whose question it shows now.
    """
    seen = st.session_state.get(_SEEN)
    if run and run.waiting_for:
        st.session_state[_SEEN] = (run, run.waiting_for.request_id)
    if seen and seen[1] not in _ours() and _find_answer(*seen):
        st.session_state[_TOLD] = (chat_id, tell_why_late(*seen))
    told_in, told = st.session_state.get(_TOLD, ("", ""))
    if told and told_in == chat_id:
        st.caption(f":material/info: {told}")


def forget_told() -> None:
    """Something was sent from here: what was said of the question before it is old."""
    st.session_state.pop(_TOLD, None)


def _ours() -> set[str]:
    """The ids of the questions that were answered here, or told of."""
    known: set[str] = st.session_state.setdefault(_OURS, set())
    return known


def _find_answer(run: Run[Any], request_id: str) -> HumanAnswered | None:
    heard = pick_kind(events_of(run.events()), HumanAnswered)
    return find_first(reversed(heard), lambda one: one.request_id == request_id)


def tell_why_late(run: Run[Any], request_id: str) -> str:
    """What became of a question that waits no more, to be told; it is told only once."""
    _ours().add(request_id)
    answered = _find_answer(run, request_id)
    if answered and answered.waited_s is not None:
        waited = wording.of_patience(answered.waited_s).capitalize()
        return f"{waited}, so it went on without you."
    return "The question was answered in another window meanwhile."


def _ask_words(request: HumanInputRequested) -> str:
    """Who asks what, in Markdown."""
    to = markdown.literal(wording.name_agent(request.to))
    who = ""
    if request.agent:
        who = f"**{markdown.literal(wording.asker(request))}** asks: "
    prompt = markdown.prose(wording.of_request(request))
    return _ASKS[request.moment][1].format(to=to, who=who, prompt=prompt)


def _draw_ways_out(run: Run[Any], request: HumanInputRequested) -> None:
    """The buttons for whoever says nothing; at the close of a chat an empty answer ends it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for what, label, icon, text, about in _WAYS_OUT[request.moment]:
            st.button(
                label,
                key=_key(what, request),
                icon=icon,
                help=about,
                on_click=_give,
                args=(run, request, text),
            )


def _draw_deadline(request: HumanInputRequested, until: float) -> None:
    moment = datetime.fromtimestamp(until, UTC).replace(tzinfo=None)
    then = "it is rejected"
    if not request.draft:
        then = _THEN[request.moment]
    if request.language == PLAN:
        then = "nothing of it is run"
    st.caption(f":material/hourglass_top: Waits until {times.clock(moment)}; then {then}.")


def _draw_approval(run: Run[Any], request: HumanInputRequested) -> None:
    match st.session_state.get(_key("mode", request)):
        case "edit":
            _draw_edit(run, request)
        case "reject":
            _draw_reject(run, request)
        case _:
            draw_runnable(request.draft, request.language, counted=True)
            _draw_options(run, request)


def _draw_options(run: Run[Any], request: HumanInputRequested) -> None:
    with st.container(horizontal=True, gap="small"):
        for number, option in enumerate(request.options):
            _draw_option(run, request, number, option)


def _draw_option(run: Run[Any], request: HumanInputRequested, number: int, option: str) -> None:
    """A button that gives an answer, or opens the field for one."""
    looks: dict[str, Any] = {"type": "secondary"}
    gives: dict[str, Any] = {"on_click": _give, "args": (run, request, option)}
    if request.draft:
        key = key_of(option)
        looks |= {"icon": ICONS.get(key), "help": HELP.get(key)}
        if number == 0:
            looks["type"] = "primary"
        if key in ("edit", "reject"):
            gives = {"on_click": _open, "args": (request, key)}
    label = markdown.literal(wording.of_option(option))
    st.button(label, key=_key(f"option-{number}", request), **looks, **gives)


def _draw_edit(run: Run[Any], request: HumanInputRequested) -> None:
    lines = request.draft.count("\n") + 1
    with st.form(_key("edit", request), border=False, enter_to_submit=False):
        st.html(_CODE_FONT)
        draw_warning(request.draft)
        label = {"json": "Arguments", "text": "Input"}.get(request.language, "Code")
        st.text_area(
            label,
            request.draft,
            height=min(500, 50 + 26 * max(lines, 3)),
            key=_key("draft", request),
        )
        if problem := st.session_state.get(_key("problem", request)):
            st.error(problem, icon=":material/error:")
        with st.container(horizontal=True, gap="small"):
            _draw_submit(
                "Run this",
                ":material/play_arrow:",
                _key("run", request),
                _give_edited,
                run,
                request,
            )
            st.form_submit_button(
                "Back", key=_key("back", request), on_click=_open, args=(request, "")
            )


def _draw_reject(run: Run[Any], request: HumanInputRequested) -> None:
    draw_runnable(request.draft, request.language, counted=True)
    with st.form(_key("reject", request), border=False):
        st.text_input(
            "Why not? The model is told, and can try another way.", key=_key("reason", request)
        )
        with st.container(horizontal=True, gap="small"):
            label, icon = wording.OPTIONS["reject"], ICONS["reject"]
            _draw_submit(label, icon, _key("no", request), _give_reason, run, request)
            st.form_submit_button(
                "Back", key=_key("back", request), on_click=_open, args=(request, "")
            )


def _draw_submit(
    label: str,
    icon: str,
    key: str,
    give: Callable[[Run[Any], HumanInputRequested], None],
    run: Run[Any],
    request: HumanInputRequested,
) -> None:
    st.form_submit_button(
        label, type="primary", icon=icon, key=key, on_click=give, args=(run, request)
    )


def _give(run: Run[Any], request: HumanInputRequested, text: str) -> None:
    answer(run, request, text)  # that it came too late, `draw_told` says


def _give_edited(run: Run[Any], request: HumanInputRequested) -> None:
    draft = str(st.session_state.get(_key("draft", request), request.draft))
    if problem := _problem(draft, request.language):
        st.session_state[_key("problem", request)] = problem
        return
    _give(run, request, f"edit\n{draft}")


def _give_reason(run: Run[Any], request: HumanInputRequested) -> None:
    reason = " ".join(str(st.session_state.get(_key("reason", request), "")).split())
    _give(run, request, f"reject\n{reason}" if reason else "reject")


def _problem(draft: str, language: str) -> str:
    """Why a draft cannot be run; empty when it can."""
    if not draft.strip():
        return "There is nothing left to run; reject it instead."
    if language == "json":
        try:
            if not isinstance(json.loads(draft), dict):
                return "The arguments must be a JSON object: names and values in braces."
        except ValueError as error:
            return f"This is not JSON: {error}."
    return ""


def _open(request: HumanInputRequested, mode: str) -> None:
    st.session_state[_key("mode", request)] = mode
    st.session_state.pop(_key("problem", request), None)


def _key(what: str, request: HumanInputRequested) -> str:
    return f"{what}-{request.request_id}"
