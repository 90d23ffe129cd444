"""Whom the next question of a chat asks, over what, and how much of the work is shown: what is
chosen beside the composer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from agentkit.core.given import list_known
from agentkit.errors import WrongArgument
from agentkit.ledger import Chat
from agentkit.options import InputMode
from agentkit.teams import Question, Team, teams, variants
from agentkit.ui.composer import plan_choices, settings
from agentkit.ui.shared import kept, state
from agentkit.ui.steps import wording
from agentkit.ui.steps.step import Level
from agentkit.ui.text import figures, markdown
from agentkit.workspace import DEFAULT_COLLECTION

_LEVELS: dict[Level, str] = {
    "answer": "Answer only",
    "calls": "Calls",
    "everything": "Everything",
}
_CHOSEN = "chosen-for-new-chat"


def choice(chat: Chat | None, known: Mapping[str, int]) -> Question:
    """The next question of this chat before it is written: of whom, and over what.

    That is chosen in the composer, else in the chat, else in the latest one; what does not exist
    any more is passed over. A new chat takes the default model, if one was chosen, before that of
    the latest one, and always the first team: one that takes long or asks back is chosen each time.
    """
    latest = chat or next(iter(state.workspace().ledger.chats(state.owner(), limit=1)), None)
    default = state.workspace().settings.default_model
    own = getattr(chat, "team", ""), getattr(chat, "model", default)
    by_name, models = _teams(own[0]), list(_models())
    fullest = max(known, key=known.__getitem__, default=DEFAULT_COLLECTION)

    def first_known(what: str, options: Sequence[str], otherwise: str, *before: str | None) -> str:
        candidates = (st.session_state.get(_key(what, chat)), *before)
        return next((str(value) for value in candidates if value in options), otherwise)

    before = getattr(latest, "collection", None), getattr(latest, "model", None)
    team_id = by_name[first_known("team", list(by_name), teams()[0].id, own[0])]
    asked = state.team(team_id)
    now = Question(
        "",
        first_known("collection", list(known), fullest, before[0]),
        team_id,
        first_known("model", models, models[0], own[1], before[1]),
        chat.id if chat else None,
        human_input=_human_input(chat) if asked.takes_part else None,
        planning=plan_choices.read_chosen(chat.id if chat else None) if asked.plans else None,
    )
    return settings.ask(now, known)


def choose(what: str, value: str, known: Collection[str]) -> None:
    """Let the new chat ask this collection, team or model; raises WrongArgument for one that is
    not there.
    """
    there = {"collection": known, "team": _teams(), "model": _models()}[what]
    if value not in there:
        raise WrongArgument(f"There is no {what} {value!r}.")
    st.session_state[_key(what, None)] = value
    _remember(what, value)


def is_chosen(question: Question) -> bool:
    """Whether it was chosen whom this question of a new chat asks or over what, or all is as it is
    by itself.
    """
    now = {
        "collection": question.collection,
        "team": question.team_id,
        "model": question.model_id,
    }
    return bool(now.items() & st.session_state.get(_CHOSEN, {}).items())


def renew(question: Question) -> Question:
    """The question, asked of whom its chat asks now where its team or its model is gone, and over
    those of its further collections that are still there.
    """
    if question.also:
        there = collections()
        also = list_known(question.also, there)
        question = replace(question, also=tuple(also))
    has_team = question.team_id in _teams(question.team_id)
    if has_team and question.model_id in _models():
        return question
    chat = None
    if question.chat_id:
        chat = state.workspace().ledger.chat(state.owner(), question.chat_id)
    now = choice(chat, collections())
    return replace(question, team_id=now.team_id, model_id=now.model_id)


def draw_gone(chat: Chat, now: Question) -> None:
    """Says that the team or the model which the chat asked is gone, and who is asked instead."""
    models = _models()
    gone = {
        "team": (chat.team, _teams(chat.team), state.team(now.team_id).title),
        "model": (chat.model, models, models[now.model_id]),
    }
    for what, (before, there, instead) in gone.items():
        if before not in there:
            old, new = markdown.literal(before), markdown.literal(instead)
            st.caption(
                f":material/warning: The {what} “{old}” of this chat is no longer there. The next"
                f" question goes to {new}; another can be chosen below."
            )


def find_at_work(team_id: str) -> Team:
    """The team that answers in a chat; of one that was deleted meanwhile, what is to be known."""
    return state.find_team(team_id) or Team(team_id, team_id, "", ("",), teams()[0].work)


def _teams(asked: str = "") -> dict[str, str]:
    """The ids of the teams that there are, by themselves and by kinds alone; with the version that
    is `asked`, which need not be the newest.
    """
    known: dict[str, str] = {}
    for one in state.workspace().teams(state.owner()):
        known[one.id] = one.id
        known.setdefault(one.kind, one.id)
    if asked and asked not in known and state.find_team(asked):
        known[asked] = asked
    return known


def _models() -> dict[str, str]:
    """The models that there are, with what they are called."""
    return {model.id: model.label for model in state.workspace().models()}


def forget_model() -> None:
    """Let the next new chat begin with the default model, whatever this session had chosen."""
    st.session_state.pop(_key("model", None), None)


def collections() -> dict[str, int]:
    """The owner's collections with their number of documents."""
    return {
        found.name: found.documents
        for found in state.workspace().library.collections(state.owner())
    }


