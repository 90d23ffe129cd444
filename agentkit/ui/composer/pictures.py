"""Pictures that the next question goes with: chosen by a button beside the composer, or a page of
a document that stands open; what they take is told before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import PurePath

import streamlit as st

from agentkit.documents import PICTURES
from agentkit.errors import AgentkitError
from agentkit.llm.calls.pictures import Picture, count_most
from agentkit.llm.model import Model
from agentkit.llm.sight import Sight, find_sight
from agentkit.messages import new_id
from agentkit.teams import Question
from agentkit.ui.shared import kept, state, uploads
from agentkit.ui.steps.pictures import TINY_PX, draw_picture
from agentkit.ui.text import figures, markdown
from agentkit.workspace import pictures

ENDINGS = frozenset(PICTURES)
"""How files are called that are looked at; all others are documents, which are taken in."""
_FIELD = "picture-field"
_SEES: dict[Sight, str] = {
    "sees": "{} sees pictures.",
    "blind": "{} does not see pictures: it will only be told that they are there. Choose a model"
    " that sees.",
    "unknown": "Whether {} sees pictures is not known here: its server will say.",
}


def is_picture(name: str) -> bool:
    """Whether a file of this name is looked at, and not taken in."""
    return PurePath(name).suffix.lower() in ENDINGS


def read_chosen(chat_id: str | None) -> tuple[Picture, ...]:
    """What goes with the next question."""
    told = kept.get(chat_id, "pictures")
    if not told:
        return ()
    return Question.from_json({"text": "", "pictures": told}).pictures


def forget(chat_id: str | None) -> None:
    """The question was sent: the next one has none."""
    kept.put(chat_id, "pictures", None)


def prepare(files: Iterable[uploads.Uploaded]) -> tuple[list[Picture], list[str]]:
    """The pictures in these files, and what is wrong with the other files."""
    made: list[Picture] = []
    problems: list[str] = []
    for file in files:
        file.seek(0)
        try:
            picture = pictures.prepare_bytes(state.workspace().settings, file.read(), file.name)
            made.append(picture)
        except AgentkitError as error:
            problems.append(str(error))
    return made, problems


def add(chat_id: str | None, made: Sequence[Picture]) -> None:
    """Let these go with the next question, too."""
    together = (*read_chosen(chat_id), *made)
    _put(chat_id, together)


def add_page(chat_id: str | None, content: bytes, name: str) -> None:
    """Let a page of a document go with the next question."""
    settings = state.workspace().settings
    try:
        made = pictures.prepare_bytes(settings, content, name)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    add(chat_id, [made])
    st.toast(f"The next question goes with {markdown.literal(name)}.", icon=":material/image:")


def draw_button() -> None:
    """Opens the field for pictures."""
    popover = st.popover(
        "Pictures",
        icon=":material/image:",
        type="tertiary",
        key="pictures",
        help="Show the model pictures with the next question. They can also be attached to it, or"
        " pasted into it.",
        on_change="rerun",
    )
    if popover.open:
        with popover:
            _draw_field()


def draw_line(now: Question) -> None:
    """What goes with the next question, each with the way to take it away, and what is to be known
    about it.
    """
    shown = read_chosen(now.chat_id)
    if not shown:
        return
    with st.container(horizontal=True, gap="small", key="next-pictures"):
        for number, picture in enumerate(shown):
            _draw_next(now.chat_id, number, picture)
    model = state.workspace().model(now.model_id)
    st.caption(f":material/image: {describe(now)} (estimate). {_describe_sight(model)}")


def describe(now: Question) -> str:
    """How many pictures the next question has and what they take; empty for none."""
    shown = read_chosen(now.chat_id)
    if not shown:
        return ""
    tokens = figures.count(count_tokens(now), "token")
    many = figures.count(len(shown), "picture")
    return f"{many}: about {tokens}"


def count_tokens(now: Question) -> int:
    """About how many tokens the chosen pictures take with the model that is chosen."""
    name = state.workspace().model(now.model_id).name
    counted = (picture.count_tokens(name) for picture in read_chosen(now.chat_id))
    return sum(map(itemgetter(0), counted))


def describe_most(now: Question) -> str:
    """What a picture takes at most that is attached to the question itself."""
    name = state.workspace().model(now.model_id).name
    most = figures.count(count_most(name), "token")
    return f"A picture that is attached in the field takes at most about {most} more (estimate)."


def _draw_field() -> None:
    key = st.session_state.setdefault(_FIELD, new_id())
    st.file_uploader(
        "Pictures for the next question",
        type=sorted(ENDINGS),
        accept_multiple_files=True,
        key=key,
        max_upload_size=state.workspace().settings.max_file_mb,
        on_change=partial(_take, key),
    )
    st.caption(
        "PNG, JPEG, WebP or GIF (its first picture). They are made smaller, kept with the chat, and"
        " shown to the model with this one question; later ones know their names."
    )


def _take(key: str) -> None:
    """Prepare what was chosen; the field is empty again then."""
    made, problems = prepare(st.session_state[key] or ())
    chat_id = st.query_params.get("chat")
    add(chat_id, made)
    for problem in problems:
        st.toast(markdown.literal(problem), icon=":material/error:", duration="infinite")
    st.session_state[_FIELD] = new_id()


def _draw_next(chat_id: str | None, number: int, picture: Picture) -> None:
    with st.container(width="content", horizontal=True, vertical_alignment="center", gap="small"):
        draw_picture(picture, f"next-{number}", TINY_PX)
        st.button(
            f"Remove {markdown.literal(picture.name)}",
            key=f"picture-remove-{picture.kept}",
            icon=":material/close:",
            type="tertiary",
            on_click=_remove,
            args=(chat_id, picture),
        )


def _remove(chat_id: str | None, picture: Picture) -> None:
    _put(chat_id, [one for one in read_chosen(chat_id) if one.kept != picture.kept])


def _put(chat_id: str | None, shown: Sequence[Picture]) -> None:
    once = dict(zip(map(attrgetter("kept"), shown), shown, strict=True))
    told = Question("", pictures=tuple(once.values())).to_json()
    kept.put(chat_id, "pictures", told.get("pictures"))


def _describe_sight(model: Model) -> str:
    return _SEES[find_sight(model)].format(markdown.literal(model.label))
