"""The meter under the composer: how much of the model's window the chat takes, what stands as a
summary, and the way to bring a turn back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from agentkit.core.given import join_filled, list_known
from agentkit.core.text import shorten
from agentkit.ledger import Chat, Ledger, StoredMessage, queries
from agentkit.ledger.bill.forecasts import Forecast
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import count_text
from agentkit.llm.tokens.windows import window_of
from agentkit.teams import Question
from agentkit.ui.composer import forecast, pictures
from agentkit.ui.shared import kept, state
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_text
from agentkit.workspace.answering import estimate_passages, find_shortenings, is_turn

_LONGEST = 400  # characters of a message that is shown as it was
_TITLE = 80  # characters of a question that is offered
_MEASURED = "measured-context"
_WHO = {"user": "You", "assistant": "Answer"}


@dataclass(frozen=True, slots=True)
class Context:
    """What the latest answer of a chat took of the model's window."""

    tokens: int
    """Of its longest request."""
    answer: int
    """Of what was answered, which goes along with the next one."""
    window: int | None
    """Tokens that the model takes; None where nobody knows."""
    covered: tuple[StoredMessage, ...] = ()
    """Questions and answers that the summary stands for, oldest first."""
    summary: str = ""
    """What stands for them."""
    saved: int = 0
    """Tokens by which the summary is shorter."""


def draw_meter(chat: Chat | None, now: Question) -> None:
    """A line that unfolds: what the chat takes of the window, and what the next answer will
    probably take. Nothing where no language model is asked.
    """
    if not state.workspace().model(now.model_id).is_language_model:
        return
    found, head_id = None, None
    if chat:
        found, head_id = _measure(chat, now.model_id), chat.head_id
    expected = forecast.read(now, head_id)
    parts = [pictures.describe(now), _expect(expected)]
    if found:
        parts.insert(0, _in_short(found))
    label = join_filled(" · ", parts) or "Calls and cost not known yet"
    popover = st.popover(
        label,
        icon=":material/data_usage:",
        type="tertiary",
        key="context",
        on_change="rerun",  # what is written by then counts
    )
    if not popover.open:
        return
    with popover:
        if found:
            _draw_window(found)
        st.caption(_describe_request(found, expected, now))
        st.caption(pictures.describe_most(now))
        st.caption(markdown.literal(forecast.describe(expected)))
        if chat and found and found.covered:
            _draw_shortened(chat, found)


def _expect(expected: Forecast | None) -> str:
    """The forecast as it stands in the line."""
    if expected:
        return f"{markdown.literal(forecast.in_short(expected))} expected"
    return ""


def _describe_request(found: Context | None, expected: Forecast | None, now: Question) -> str:
    """About how many tokens the next request will have: those of the one before and what is new,
    in a new chat those of earlier answers, and before these what is written and looked up.
    """
    name = state.workspace().model(now.model_id).name
    written, _ = count_text(str(kept.get(now.chat_id, "draft") or ""), name)
    written += pictures.count_tokens(now)
    if found:
        tokens = figures.count(found.tokens + found.answer + written, "token")
        return f"The next request: about {tokens}, with what is written and without new passages."
    instructions, _ = count_text(now.instructions, name)
    written += instructions
    if expected:
        low, high = (figures.count(round(one) + written) for one in expected.request)
        return f"The next request: about {low} to {high} tokens, as in earlier answers."
    tokens = figures.count(written, "token")
    return (
        f"The next request: about {tokens} as it is written{_expect_passages(now)}, and what the"
        " team tells its agents."
    )


def _expect_passages(now: Question) -> str:
    """How much a look-up brings at most, as far as that is known."""
    most = estimate_passages(state.workspace().library, state.owner(), now.collection)
    if most:
        return f", up to {figures.count(most)} of passages"
    return ""


def find_told_whole(chat_id: str | None) -> tuple[str, ...]:
    """The ids of the messages that were brought back in this chat."""
    return tuple(kept.get(chat_id, "whole") or ())


