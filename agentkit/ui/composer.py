"""The composer at the foot of a chat: what is asked, of whom, over which documents, with which files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.documents import SUPPORTED
from agentkit.errors import AgentkitError, StoreError
from agentkit.ledger import Chat
from agentkit.retrieval import Source
from agentkit.retrieval.types import Scope
from agentkit.teams import TEAMS, team, variants
from agentkit.ui import draw, figures, markdown, narrowing, state, uploads
from agentkit.workspace import DEFAULT_COLLECTION, EVERYTHING

WIDTH = 736  # pixels: the reading column
_PROBLEM, _QUEUED, _LEVEL = "chat-problem", "chat-queued", "steps-level"


@dataclass(frozen=True, slots=True)
class Choice:
    """Whom and what the next question asks."""

    collection: str
    team: str
    model: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that is ready to be asked; `parent_id` as in `Workspace.ask`."""

    chat_id: str | None
    text: str
    choice: Choice
    files: tuple[Source, ...] = ()
    keep: bool = False
    parent_id: str | None = None
    scope: Scope = EVERYTHING


def send(draft: Draft) -> None:
    """Ask, or queue the question while the chat is still answering; a problem is kept for the page to show."""
    workspace, owner = state.workspace(), state.owner()
    st.session_state.pop(_PROBLEM, None)
    if draft.chat_id and runs.live(owner, chat_id=draft.chat_id):
        st.session_state[_QUEUED] = [*_queued(), draft]
        return
    try:
        if draft.choice.collection not in collections():
            workspace.library.create_collection(owner, draft.choice.collection)
        run = workspace.ask(
            owner,
            draft.text,
            collection=draft.choice.collection,
            team_id=draft.choice.team,
            model_id=draft.choice.model,
            chat_id=draft.chat_id,
            parent_id=draft.parent_id,
            attachments=draft.files,
            keep_attachments=draft.keep,
            scope=draft.scope,
        )
    except AgentkitError as error:
        st.session_state[_PROBLEM] = (draft, str(error))
        return
    if run.chat_id:
        st.query_params["chat"] = run.chat_id
        if draft.chat_id is None:
            narrowing.follow(run.chat_id, draft.choice.collection)


def send_queued(chat: Chat) -> None:
    """Ask the first of what was typed while the chat was answering, once it has answered."""
    waiting = [draft for draft in _queued() if draft.chat_id == chat.id]
    if waiting and not runs.live(state.owner(), chat_id=chat.id):
        _take_back(waiting[0])
        send(waiting[0])


def draw_pending(chat_id: str | None) -> None:
    """What waits to be asked in this chat, and what could not be asked."""
    for number, queued in enumerate(draft for draft in _queued() if draft.chat_id == chat_id):
        key = f"unqueue-{number}"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f":material/schedule: Asked after this answer: {markdown.literal(queued.text)}", width="stretch")
            st.button("Take back", key=key, type="tertiary", icon=":material/undo:", on_click=_take_back, args=(queued,))
    draft, problem = st.session_state.get(_PROBLEM, (None, ""))
    if draft and draft.chat_id == chat_id:
        st.error(f"**Not asked:** {markdown.literal(draft.text)}\n\n{markdown.literal(problem)}", icon=":material/error:")
        st.button("Try again", key="send-again", icon=":material/refresh:", on_click=send, args=(draft,))


def choice(chat: Chat | None, known: Mapping[str, int]) -> Choice:
    """What is chosen for this chat now: in the composer, else in the chat, else in the latest one.

    What does not exist any more is passed over. A new chat takes the default model, if one was
    chosen, before that of the latest one.
    """
    latest = chat or next(iter(state.workspace().ledger.chats(state.owner(), limit=1)), None)
    models = [model.id for model in state.workspace().models()]
    default = state.workspace().settings.default_model
    fullest = max(known, key=known.__getitem__, default=DEFAULT_COLLECTION)

    def first_known(what: str, options: Sequence[str], otherwise: str) -> str:
        chosen = default if what == "model" and chat is None else None
        candidates = (st.session_state.get(_key(what, chat)), chosen, getattr(latest, what, None))
        return next((str(value) for value in candidates if value in options), otherwise)

    return Choice(
        first_known("collection", list(known), fullest),
        first_known("team", [one.id for one in TEAMS], TEAMS[0].id),
        first_known("model", models, models[0]),
    )


def forget_model() -> None:
    """Let the next new chat begin with the default model, whatever this session had chosen."""
    st.session_state.pop(_key("model", None), None)


def collections() -> dict[str, int]:
    """The owner's collections with their number of documents."""
    return {found.name: found.documents for found in state.workspace().library.collections(state.owner())}