def draw_choice(chat: Chat | None, known: Mapping[str, int]) -> None:
    """The choices in short, to unfold."""
    now, models = choice(chat, known), _models()
    chosen = state.team(now.team_id)
    parts = (now.collection, chosen.title, models[now.model_id])
    label = " · ".join(map(markdown.literal, parts))
    with st.popover(label, icon=":material/tune:", type="tertiary", key="choice"):
        names = list(known) or [now.collection]
        st.session_state[_key("collection", chat)] = now.collection
        st.session_state[_key("team", chat)] = now.team_id
        st.session_state[_key("model", chat)] = now.model_id
        _select(
            "Collection",
            "collection",
            chat,
            names,
            lambda name: f"{name} ({figures.count(known.get(name, 0), 'document')})",
        )
        _draw_team(chat, now, only_offline=set(models) <= {"offline"})
        _select("Model", "model", chat, list(models), models.__getitem__)
        if now.model_id == "offline":
            st.caption(
                "This is not a language model: it quotes the sentences that answer, word for word."
            )
        _draw_level()


def _draw_team(chat: Chat | None, now: Question, *, only_offline: bool) -> None:
    """One entry for each kind of team, and below it the variants of the chosen one.

    While there is `only_offline` to choose, teams that need a language model say so.
    """
    chosen = state.team(now.team_id)
    by_kind: dict[str, Team] = {}
    for known in state.workspace().teams(state.owner()):
        by_kind.setdefault(known.kind, known)
    newest = by_kind.get(chosen.kind, chosen)
    by_kind[chosen.kind] = chosen
    by_id = {known.id: known for known in by_kind.values()}
    kinds = list(by_id)

    def name_team(team_id: str) -> str:
        # The same whatever the chosen model is: a browser knows the chosen option by its text.
        needs = only_offline and by_id[team_id].needs_language_model
        return by_id[team_id].name + (" (needs a language model)" if needs else "")

    _select("Team", "team", chat, kinds, name_team)
    st.caption(markdown.literal(chosen.description))
    if newest.id != chosen.id and not chosen.variant:
        _offer_newer(chat, chosen, newest)
    if chosen.variant:
        _draw_variants(chat, chosen)
    if chosen.takes_part:
        _draw_human_input(chat)
    if chosen.plans:
        plan_choices.draw(chat.id if chat else None)
    if now.model_id == "offline" and chosen.needs_language_model:
        st.warning(
            "This team needs a language model. Choose one below, or connect one first.",
            icon=":material/warning:",
        )
        st.page_link(state.PAGES / "settings.py", label="Connect a model", icon=":material/tune:")