def _measure(chat: Chat, model_id: str) -> Context | None:
    """What the latest answer took; looked up once for each."""
    key = (chat.id, chat.head_id, model_id)
    known = st.session_state.get(_MEASURED)
    if known is None or known[0] != key:
        ledger, owner = state.workspace().ledger, state.owner()
        thread, model = ledger.thread(owner, chat.id), state.workspace().model(model_id)
        known = st.session_state[_MEASURED] = (key, _read_context(ledger, owner, thread, model))
    return known[1]


def _read_context(
    ledger: Ledger, owner: str, thread: Sequence[StoredMessage], model: Model
) -> Context | None:
    """What the latest answer of this branch took; None before the first one of a language model."""
    from agentkit.teams.memory.long_memory import NOTES, count_covered

    turns = list(filter(is_turn, thread))
    if not turns or not model.is_language_model:
        return None
    tokens = queries.longest_request(ledger, owner, turns[-1].run_id or "", NOTES)
    if not tokens:
        return None
    answer, _ = count_text(turns[-1].content, model.name)
    plain = Context(tokens, answer, window_of(model))
    for count, event in find_shortenings(ledger, owner, thread, set()):
        is_of_memory = event.agent == NOTES and event.ok
        if is_of_memory and event.summary:
            covered = tuple(turns[1 : count_covered(count, event)])
            saved = event.tokens_before - event.tokens_after
            return replace(plain, covered=covered, summary=event.summary, saved=saved)
    return plain


def _in_short(found: Context) -> str:
    of = f" of {figures.short(found.window)}" if found.window else ""
    parts = [f"{figures.short(found.tokens)}{of} tokens"]
    if found.covered:
        parts.append(f"{figures.count(_count_turns(found.covered), 'turn')} shortened")
        parts.append(f"{figures.short(found.saved)} saved")
    return ", ".join(parts)


def _count_turns(covered: Sequence[StoredMessage]) -> int:
    return max(1, sum(said.role == "user" for said in covered))


def _draw_window(found: Context) -> None:
    took = figures.count(found.tokens, "token")
    if found.window is None:
        st.caption(
            f"The longest request for the latest answer had {took}. How many the model takes"
            " is not known."
        )
        return
    share = min(1.0, found.tokens / found.window)
    st.progress(share, text=f"{share:.0%} of the model's window")
    st.caption(
        f"The longest request for the latest answer had {took}; the model takes"
        f" {figures.count(found.window)}. Before that is full, older turns are shortened."
    )


def _draw_shortened(chat: Chat, found: Context) -> None:
    turns = figures.count(_count_turns(found.covered), "earlier turn")
    st.markdown(f"**{turns} shortened**, {figures.count(found.saved, 'token')} saved")
    with st.expander("Before: as it was said"):
        for said in found.covered:
            shown = shorten(said.content, _LONGEST)
            st.caption(f"**{_WHO[said.role]}**: {markdown.literal(shown)}")
    with st.expander("After: what the model is told"):
        draw_text(found.summary)
    asked = {said.id: said for said in found.covered if said.role == "user"}
    st.session_state["whole-choice"] = list_known(find_told_whole(chat.id), asked)
    st.multiselect(
        "Bring turns back",
        list(asked),
        format_func=lambda given: shorten(asked[given].content, _TITLE),
        key="whole-choice",
        placeholder="Choose a question",
        help="The model is told them word for word from the next question on.",
        on_change=_bring_back,
        args=(chat.id, found.covered),
    )


def _bring_back(chat_id: str, covered: Sequence[StoredMessage]) -> None:
    """Keep the chosen questions, each with what was answered."""
    chosen, ids = set(st.session_state["whole-choice"]), []
    follows = False
    for said in covered:
        if said.role == "user":
            follows = said.id in chosen
        if follows:
            ids.append(said.id)
    kept.put(chat_id, "whole", ids or None)
