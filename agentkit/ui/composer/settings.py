"""What all questions of a chat are asked with, chosen in a dialog beside the composer: further
collections, instructions, and parameters of the model. What differs from the default is shown in
short.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import streamlit as st

from agentkit.core.given import join_filled, list_known, list_missing
from agentkit.errors import WrongArgument
from agentkit.events import ParameterRefused
from agentkit.llm.calls.wishes import Parameters, check_instructions, find_refused
from agentkit.options import Effort
from agentkit.teams import Question
from agentkit.ui.shared import dialogs, kept, state
from agentkit.ui.steps import wording
from agentkit.ui.text import markdown
from agentkit.workspace import chat_settings
from agentkit.workspace.chat_settings import UNSET, ChatSettings

_DIALOG = "Chat settings"
_TITLES = {
    "temperature": "Temperature",
    "max_tokens": "Most tokens of a reply",
    "seed": "Seed",
}
"""The fields that are typed, in their order."""
_HINTS = {
    "temperature": "0 to 2; empty: the server's",
    "max_tokens": "Empty: the server's",
    "seed": "A whole number, or empty",
}
"""What stands in the fields while nothing is typed."""
_EFFORTS = ("", *get_args(Effort))


def of_chat(chat_id: str | None) -> ChatSettings:
    """Those of this chat; None for a new one."""
    return chat_settings.from_json(kept.get(chat_id, "settings") or {})


def ask(question: Question, there: Collection[str]) -> Question:
    """The question with the settings of its chat; of its further collections those that are
    `there`.
    """
    now = of_chat(question.chat_id)
    return replace(now, also=tuple(name for name in now.also if name in there)).ask(question)


def follow() -> None:
    """A new chat has begun, which has kept them: the next new one has none."""
    kept.put(None, "settings", None)


def draw_button(question: Question, there: Collection[str]) -> None:
    """Opens the dialog."""
    st.button(
        "Chat settings",
        icon=":material/page_info:",
        type="tertiary",
        key="settings-open",
        help="Instructions, model parameters and further collections of this chat.",
        on_click=_open,
        args=(question.chat_id,),
    )
    if dialogs.read_open()[0] == _DIALOG:
        _draw_dialog(question, sorted(there))


def draw_line(question: Question, there: Collection[str]) -> None:
    """What differs from the default, and what of it is gone; nothing while nothing does."""
    now = of_chat(question.chat_id)
    if gone := list_missing(now.also, there):
        names = ", ".join(map(markdown.literal, gone))
        st.caption(f":material/warning: No longer there, and not looked into: {names}.")
    if words := in_short(replace(now, also=question.also)):
        st.caption(f":material/page_info: {words}")


def in_short(now: ChatSettings) -> str:
    """What differs from the default, in Markdown: `also Water, instructions, seed 7`."""
    also = " and ".join(map(markdown.literal, now.also))
    set_ones = [
        f"{wording.PARAMETERS[name]} {value}" for name, value in now.parameters.to_request().items()
    ]
    parts = [f"also {also}" if also else "", "instructions" if now.instructions else "", *set_ones]
    return join_filled(", ", parts)


def draw_refused(extra: Mapping[str, Any]) -> None:
    """Below an answer: which parameters were not sent, because the server refuses them."""
    for one in extra.get("refused", ()):
        told = wording.of_refusal(ParameterRefused(**one))
        st.caption(f":material/tune: {markdown.literal(told)}")


def _open(chat_id: str | None) -> None:
    """The fields show what holds for the chat now, whichever tab has set it."""
    _fill(chat_id, of_chat(chat_id))
    dialogs.ask(_DIALOG)


def _fill(chat_id: str | None, now: ChatSettings) -> None:
    values = now.parameters.to_request()
    fields = {name: str(values.get(name, "")) for name in _TITLES}
    fields |= {"reasoning_effort": values.get("reasoning_effort", "")}
    for name, value in {**fields, "instructions": now.instructions, "also": list(now.also)}.items():
        st.session_state[_key(chat_id, name)] = value


@dialogs.dialog(_DIALOG)
def _draw_dialog(question: Question, there: Sequence[str]) -> None:
    chat_id = question.chat_id
    st.caption("They hold for all questions of this chat from the next one on, and stay with it.")
    _draw_also(question, there)
    _draw_instructions(chat_id)
    _draw_parameters(question)
    dialogs.keep_by(partial(_keep, chat_id))
    if chat_id is None:
        st.caption("The address of this page now begins a new chat with these settings.")
    with st.container(horizontal=True):
        done = st.button("Done", key="settings-done", type="primary")
        st.button(
            "Back to defaults",
            key="settings-clear",
            icon=":material/restart_alt:",
            type="tertiary",
            on_click=_fill,
            args=(chat_id, UNSET),
        )
    if done and not _has_wrong_field(chat_id):
        dialogs.close()
        st.rerun()


def _keep(chat_id: str | None) -> None:
    """Keep what the fields say; where something wrong is typed, what was there before."""
    given, before = st.session_state, of_chat(chat_id)
    if _key(chat_id, "also") not in given:  # another page was opened: the fields are gone
        return
    values: dict[str, Any] = {}
    for name in _TITLES:
        try:
            values[name] = read_value(name, given[_key(chat_id, name)])
        except WrongArgument:
            values[name] = getattr(before.parameters, name)
    try:
        instructions = check_instructions(given[_key(chat_id, "instructions")].strip())
    except WrongArgument:
        instructions = before.instructions
    effort = given[_key(chat_id, "reasoning_effort")] or None
    parameters = Parameters(reasoning_effort=effort, **values)
    now = ChatSettings(tuple(given[_key(chat_id, "also")]), instructions, parameters)
    kept.put(chat_id, "settings", now.to_json() or None)


def _has_wrong_field(chat_id: str | None) -> bool:
    """Whether something is typed that cannot hold; its field says why."""
    try:
        check_instructions(st.session_state[_key(chat_id, "instructions")].strip())
        for name in _TITLES:
            read_value(name, st.session_state.get(_key(chat_id, name), ""))
    except WrongArgument:
        return True
    return False


def _draw_also(question: Question, there: Sequence[str]) -> None:
    """The further collections; those that are gone are no longer chosen."""
    key = _key(question.chat_id, "also")
    others = [name for name in there if name != question.collection]
    st.session_state[key] = list_known(st.session_state.get(key, ()), others)
    st.multiselect(
        "Also look into",
        others,
        key=key,
        placeholder="No other collection",
        help=f"Beside {markdown.literal(question.collection)}: each is searched by its own"
        " settings, and what they give is put together by rank.",
        disabled=not others,
    )


def _draw_instructions(chat_id: str | None) -> None:
    text = st.text_area(
        "Instructions",
        key=_key(chat_id, "instructions"),
        placeholder="For example: answer in French, in at most three sentences.",
        help="Every agent of the team is told this beside its own task.",
        height=130,
    )
    try:
        check_instructions(text.strip())
    except WrongArgument as error:
        st.error(f"{error} Until then the instructions stay as they were.")


def _draw_parameters(question: Question) -> None:
    chat_id, model = question.chat_id, state.workspace().model(question.model_id)
    if not model.is_language_model:
        st.caption("The chosen model only quotes: instructions and what is below change nothing.")
    with st.grid(2, min_column_width=150):
        for name, title in _TITLES.items():
            with st.container():
                _draw_value(chat_id, name, title)
        st.selectbox(
            "Reasoning effort",
            _EFFORTS,
            format_func=lambda one: one.capitalize() or "As the server does",
            key=_key(chat_id, "reasoning_effort"),
            help="How much a model that thinks is to think before it answers.",
        )
    for name in find_refused(model):
        st.caption(
            f":material/block: {markdown.literal(model.label)} refuses the"
            f" {wording.PARAMETERS[name]}; it is not sent."
        )


def _draw_value(chat_id: str | None, name: str, title: str) -> None:
    """A field for a number, and what is wrong with what is typed there."""
    text = st.text_input(title, key=_key(chat_id, name), placeholder=_HINTS[name])
    try:
        read_value(name, text)
    except WrongArgument as error:
        st.error(f"{markdown.literal(str(error))} Nothing is changed.")


def read_value(name: str, text: str) -> float | int | None:
    """The number in a text; None for an empty one. Raises WrongArgument."""
    typed = text.strip()
    if not typed:
        return None
    try:
        number = float(typed) if name == "temperature" else int(typed[:40])
    except ValueError as error:
        kind = "number" if name == "temperature" else "whole number"
        raise WrongArgument(f"“{typed:.40}” is not a {kind}.") from error
    wished: dict[str, Any] = {name: number}
    Parameters(**wished)  # type and range
    return number


def _key(chat_id: str | None, name: str) -> str:
    return f"settings-{chat_id or 'new'}-{name}"