def _draw_variants(chat: Chat | None, chosen: Team) -> None:
    """The choice among the forms of one team."""
    st.session_state[_key("variant", chat)] = chosen.id
    others = [known.id for known in variants(chosen.kind)]
    st.selectbox(
        wording.VARIANTS.get(chosen.kind, "Variant"),
        others,
        format_func=lambda team_id: state.team(team_id).variant,
        key=_key("variant", chat),
        on_change=_keep_variant,
        args=(chat,),
    )


def _offer_newer(chat: Chat | None, chosen: Team, newest: Team) -> None:
    """This chat goes on with the version that it used, until the person takes the newer one."""
    _, _, used = chosen.id.partition(":")
    _, _, version = newest.id.partition(":")
    st.caption(f"This chat uses version {used} of the team; there is version {version}.")
    st.button(
        f"Use version {version}",
        key="newer-team",
        icon=":material/upgrade:",
        on_click=_take_newer,
        args=(chat, newest.id),
    )


def _take_newer(chat: Chat | None, team_id: str) -> None:
    st.session_state[_key("team", chat)] = team_id
    _keep("team", chat)


def follow(chat_id: str) -> None:
    """A new chat has become this one: in it the person is asked as was chosen, in the next new one
    they are not, and that has no settings.
    """
    st.session_state.pop(_CHOSEN, None)  # first: it may be interrupted here, and begun again
    kept.put(chat_id, "human_input", kept.get(None, "human_input"))
    kept.put(None, "human_input", None)
    settings.follow()
    plan_choices.follow(chat_id)


def _human_input(chat: Chat | None) -> InputMode | None:
    """When the person is asked in this chat; None where nothing was chosen."""
    known = {mode: mode for mode in wording.TAKING_PART}
    return known.get(kept.get(chat.id if chat else None, "human_input"))


def _draw_human_input(chat: Chat | None) -> None:
    key, now = _key("asked", chat), _human_input(chat) or "NEVER"
    st.session_state[key] = now
    st.segmented_control(
        "When you are asked",
        list(wording.TAKING_PART),
        format_func=lambda mode: wording.TAKING_PART[mode][0],
        key=key,
        on_change=_keep_human_input,
        args=(chat,),
        required=True,
    )
    st.caption(wording.TAKING_PART[now][1])


def _keep_human_input(chat: Chat | None) -> None:
    chosen = st.session_state[_key("asked", chat)]
    kept.put(chat.id if chat else None, "human_input", chosen)


def level() -> Level:
    """How much of the steps is shown in the chat on the page; a new one is shown as it was chosen
    last.
    """
    chat_id = st.query_params.get("chat")
    chosen = kept.get(chat_id, "level") or kept.get(None, "level")
    return chosen if chosen in _LEVELS else "calls"


def _draw_level() -> None:
    st.session_state["level-choice"] = level()
    st.segmented_control(
        "What is shown above an answer",
        list(_LEVELS),
        format_func=_LEVELS.__getitem__,
        key="level-choice",
        on_change=_keep_level,
        required=True,
    )


def _keep_level() -> None:
    chosen = st.session_state["level-choice"]
    for chat_id in (st.query_params.get("chat"), None):
        kept.put(chat_id, "level", chosen)


def _select(label: str, what: str, chat: Chat | None, options: list[str], show: Any) -> None:
    st.selectbox(
        label, options, format_func=show, key=_key(what, chat), on_change=_keep, args=(what, chat)
    )


def _keep(what: str, chat: Chat | None) -> None:
    value = st.session_state[_key(what, chat)]
    if chat is None:
        _remember(what, value)
    else:
        state.workspace().ledger.update_chat(state.owner(), chat.id, **{what: value})


def _remember(what: str, value: str) -> None:
    """That the person has chosen it for the new chat: its address says so."""
    st.session_state[_CHOSEN] = {**st.session_state.get(_CHOSEN, {}), what: value}


def _keep_variant(chat: Chat | None) -> None:
    st.session_state[_key("team", chat)] = st.session_state[_key("variant", chat)]
    _keep("team", chat)


def _key(what: str, chat: Chat | None) -> str:
    return f"{what}-{chat.id if chat else 'new'}"
