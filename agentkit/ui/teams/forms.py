"""Forms made from the models of a team's document: a widget for each field, and what is wrong
below it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import streamlit as st

from agentkit.core.lenient import read_whole
from agentkit.teams.built.agents import Part
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts
from agentkit.ui.teams.checking import Checked, find_place
from agentkit.ui.teams.consequences import Path
from agentkit.ui.teams.drafts import Draft
from agentkit.ui.teams.fields import ONLY_WITH, Kind, Known, list_fields
from agentkit.ui.teams.rows import (
    ADD,
    describe_row,
    leave_out,
    list_taken,
    make_default,
    make_row,
)
from agentkit.ui.text import figures, markdown

CODE_FONT = (
    "<style>[class*='st-key-team-'][class$='-code'] textarea,"
    " [class*='st-key-team-'][class*='-code '] textarea,"
    " [class*='st-key-team-'][class*='-given'] textarea"
    " { font-family: monospace; font-size: 0.875rem; }</style>"
)
"""For fields with code, by the ends of their keys."""
_SHORT: frozenset[Kind] = frozenset(["number", "number or word", "switch", "choice"])
_WIDTH = 230  # pixels of a field that needs not much
_WIDTHS = {"ToolUse": 195, "ModelChoice": 195, "CompressConfig": 195, "ReplyField": 195}
"""Of parts within a row, so that two of their fields fit beside each other."""
_FOLDED = ("AgentDocument", "Stage", "WrittenFunction")
"""Rows that are drawn when they are opened: there may be many, and each has much."""
_REPEAT = {None: "As the library does", True: "Yes", False: "No", "list": "Only these"}


@dataclass(frozen=True, slots=True)
class Form:
    """A draft, what is wrong with it, and what its fields may be chosen from."""

    draft: Draft
    checked: Checked
    agents: Sequence[str]
    offers: Mapping[tuple[str, str], Mapping[str, str]]
    """By part and field, the values with what they are called."""
    below: Mapping[str, Callable[[Form, Path], None]] = dataclasses.field(default_factory=dict)
    """By part, what is drawn below the fields of a row."""
    fixed: bool = False
    """Whether it is only to be looked at."""

    def value(self, path: Path) -> Any:
        """What stands in the draft."""
        at: Any = self.draft.document
        for part in path:
            at = at.get(part) if isinstance(at, dict) else at[part]
        return at

    def keep(self, path: Path, key: str, read: Callable[[Any], Any]) -> None:
        """Take over what a widget holds."""
        drafts.put(self.draft.id, path, read(st.session_state[key]))


@dataclass(frozen=True, slots=True)
class Field:
    """One field at its place."""

    form: Form
    part: type[Part]
    known: Known
    path: Path

    @property
    def value(self) -> Any:
        """What stands in the draft; of a field that an older version did not know, its default."""
        found = self.form.value(self.path)
        is_missing = found is None and not self.known.shape.optional
        return self.known.default if is_missing else found

    @property
    def place(self) -> str:
        """Where it is, as problems name it."""
        return find_place(self.path)

    def widget(self, read: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
        """What all widgets are given: key, help, and who takes over what is typed."""
        key = self.form.draft.key(*self.path)
        return {
            "key": key,
            "help": markdown.literal(self.known.about),
            "on_change": self.form.keep,
            "args": (self.path, key, read),
            "disabled": self.form.fixed,
        }


def draw_part(form: Form, part: type[Part], path: Path, leave_out: Sequence[str] = ()) -> None:
    """All fields of a part: those that are often changed, and the others folded."""
    fields = [
        Field(form, part, known, (*path, known.key))
        for known in list_fields(part)
        if known.shape.kind not in ("fixed", "flow") and known.key not in leave_out
    ]
    fields = [one for one in fields if _is_used(one)]
    _draw_fields([one for one in fields if not one.known.rare])
    rare = [one for one in fields if one.known.rare]
    if not rare:
        return
    wrong = sum(len(list(form.checked.within(one.place))) for one in rare)
    label = f"More ({figures.count(wrong, 'problem')})" if wrong else "More"
    if folded := _unfold(label, form.draft.spot("more", *path), "compact"):
        with folded:
            _draw_fields(rare)


def _is_used(field: Field) -> bool:
    """Whether it says something as the others are; what is wrong there is always shown."""
    key = (field.part.__name__, field.known.key)
    if key not in ONLY_WITH or field.place in field.form.checked.problems:
        return True
    other, wanted = ONLY_WITH[key]
    return bool(field.form.value((*field.path[:-1], other)) == wanted)


def _unfold(label: str, key: str, kind: Literal["default", "compact"]) -> Any:
    """An expander that is open, else None; with another label it stays as it was, which Streamlit
    takes for a new one.
    """
    was_open = f"{key}-open"
    before = bool(st.session_state.get(was_open))
    folded = st.expander(label, before, key=key, type=kind, on_change="rerun")
    st.session_state[was_open] = bool(folded.open)
    return folded if folded.open else None


def draw_rows(field: Field, *, headed: bool = True) -> None:
    """A list of parts: rows that can be changed, moved, taken out, and put in."""
    rows, part = field.value or [], field.known.shape.part
    assert part is not None  # so a list of parts is read
    if headed:
        st.markdown(f"**{field.known.label}**", help=markdown.literal(field.known.about))
    _draw_problems(field)
    for place, row in enumerate(rows):
        _draw_row(field, part, place, describe_row(row))
    if not field.form.fixed:
        _draw_add(field, part, rows)
    elif not rows:
        st.caption("None.")


def _draw_add(field: Field, part: type[Part], rows: Sequence[Any]) -> None:
    """A button for one more row, or what can be put in, where rows are named by what is offered."""
    form = field.form
    taken = list_taken(rows)
    if (part.__name__, "name") in form.offers:
        _draw_add_offered(field, part, taken)
        return

    def add(old: list[Any]) -> list[Any]:
        st.session_state[form.draft.spot("row", *field.path, len(old))] = True
        return [*old, make_row(part, form.agents, taken)]

    st.button(
        ADD.get(part.__name__, "Add"),
        key=form.draft.key("add", *field.path),
        icon=":material/add:",
        on_click=drafts.change_list,
        args=(form.draft.id, field.path, add),
    )


def _draw_add_offered(field: Field, part: type[Part], taken: Sequence[str]) -> None:
    offered = field.form.offers[part.__name__, "name"]
    key = field.form.draft.key("add", *field.path)
    st.selectbox(
        ADD[part.__name__],
        leave_out(list(offered), taken),
        None,
        format_func=lambda one: offered.get(one, one),
        key=key,
        placeholder=ADD[part.__name__],
        label_visibility="collapsed",
        on_change=_add_chosen,
        args=(field, part, key),
    )


def _add_chosen(field: Field, part: type[Part], key: str) -> None:
    row = {**make_row(part, field.form.agents), "name": st.session_state[key]}
    drafts.change_list(field.form.draft.id, field.path, lambda rows: [*rows, row])


def _draw_row(field: Field, part: type[Part], place: int, title: str) -> None:
    form, path = field.form, (*field.path, place)
    label = markdown.literal(title)
    if part.__name__ not in _FOLDED:
        with st.container(border=True, gap="xsmall", key=form.draft.key("row", *path)):
            _draw_moves(field, place, title, f"**{label}**")
            draw_part(form, part, path)
        return
    wrong = len(list(form.checked.within(find_place(path))))
    told = f"{label} · :red[{figures.count(wrong, 'problem')}]" if wrong else label
    if folded := _unfold(told, form.draft.spot("row", *path), "default"):
        with folded:
            _draw_moves(field, place, title)
            draw_part(form, part, path)
            if draw_more := form.below.get(part.__name__):
                draw_more(form, path)


def _draw_moves(field: Field, place: int, title: str, shown: str = "") -> None:
    """Up, down, and out, behind what is shown of the row."""
    if field.form.fixed:
        st.markdown(shown)
        return
    last = len(field.value) - 1
    name = markdown.literal(title)
    ways = (
        ("up", f"Move {name} up", ":material/arrow_upward:", place == 0, _move, -1),
        ("down", f"Move {name} down", ":material/arrow_downward:", place == last, _move, 1),
        ("drop", f"Take {name} out", ":material/delete:", False, _take_out, 0),
    )
    with st.container(horizontal=True, gap=None, vertical_alignment="center"):
        st.markdown(shown, width="stretch")
        for what, about, icon, disabled, change, by in ways:
            st.button(
                about,
                key=field.form.draft.key("move", what, *field.path, place),
                icon=icon,
                type="tertiary",
                disabled=disabled,
                on_click=_change,
                args=(field, partial(change, place=place, by=by)),
            )


def _change(field: Field, change: Callable[[list[Any]], list[Any]]) -> None:
    """Move a row or take it out, once: a second click would mean the row that comes there."""
    if not state.is_repeated(change):
        drafts.change_list(field.form.draft.id, field.path, change)


def _move(rows: list[Any], *, place: int, by: int) -> list[Any]:
    rows.insert(place + by, rows.pop(place))
    return rows


def _take_out(rows: list[Any], *, place: int, by: int) -> list[Any]:
    return rows[:place] + rows[place + 1 :]


def _draw_fields(fields: Sequence[Field]) -> None:
    """Texts first, then the short ones side by side, then those that are large, or that another
    one brings with it.
    """
    short = [one for one in fields if one.known.shape.kind in _SHORT]
    texts = [one for one in fields if _is_text(one)]
    for field in texts:
        draw_field(field)
    if short:
        with st.container(horizontal=True, gap="small"):
            for field in short:
                width = _WIDTHS.get(field.part.__name__, _WIDTH)
                with st.container(width=width, gap=None):
                    draw_field(field)
    for field in fields:
        if field not in short and field not in texts:
            draw_field(field)


def _is_text(field: Field) -> bool:
    is_brought = (field.part.__name__, field.known.key) in ONLY_WITH
    return field.known.shape.kind in ("text", "long text") and not is_brought


def draw_field(field: Field) -> None:
    """The widget of a field, and below it what is wrong with it."""
    if field.known.shape.kind == "parts":
        draw_rows(field)
        return
    offered = field.form.offers.get((field.part.__name__, field.known.key))
    if offered is not None:
        _draw_offer(field, offered)
    else:
        _DRAW[field.known.shape.kind](field)
    _draw_problems(field)


def _draw_problems(field: Field) -> None:
    for text in field.form.checked.problems.get(field.place, ()):
        st.caption(f":red[:material/error: {markdown.literal(text)}]")
    if unread := field.form.checked.unread.get(field.place):
        st.caption(f":material/info: {unread}")


def _draw_offer(field: Field, offered: Mapping[str, str]) -> None:
    value = str(field.value or "")
    options = list(dict.fromkeys([*offered, value]))
    st.selectbox(
        field.known.label,
        options,
        options.index(value),
        format_func=lambda one: offered.get(one, one),
        **field.widget(),
    )


def _draw_text(field: Field) -> None:
    st.text_input(field.known.label, str(field.value or ""), **field.widget())


def _draw_long(field: Field) -> None:
    st.text_area(field.known.label, str(field.value or ""), height=120, **field.widget())


def _draw_code(field: Field) -> None:
    text = str(field.value or "")
    lines = text.count("\n") + 3
    st.html(CODE_FONT)
    st.text_area(field.known.label, text, height=min(480, 50 + 26 * lines), **field.widget())


def _draw_number(field: Field) -> None:
    shape, kind = field.known.shape, int if field.known.shape.whole else float
    value = field.value
    st.number_input(
        field.known.label,
        value=None if value is None else kind(value),
        min_value=None if shape.least is None else kind(shape.least),
        max_value=None if shape.most is None else kind(shape.most),
        step=1 if shape.whole else 0.1,
        placeholder="by default",
        **field.widget(),
    )


def _draw_number_or_word(field: Field) -> None:
    st.text_input(field.known.label, str(field.value), **field.widget(_to_number))


def _to_number(text: str) -> int | str:
    number = read_whole(text.strip())
    return text.strip() if number is None else number


def _draw_switch(field: Field) -> None:
    if field.known.shape.optional:
        options = {None: "As the library does", True: "Yes", False: "No"}
        _draw_select(field, options)
        return
    st.toggle(field.known.label, bool(field.value), **field.widget())


def _draw_choice(field: Field) -> None:
    shape = field.known.shape
    names = shape.options or tuple(field.form.agents)
    empty: dict[Any, str] = {None: "By default"} if shape.optional else {}
    known = {**empty, **{one: str(one) for one in names}}
    _draw_select(field, {**known, field.value: known.get(field.value, str(field.value))})


def _draw_select(field: Field, options: Mapping[Any, str]) -> None:
    st.selectbox(
        field.known.label,
        list(options),
        list(options).index(field.value),
        format_func=lambda one: options.get(one, str(one)),
        **field.widget(),
    )


def _draw_lines(field: Field) -> None:
    text = "\n".join(map(str, field.value or []))
    label = f"{field.known.label} (one in a line)"
    st.text_area(label, text, height=90, **field.widget(_to_lines))


def _to_lines(text: str) -> list[str]:
    return list(filter(None, map(str.strip, text.splitlines())))


def _draw_names(field: Field) -> None:
    chosen = [str(one) for one in field.value or []]
    options = list(dict.fromkeys([*field.form.agents, *chosen]))
    st.multiselect(field.known.label, options, chosen, **field.widget(list))


def _draw_repeat(field: Field) -> None:
    value = field.value
    now = "list" if isinstance(value, list) else value
    agents = list(field.form.agents)
    st.selectbox(
        field.known.label,
        list(_REPEAT),
        list(_REPEAT).index(now),
        format_func=_REPEAT.__getitem__,
        **field.widget(lambda chosen: agents if chosen == "list" else chosen),
    )
    if isinstance(value, list):
        widget = field.widget(list)
        key = f"{widget['key']}-names"
        given = {**widget, "key": key, "args": (field.path, key, list)}
        st.multiselect("Who may", list(dict.fromkeys([*agents, *value])), value, **given)


def _draw_values(field: Field) -> None:
    """Values by name, as JSON; any other text stays as it is, and the page says so."""
    value = field.value
    text = value if isinstance(value, str) else json.dumps(value or {}, ensure_ascii=False)
    st.text_area(f"{field.known.label} (JSON)", text, height=90, **field.widget(_to_values))


def _to_values(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _draw_nested(field: Field) -> None:
    part, label = field.known.shape.part, field.known.label
    assert part is not None  # so a part is read
    if field.known.shape.optional:
        default = make_default(part)
        st.toggle(
            label,
            field.value is not None,
            **field.widget(lambda on: default if on else None),
        )
    else:
        st.markdown(f"**{label}**", help=markdown.literal(field.known.about))
    if field.value is not None:
        with st.container(border=True, gap="small", key=field.form.draft.key("in", *field.path)):
            draw_part(field.form, part, field.path)


_DRAW: Mapping[Kind, Callable[[Field], None]] = {
    "text": _draw_text,
    "long text": _draw_long,
    "code": _draw_code,
    "number": _draw_number,
    "number or word": _draw_number_or_word,
    "switch": _draw_switch,
    "choice": _draw_choice,
    "lines": _draw_lines,
    "names": _draw_names,
    "repeat": _draw_repeat,
    "values": _draw_values,
    "part": _draw_nested,
}
