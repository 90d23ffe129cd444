"""The limits in force: where each comes from, and a dialog to choose another one at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.settings import Settings, choose, origins
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import markdown


@dataclass(frozen=True, slots=True)
class Limit:
    """How one limit is spoken of."""

    title: str
    unit: str
    example: str
    about: str
    whole: bool = True
    """Whether it is a whole number."""


LIMITS = {
    "max_file_mb": Limit("Largest file", "MB", "50", "Larger files are not taken in."),
    "max_chars": Limit(
        "Most text of a document", "characters", "20,000,000", "Longer documents are refused."
    ),
    "max_pages": Limit(
        "Most pages of a document", "pages", "5,000", "Pages, sheets or slides; more are refused."
    ),
    "read_timeout_s": Limit(
        "Longest time to read a file", "s", "120", "Then reading is given up.", whole=False
    ),
    "read_memory_mb": Limit(
        "Memory to read a file", "MB", "2,048", "For the process that reads documents."
    ),
    "fetch_timeout_s": Limit(
        "Longest time to fetch a web address", "s", "30", "Then it is given up.", whole=False
    ),
    "run_tokens": Limit(
        "Most tokens for a question", "tokens", "50,000", "The next call beyond it is not made."
    ),
    "run_dollars": Limit(
        "Most money for a question",
        "US dollars",
        "0.50",
        "The next call beyond it is not made.",
        whole=False,
    ),
    "chat_tokens": Limit(
        "Most tokens in a chat", "tokens", "500,000", "A chat that reaches it answers no more."
    ),
    "chat_dollars": Limit(
        "Most money in a chat",
        "US dollars",
        "5",
        "A chat that reaches it answers no more.",
        whole=False,
    ),
    "answer_s": Limit(
        "Longest wait for your answer",
        "s",
        "600",
        "Then agents that ask go on as if you had skipped the question, and what was to run is"
        " rejected.",
        whole=False,
    ),
}
"""By the name of the setting."""
_DIALOG = "Limit"
_GROUPED = re.compile(r"\d{1,3}([,\u202f\u00a0 _]\d{3})+(\.\d+)?")
_BETWEEN = re.compile(r"[,\u202f\u00a0 _]")
_TOO_LONG = re.compile(r"[0-9]{16,}(\.[0-9]+)?")
_Form = tuple[re.Pattern[str], str, Callable[[str], float]]
_WHOLES: _Form = (re.compile(r"[0-9]{1,15}"), "a whole number", int)
_FRACTIONS: _Form = (re.compile(r"[0-9]{1,15}(\.[0-9]{1,10})?"), "a number", float)
"""How a number is written, what it is called, and how it is read."""


def draw_limits() -> None:
    """Each limit with its value, what set it, and how to change it."""
    settings = state.workspace().settings
    try:
        given = origins()
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    with st.container(border=True, gap="xsmall", key="limits"):
        for name, limit in LIMITS.items():
            _draw_limit(name, limit, settings, given.get(name))
        _draw_private_addresses(settings)
    st.caption(
        "What you choose counts from the next question or document on, for everybody who uses this "
        "data folder. A variable in the environment or a line in the secrets file wins."
    )
    name, subject = dialogs.read_open()
    if name == _DIALOG and subject in LIMITS:
        _change(subject, LIMITS[subject])


def _draw_limit(name: str, limit: Limit, settings: Settings, given: str | None) -> None:
    value = getattr(settings, name)
    with st.container(
        horizontal=True, wrap=False, vertical_alignment="center", key=f"limit-{name}"
    ):
        text = f"{limit.title}: **{in_force(value, limit.unit)}**"
        if given:
            text += f" :small[set by {markdown.literal(given)}]"
        elif value != getattr(Settings(), name):
            text += " :small[chosen here]"
        st.markdown(text, width="stretch")
        if not given:
            st.button(
                f"Change *{limit.title.lower()}*",
                key=f"change-{name}",
                type="tertiary",
                icon=":material/edit:",
                help=f"Change: {limit.title.lower()}",
                on_click=dialogs.ask,
                args=(_DIALOG, name),
            )


def _draw_private_addresses(settings: Settings) -> None:
    allowed = "allowed" if settings.allow_private_urls else "not allowed"
    st.markdown(
        f"Private web addresses: **{allowed}** "
        ":small[only the environment changes that: AGENTKIT\\_ALLOW\\_PRIVATE\\_URLS]"
    )


def in_force(value: float | None, unit: str) -> str:
    """The value of a limit with its unit."""
    if value is None:
        return "no limit"
    return f"{format_value(value)} {unit}"


def format_value(value: float | None) -> str:
    """The value as it is shown and can be entered: `2,048`, `0.5`, empty for none."""
    if value is None:
        return ""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


@dialogs.dialog("Change a limit")
def _change(name: str, limit: Limit) -> None:
    settings = state.workspace().settings
    value, default = getattr(settings, name), getattr(Settings(), name)
    with st.form("limit", border=False):
        text = st.text_input(
            limit.title if limit.unit in limit.title else f"{limit.title}, in {limit.unit}",
            key="limit-value",
            value=format_value(value),
            placeholder="no limit" if default is None else format_value(default),
        )
        usual = in_force(default, limit.unit)
        empty = ""
        if default is None:
            empty = " Leave it empty for no limit."
        st.caption(
            f"{limit.about} By default: {usual}.{empty} "
            f"In the environment: {markdown.literal(f'AGENTKIT_{name.upper()}')}."
        )
        with st.container(horizontal=True):
            saved = st.form_submit_button("Save", type="primary", key="save-limit")
            reset = value != default and st.form_submit_button(
                f"Back to the default: {usual}", key="reset-limit"
            )
    if not (saved or reset):
        return
    try:
        chosen = None
        if not reset:
            chosen = read_value(text, limit, may_be_empty=default is None)
        state.workspace().adopt(choose(settings, name, chosen))
    except ValueError as problem:
        st.error(markdown.literal(str(problem)), icon=":material/error:")
    except (AgentkitError, OSError) as error:
        st.error(markdown.literal(f"It could not be kept: {error}"), icon=":material/error:")
    else:
        dialogs.close()
        st.rerun()


def read_value(text: str, limit: Limit, *, may_be_empty: bool) -> float | None:
    """The number in a field; None for an empty one. Raises ValueError saying what to enter."""
    plain = text.strip()
    if not plain and may_be_empty:
        return None
    if _GROUPED.fullmatch(plain):
        plain = _BETWEEN.sub("", plain)
    form, kind, read = _FRACTIONS
    if limit.whole:
        form, kind, read = _WHOLES
    if form.fullmatch(plain) and float(plain):
        return read(plain)
    wanted = f"{limit.title}: enter {kind} above 0, such as {limit.example}"
    if _TOO_LONG.fullmatch(plain):
        wanted = f"{limit.title}: enter {kind} of at most 15 digits"
    if may_be_empty:
        wanted += ", or nothing for no limit"
    shown = f"{text.strip():.40}" or "nothing"
    raise ValueError(f"{wanted}, not {shown!r}.")