def draw_composer(chat: Chat | None, known: Mapping[str, int], *, answering: bool) -> None:
    """The row of choices and the input, at the foot of the page."""
    settings, chat_id, collection = state.workspace().settings, chat.id if chat else None, choice(chat, known).collection
    with st.bottom, st.container(width=WIDTH, gap="xsmall"):
        place = st.container()  # filled last: the dialog below says what stands there
        with st.container(horizontal=True, vertical_alignment="center"):
            _draw_choice(chat, known)
            narrowing.draw_button(chat_id, collection)
            st.toggle(
                "Keep attached files in the collection",
                key="keep-files",
                help="Off: files attached here are used in this chat only and are deleted with it. "
                "On: they are added to the collection, for all chats.",
            )
        with place:
            narrowing.draw_line(chat_id, collection)
        st.chat_input(
            "Answering; what you send now is asked next" if answering else "Ask your documents, or attach files",
            key="composer",
            accept_file="multiple",
            file_type=sorted(SUPPORTED),
            max_upload_size=settings.max_file_mb,
            on_submit=_submit,
            args=(chat,),
        )


def _submit(chat: Chat | None) -> None:
    value: Any = st.session_state["composer"]
    if not value or not (value.text.strip() or value.files):
        return
    try:
        files = tuple(uploads.to_disk(value.files, state.workspace().settings))
    except StoreError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:", duration="infinite")
        return
    text = value.text.strip() or f"What is in {', '.join(source.name for source in files)}?"
    asked, chat_id, keep = choice(chat, collections()), chat.id if chat else None, bool(st.session_state.get("keep-files"))
    send(Draft(chat_id, text, asked, files, keep, scope=narrowing.chosen(chat_id, asked.collection)))


def _draw_choice(chat: Chat | None, known: Mapping[str, int]) -> None:
    now, models = choice(chat, known), {model.id: model.label for model in state.workspace().models()}
    chosen = team(now.team)
    label = " · ".join(markdown.literal(part) for part in (now.collection, chosen.title, models[now.model]))
    with st.popover(label, icon=":material/tune:", type="tertiary", key="choice"):
        names = list(known) or [now.collection]
        for what, value in asdict(now).items():
            st.session_state[_key(what, chat)] = value
        _select("Collection", "collection", chat, names, lambda name: f"{name} ({figures.count(known.get(name, 0), 'document')})")
        _draw_team(chat, now)
        _select("Model", "model", chat, list(models), models.__getitem__)
        if now.model == "offline":
            st.caption("This is no language model: it quotes the sentences that answer, word for word.")
        _draw_level()


def _draw_team(chat: Chat | None, now: Choice) -> None:
    """One entry for each kind of team, and below it the variants of the chosen one."""
    chosen = team(now.team)
    kinds = [chosen.id if known.kind == chosen.kind else known.id for known in TEAMS if team(known.kind) is known]

    def named(team_id: str) -> str:
        # The same whatever the model is: a browser knows the chosen option by its text.
        return team(team_id).name + (" (needs a language model)" if team(team_id).needs_language_model else "")

    _select("Team", "team", chat, kinds, named)
    st.caption(chosen.description)
    if chosen.variant:
        st.session_state[_key("variant", chat)] = chosen.id
        others = [known.id for known in variants(chosen.kind)]
        st.selectbox(
            "Who speaks next", others, format_func=lambda team_id: team(team_id).variant, key=_key("variant", chat),
            on_change=_keep_variant, args=(chat,),
        )  # fmt: skip
    if now.model == "offline" and chosen.needs_language_model:
        st.warning("This team needs a language model. Choose one below, or connect one first.", icon=":material/warning:")
        st.page_link(state.PAGES / "settings.py", label="Connect a model", icon=":material/tune:")


def level() -> draw.Level:
    """How much of the steps this session wants to see."""
    chosen: draw.Level = st.session_state.get(_LEVEL, "calls")
    return chosen


def _draw_level() -> None:
    st.session_state["level-choice"] = level()
    names = {"answer": "Answer only", "calls": "Calls", "everything": "Everything"}
    st.segmented_control(
        "What is shown above an answer", list(names), format_func=names.__getitem__, key="level-choice", on_change=_keep_level,
        required=True,
    )  # fmt: skip


def _keep_level() -> None:
    st.session_state[_LEVEL] = st.session_state["level-choice"]


def _select(label: str, what: str, chat: Chat | None, options: list[str], show: Any) -> None:
    st.selectbox(label, options, format_func=show, key=_key(what, chat), on_change=_keep, args=(what, chat))


def _keep(what: str, chat: Chat | None) -> None:
    if chat:
        state.workspace().ledger.update_chat(state.owner(), chat.id, **{what: st.session_state[_key(what, chat)]})


def _keep_variant(chat: Chat | None) -> None:
    st.session_state[_key("team", chat)] = st.session_state[_key("variant", chat)]
    _keep("team", chat)


def _key(what: str, chat: Chat | None) -> str:
    return f"{what}-{chat.id if chat else 'new'}"


def _queued() -> list[Draft]:
    """The questions that wait for an answer to end, in the order in which they were sent."""
    queued: list[Draft] = st.session_state.get(_QUEUED, [])
    return queued


def _take_back(draft: Draft) -> None:
    st.session_state[_QUEUED] = [other for other in _queued() if other is not draft]
