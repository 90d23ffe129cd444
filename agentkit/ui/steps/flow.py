"""Who spoke to whom, how often, and with how many tokens: as a picture, and in a table below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from agentkit.core.address import on_this_machine
from agentkit.events import Event, MessageSent, ModelReplied, SpeakerSelected
from agentkit.ledger.queries import Totals
from agentkit.ui.steps import voices, wording
from agentkit.ui.text import figures, markdown

_PERSON = "User"  # who asks, as the agents know the person


@dataclass(frozen=True, slots=True)
class Arrow:
    """What went from one agent to another."""

    messages: int = 0
    tokens: int = 0
    """Tokens that the sender's model wrote for these messages."""
    is_choice: bool = False
    """Whether the floor was given, and nothing said."""


class Flow:
    """Follows a run: what each agent took, and what it said to whom."""

    def __init__(self) -> None:
        self.spent: dict[str, Totals] = {}
        """By agent; what nobody in particular took is under an empty name."""
        self.arrows: dict[tuple[str, str], Arrow] = {}
        """By sender and recipient, in the order of their first words."""
        self.total = Totals()
        self._unsaid: dict[str, int] = {}

    def follow(self, events: Iterable[Event]) -> Flow:
        """What it is after these events."""
        for event in events:
            self.hear(event)
        return self

    def hear(self, event: Event) -> None:
        """Take the next event in."""
        match event:
            case ModelReplied():
                self._reply(event)
            case MessageSent() if event.extra.get("inner") and not event.extra.get("silent"):
                self._say(event)
            case SpeakerSelected():
                self._choose(event)

    @property
    def speakers(self) -> set[str]:
        """Who said something with a model of their own, and not only chose who speaks."""
        said = {sender for (sender, _), arrow in self.arrows.items() if not arrow.is_choice}
        answered = {agent for agent, spent in self.spent.items() if spent.answered}
        return said & answered

    def _reply(self, event: ModelReplied) -> None:
        took = _of(event)
        self.total = _plus(self.total, took)
        self.spent[event.agent] = _plus(self.spent.get(event.agent, Totals()), took)
        self._unsaid[event.agent] = self._unsaid.get(event.agent, 0) + event.usage.completion

    def _say(self, event: MessageSent) -> None:
        if event.content.strip() and event.role != "tool":
            tokens = self._unsaid.pop(event.sender, 0)
            self._add(event.sender, event.recipient, Arrow(1, tokens))

    def _choose(self, event: SpeakerSelected) -> None:
        if event.method not in ("function", "custom"):
            tokens = self._unsaid.pop(wording.CHOOSER, 0)
            self._add(event.agent, event.speaker, Arrow(1, tokens, is_choice=True))

    def _add(self, sender: str, recipient: str, more: Arrow) -> None:
        known = self.arrows.get((sender, recipient), Arrow(is_choice=more.is_choice))
        self.arrows[sender, recipient] = replace(
            known,
            messages=known.messages + more.messages,
            tokens=known.tokens + more.tokens,
            is_choice=known.is_choice and more.is_choice,
        )


def _of(event: ModelReplied) -> Totals:
    """One call, as the ledger counts it."""
    usage, here = event.usage, on_this_machine(event.provider)
    answered = event.status in ("ok", "stopped")
    cost = 0.0 if here and event.cost is None else event.cost
    return Totals(
        calls=1,
        failed=int(event.status == "failed"),
        cached=int(event.status == "cached"),
        answered=int(event.purpose == "chat" and answered),
        elsewhere=int(answered and not here),
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cache_read,
        completion_tokens=usage.completion,
        estimated=usage.estimated,
        cost=cost,
        unpriced=int(cost is None and usage.total > 0),
        seconds=event.seconds,
    )


def _plus(one: Totals, other: Totals) -> Totals:
    """The sum; the times to the first word are of single calls, and left out."""
    cost = (one.cost or 0.0) + (other.cost or 0.0)
    return Totals(
        calls=one.calls + other.calls,
        failed=one.failed + other.failed,
        cached=one.cached + other.cached,
        answered=one.answered + other.answered,
        elsewhere=one.elsewhere + other.elsewhere,
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        estimated=one.estimated or other.estimated,
        cost=cost or one.cost or other.cost,
        unpriced=one.unpriced + other.unpriced,
        seconds=one.seconds + other.seconds,
    )


