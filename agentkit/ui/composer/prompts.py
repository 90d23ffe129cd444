"""The prompt library: what is asked again and again, chosen beside the composer or by `/` in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from agentkit.core.given import join_filled
from agentkit.core.text import shorten
from agentkit.errors import AgentkitError
from agentkit.ledger.prompts import (
    LONGEST_NAME,
    LONGEST_TEXT,
    Prompt,
    Variable,
    fill,
    find_variables,
)
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown, times

PROMPTS = "Prompts"
_FORM = "variable"
_BEGINNING = 80  # characters of a prompt that are shown of it in the list
Use = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Uses:
    """What can be done with the text of a prompt."""

    put: Use
    """Put it into the composer."""
    ask: Use
    """Ask it."""


@dataclass(frozen=True, slots=True)
class View:
    """What the dialog shows: the `list`, or one prompt to `fill`, `edit`, `look` at or `delete`."""

    what: str = "list"
    prompt: Prompt | None = None


def draw_button() -> None:
    """What opens the library, beside the composer."""
    st.button(
        PROMPTS,
        icon=":material/bookmarks:",
        type="tertiary",
        key="prompts",
        help="Texts that you ask again and again; a / in the empty field opens them, too.",
        on_click=show,
    )


def show(view: View | None = None) -> None:
    """Open the library, from the next drawing on."""
    dialogs.ask(PROMPTS, view or View())


def draw_dialog(uses: Uses) -> None:
    """The library, if it is open."""
    if dialogs.read_open()[0] == PROMPTS:
        _library(uses)


@dialogs.dialog(PROMPTS)
def _library(uses: Uses) -> None:
    name, view = dialogs.read_open()
    if name != PROMPTS:  # it was just closed
        st.rerun()
    match view:
        case View("fill", Prompt() as prompt):
            _draw_fill(prompt, uses)
        case View("edit", prompt):
            _draw_edit(prompt)
        case View("look", Prompt() as prompt):
            _draw_versions(prompt)
        case View("delete", Prompt() as prompt):
            _draw_delete(prompt)
        case _:
            _draw_list(uses)
    if not dialogs.read_open()[0]:
        st.rerun()


def _draw_list(uses: Uses) -> None:
    known = state.workspace().prompts.all(state.owner())
    if not known:
        st.markdown(
            "There are no prompts yet. A prompt is a text with a name; what changes from time to"
            " time stands in it as `{{topic}}`, or with a default as `{{language:English}}`."
        )
    for prompt in known:
        _draw_row(prompt, uses)
    st.button(
        "New prompt",
        key="new-prompt",
        icon=":material/add:",
        type="tertiary" if known else "primary",
        on_click=show,
        args=(View("edit"),),
    )


def _draw_row(prompt: Prompt, uses: Uses) -> None:
    menu = f"prompt-menu-{prompt.id}"
    views = {"Edit": "edit", "Versions": "look", "Delete": "delete"}

    def choose() -> None:
        show(View(views[st.session_state[menu]], prompt))

    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
        with st.container(gap=None):
            st.button(
                f"**{markdown.literal(prompt.name)}**",
                key=f"prompt-{prompt.id}",
                type="tertiary",
                on_click=_choose,
                args=(prompt, uses),
            )
            st.caption(markdown.literal(shorten(prompt.text, _BEGINNING)))
        st.menu_button(
            f"Change {markdown.literal(prompt.name)}",  # seen by screen readers only
            list(views),
            key=menu,
            type="tertiary",
            help=f"Change {markdown.literal(prompt.name)}",
            on_click=choose,
        )


def _choose(prompt: Prompt, uses: Uses) -> None:
    """Ask for its variables; without any it goes into the composer at once."""
    if find_variables(prompt.text):
        show(View("fill", prompt))
        return
    dialogs.close()
    uses.put(fill(prompt.text, {}))


def _draw_fill(prompt: Prompt, uses: Uses) -> None:
    variables = find_variables(prompt.text)
    with st.form("fill-prompt", border=False):
        st.markdown(f"**{markdown.literal(prompt.name)}**")
        for place, one in enumerate(variables):
            st.text_input(
                markdown.literal(one.name),
                key=f"{_FORM}-{prompt.id}-{prompt.version}-{place}",
                placeholder="" if one.default is None else one.default,
            )
        with st.container(horizontal=True, gap="small"):
            put = st.form_submit_button("Put into the field", key="put-prompt", type="primary")
            asked = st.form_submit_button("Ask", key="ask-prompt", icon=":material/send:")
            back = st.form_submit_button("Back", key="leave-prompt", type="tertiary")
    if back:
        _go_to_list()
    if put or asked:
        _use(prompt, variables, uses.put if put else uses.ask)


def _use(prompt: Prompt, variables: list[Variable], use: Use) -> None:
    values = {
        one.name: str(st.session_state[f"{_FORM}-{prompt.id}-{prompt.version}-{place}"])
        for place, one in enumerate(variables)
    }
    try:
        text = fill(prompt.text, values)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    dialogs.close()
    use(text)


def _draw_edit(prompt: Prompt | None) -> None:
    key = prompt.id if prompt else "new"
    with st.form("edit-prompt", border=False):
        name = st.text_input(
            "Name", prompt.name if prompt else "", max_chars=LONGEST_NAME, key=f"name-{key}"
        )
        text = st.text_area(
            "Text",
            prompt.text if prompt else "",
            height=200,
            max_chars=LONGEST_TEXT,
            key=f"text-{key}",
            placeholder="Summarise what the documents say about {{topic}} in {{language:English}}.",
        )
        st.caption("`{{name}}` is asked for each time; `{{name:default}}` may be left as it is.")
        with st.container(horizontal=True, gap="small"):
            saved = st.form_submit_button("Save", key="save-prompt", type="primary")
            back = st.form_submit_button("Back", key="leave-prompt", type="tertiary")
    if back:
        _go_to_list()
    if saved:
        _save(prompt, name, text)


def _save(prompt: Prompt | None, name: str, text: str) -> None:
    prompts, owner = state.workspace().prompts, state.owner()
    try:
        if prompt is None:
            prompts.create(owner, name, text)
        else:
            prompts.change(owner, prompt.id, name, text)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
    else:
        _go_to_list()


def _draw_versions(prompt: Prompt) -> None:
    prompts, owner = state.workspace().prompts, state.owner()
    st.markdown(f"**{markdown.literal(prompt.name)}**")
    try:
        latest, *earlier = prompts.versions(owner, prompt.id)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        latest, earlier = prompt, []
    _draw_version(latest, "the latest")
    for one in earlier:
        _draw_version(one, "")
        st.button(
            "Bring back",
            key=f"bring-back-{one.version}",
            icon=":material/history:",
            help=f"Make version {one.version} the latest one again",
            on_click=_bring_back,
            args=(one,),
        )
    st.button("Back", key="leave-prompt", type="tertiary", on_click=show)


def _draw_version(one: Prompt, note: str) -> None:
    when = markdown.literal(times.format_time(one.created_at))
    told = join_filled(", ", [f"Version {one.version}", note, when])
    st.caption(f"{told} · {markdown.literal(one.name)}")
    st.code(one.text, language=None, wrap_lines=True)


def _bring_back(one: Prompt) -> None:
    try:
        state.workspace().prompts.bring_back(state.owner(), one.id, one.version)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
    show()


def _draw_delete(prompt: Prompt) -> None:
    st.markdown(
        f"Delete **{markdown.literal(prompt.name)}** with"
        f" {figures.count(prompt.version, 'version')}? This cannot be undone."
    )
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Delete",
            key="delete-prompt",
            type="primary",
            icon=":material/delete:",
            on_click=_delete,
            args=(prompt,),
        )
        st.button("Keep", key="keep-prompt", on_click=show)


def _delete(prompt: Prompt) -> None:
    state.workspace().prompts.delete(state.owner(), prompt.id)
    show()


def _go_to_list() -> None:
    show()
    st.rerun()
