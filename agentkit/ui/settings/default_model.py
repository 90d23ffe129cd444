"""Which model new chats begin with: that of the latest chat, or the one that a person chose."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from agentkit.core.given import list_missing
from agentkit.errors import AgentkitError
from agentkit.llm import Connection, Model, available_models
from agentkit.llm.connections.config import models_of
from agentkit.settings import Settings, choose, origins
from agentkit.ui.composer import choices
from agentkit.ui.shared import state
from agentkit.ui.text import markdown

_KEY = "default-model"


def draw_default() -> None:
    """The choice, and a word where the chosen one is gone. Raises ConfigError."""
    settings = state.workspace().settings
    models = _models(settings)
    labels = {model.id: model.label for model in models}
    first, given = models[0], origins().get("default_model")
    chosen = settings.default_model
    st.session_state[_KEY] = chosen if chosen in labels else ""

    def name_model(model_id: str) -> str:
        if model_id:
            return labels[model_id]
        return f"That of the latest chat, else {first.label}"

    st.selectbox(
        "Model of new chats",
        ["", *labels],
        format_func=name_model,
        key=_KEY,
        on_change=_choose,
        disabled=given is not None,
        help="Each chat can have another one, chosen below its question.",
    )
    if given:
        st.caption(f"Set by {markdown.literal(given)}, which wins over a choice here.")
    if chosen and chosen not in labels:
        st.warning(
            f"The chosen model of new chats, **{markdown.literal(chosen)}**, "
            "is not offered any more: "
            f"new chats begin with {markdown.literal(first.label)}. Choose another one.",
            icon=":material/warning:",
        )


def after_deletion(connection: Connection) -> str:
    """What becomes of new chats when the connection is deleted; empty when nothing changes."""
    settings = state.workspace().settings
    theirs = {model.id for model in models_of(connection)}
    models = {model.id: model for model in _models(settings)}
    others = list_missing(models, theirs)
    now = models.get(settings.default_model, next(iter(models.values())))
    if now.id not in theirs:
        return ""
    then = models[others[0]]
    return (
        f"New chats begin with {markdown.literal(now.label)}; "
        f"after that, with {markdown.literal(then.label)}."
    )


def forget_deleted(connection: Connection) -> None:
    """Forget the choice when it was a model of a connection that is gone. Raises ConfigError."""
    settings = state.workspace().settings
    theirs = {model.id for model in models_of(connection)}
    if settings.default_model in theirs and "default_model" not in origins():
        _keep(None)


def _models(settings: Settings) -> list[Model]:
    """All models in the order of their connections."""
    return available_models(replace(settings, default_model=""))


def _choose() -> None:
    try:
        _keep(st.session_state[_KEY] or None)
    except (AgentkitError, OSError) as error:
        st.toast(markdown.literal(f"It could not be kept: {error}"), icon=":material/error:")


def _keep(model_id: str | None) -> None:
    workspace = state.workspace()
    workspace.adopt(choose(workspace.settings, "default_model", model_id))
    choices.forget_model()