def draw_flow(flow: Flow, run_id: str, members: Sequence[str]) -> None:
    """A button for the picture of a run in which more than one speaks; it is drawn when opened."""
    if len(flow.speakers) < 2:
        return
    label, icon = "Who spoke to whom", ":material/hub:"
    opened = st.popover(label, type="tertiary", icon=icon, key=f"flow-{run_id}", on_change="rerun")
    if opened.open:
        with opened:
            _draw(flow, members)


def _draw(flow: Flow, members: Sequence[str]) -> None:
    dark = st.context.theme.type == "dark"
    told = [f"{_words(*pair)}: {describe(arrow)}" for pair, arrow in flow.arrows.items()]
    st.graphviz_chart(
        picture(flow, members, dark=dark), width="content", alt=f"Graph: {'; '.join(told)}."
    )
    st.caption(
        "On an arrow: how many messages, and the tokens written for them. Dotted: who was given"
        " the floor, and what choosing took."
    )
    st.markdown(list_spent(flow.spent))


def picture(flow: Flow, members: Sequence[str], *, dark: bool) -> str:
    """The graph in Graphviz's language; the alternative text says the same in words."""
    ink, colours = ("#bdb6a8", voices.DARK) if dark else ("#57524a", voices.LIGHT)
    names = dict.fromkeys(name for pair in flow.arrows for name in pair)

    def node(name: str) -> str:
        colour = ink
        if name != _PERSON:
            colour = colours[voices.find_colour(name, members)]
        return f'{_quote(name)} [label={_quote(wording.name_agent(name))}, color="{colour}"];'

    edges = [
        f"{_quote(sender)} -> {_quote(recipient)} [label={_quote(describe(arrow, apart=_BREAK))}"
        f"{', style=dotted' * arrow.is_choice}];"
        for (sender, recipient), arrow in flow.arrows.items()
    ]
    return (
        "digraph { rankdir=LR; bgcolor=transparent; nodesep=0.3; ranksep=0.3; pad=0.05; "
        f'node [shape=box, style=rounded, penwidth=2, height=0.35, margin="0.12,0.05", {_FONT},'
        f' fontsize=12, fontcolor="{ink}"]; edge [color="{ink}", fontcolor="{ink}", {_FONT},'
        f" fontsize=10, arrowsize=0.6]; {' '.join([*map(node, names), *edges])} }}"
    )


_FONT = 'fontname="sans-serif"'
_BREAK = "\n"


def describe(arrow: Arrow, apart: str = ", ") -> str:
    """How much went that way."""
    what = ("message", "choice")[arrow.is_choice]
    tokens = ""
    if arrow.tokens:
        tokens = f"{apart}{figures.count(arrow.tokens, 'token')}"
    return f"{figures.count(arrow.messages, what)}{tokens}"


def list_spent(spent: Mapping[str, Totals]) -> str:
    """What each agent took, as a list in Markdown; what is free is not said again and again."""
    return "\n".join(f"- **{_name(agent)}**: {_took(totals)}" for agent, totals in spent.items())


def _took(totals: Totals) -> str:
    about = "about " * totals.estimated
    tokens = f"{about}{figures.count(totals.prompt_tokens)} tokens in"
    parts = [figures.count(totals.calls, "call"), tokens]
    parts.append(f"{figures.count(totals.completion_tokens)} out")
    if totals.cost or totals.unpriced:
        parts.append(markdown.literal(figures.cost(totals)))
    return ", ".join(parts)


def _name(agent: str) -> str:
    return markdown.literal(wording.name_agent(agent))


def _words(sender: str, recipient: str) -> str:
    return f"{wording.name_agent(sender)} to {wording.name_agent(recipient)}"


def _quote(text: str) -> str:
    """A text as Graphviz takes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
