"""The settings of a new chat in the page's address, so that a link begins a chat with the same: of
whom it asks, over what, narrowed to what, with which instructions and parameters. An address that
names a chat needs none of it: the chat has its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from agentkit.core.given import list_missing
from agentkit.errors import WrongArgument
from agentkit.ledger import Chat
from agentkit.llm.calls.wishes import check_instructions
from agentkit.ui.composer import choices, mentions, narrowing, settings
from agentkit.ui.shared import addresses, kept
from agentkit.ui.text import markdown
from agentkit.workspace.chat_settings import UNSET, ChatSettings

_SETTINGS = ("instructions", "temperature", "max_tokens", "seed", "reasoning_effort", "also")
_WHOM = ("collection", "team", "model")
_NARROW, _ABOUT = "narrow", "about"
_WITHOUT = "without"
"""What was too long for the address: it stays here as it is when the page is opened again."""
_NAMES = (_WITHOUT, *_WHOM, *_SETTINGS, _NARROW, _ABOUT)
_LONGEST = 6_000
"""Characters of an address as it is sent: servers and proxies refuse more than 8,000."""
_CALLED = {
    "instructions": "the instructions",
    _NARROW: "what the questions are narrowed to",
    _ABOUT: "the documents that the next question is about",
    "also": "the further collections",
}
"""What can be too long for an address, in words."""
_WRITTEN, _LEFT_OUT = "settings-in-address", "left-out-of-address"


def follow(chat: Chat | None, there: Mapping[str, int]) -> None:
    """In a new chat, take over what an address says that was opened, and let the address follow
    what is set; what makes no sense there is told and left out.
    """
    given, wrong = addresses.find_opened(_NAMES, _WRITTEN), []
    if chat is None and given:
        wrong = _take_over(given, there)
    if wrong:
        st.toast(
            f"Left out of this link, as it makes no sense here: {', '.join(wrong)}.",
            icon=":material/warning:",
            duration="long",
        )
    values = {} if chat else _find_values(there)
    left_out = _shorten(values) if values else []
    st.session_state[_LEFT_OUT] = left_out
    addresses.write({**dict.fromkeys(_NAMES, ()), **values, _WITHOUT: left_out}, _WRITTEN)


def _take_over(given: Mapping[str, Sequence[str]], there: Collection[str]) -> list[str]:
    """Set in the new chat what an address says; gives in Markdown what of it makes no sense."""
    found, wrong = _begin(given.get(_WITHOUT, ())), []
    for name in _NAMES[1:]:
        texts = given.get(name)
        if not texts:
            continue
        try:
            found = _take(found, name, texts, there)
        except (WrongArgument, ValueError):
            wrong.append(markdown.literal(f"{name} {' '.join(texts):.40}"))
    kept.put(None, "settings", found.to_json() or None)
    return wrong


def _begin(stays: Collection[str]) -> ChatSettings:
    """Set the new chat as it is by itself, but for what stays."""
    now = settings.of_chat(None)
    if _NARROW not in stays:
        narrowing.forget()
    if _ABOUT not in stays:
        mentions.forget(None)
    found = UNSET
    if "instructions" in stays:
        found = replace(found, instructions=now.instructions)
    if "also" in stays:
        found = replace(found, also=now.also)
    return found


def _take(
    found: ChatSettings, name: str, texts: Sequence[str], there: Collection[str]
) -> ChatSettings:
    """The settings with what one name of an address says; raises WrongArgument and ValueError."""
    text = texts[-1]
    match name:
        case "collection" | "team" | "model":
            choices.choose(name, text, there)
            return found
        case "narrow":
            collection = choices.choice(None, choices.collections()).collection
            narrowing.take_over(collection, json.loads(text))
            return found
        case "about":
            mentions.take_over(texts)
            return found
        case "instructions":
            return replace(found, instructions=check_instructions(text.strip()))
        case "also":
            if gone := list_missing(texts, there):
                raise WrongArgument(f"There is no collection {gone[0]!r}.")
            return replace(found, also=tuple(dict.fromkeys(texts)))
    value: Any = text
    if name != "reasoning_effort":
        value = settings.read_value(name, text)
    return replace(found, parameters=replace(found.parameters, **{name: value}))


def draw_line() -> None:
    """What of the new chat its address does not say; nothing while it says all."""
    if left_out := st.session_state.get(_LEFT_OUT):
        named = " and ".join(_CALLED[name] for name in left_out)
        st.caption(
            f":material/link_off: Too long for a link, and not in the address of this page:"
            f" {named}."
        )


def _find_values(there: Mapping[str, int]) -> dict[str, list[str]]:
    """What the address of the new chat says: nothing while nothing is set."""
    question = choices.choice(None, there)
    now = settings.of_chat(None)
    values = {name: [str(value)] for name, value in now.parameters.to_request().items()}
    narrowed = narrowing.find_narrowed(question.collection)
    values |= {
        "also": list(now.also),
        "instructions": [now.instructions] if now.instructions else [],
        _ABOUT: mentions.list_chosen(None),
        _NARROW: [json.dumps(narrowed, ensure_ascii=False)] if narrowed else [],
    }
    if any(values.values()) or choices.is_chosen(question):
        whom = (question.collection, question.team_id, question.model_id)
        values |= {name: [value] for name, value in zip(_WHOM, whom, strict=True)}
    return values


def _shorten(values: dict[str, list[str]]) -> list[str]:
    """Take out of an address what would make it too long, the longest first; gives its names."""
    sizes = {name: len(urlencode({name: values[name]}, doseq=True)) for name in _CALLED}
    left_out: list[str] = []
    for name in sorted(_CALLED, key=sizes.__getitem__, reverse=True):
        fits = len(urlencode(values, doseq=True)) <= _LONGEST
        if fits or not values[name]:
            break
        values[name] = []
        left_out.append(name)
    return left_out
