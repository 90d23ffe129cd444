"""What models cost: own prices and those of the list, their history, and calls priced anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import streamlit as st

from agentkit.core.address import on_this_machine
from agentkit.core.rates import Rates
from agentkit.errors import AgentkitError, ConfigError
from agentkit.ledger.bill import buckets, repricing
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.ledger.queries import CallFilter
from agentkit.llm import connections
from agentkit.llm.connections.config import provider_to
from agentkit.llm.prices import Listed, find_listed, find_own, find_rates, price
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown, times

_ENTER, _ANEW = "Enter a price", "Price old calls anew"
_EVERY = "every model"
_ELSEWHERE = "Another server"
_DAYS = {"7 days": 7, "30 days": 30, "90 days": 90, "All": 0}
_NOTES = {
    "own": "your entry",
    "free": "this machine",
    "list": "price list",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class _Known:
    """A model that is offered or was called, at its server."""

    provider: str
    model: str


def draw_prices() -> None:
    """The prices in force, where each is from, and how to enter others."""
    known = _list_known()
    _draw_table(known)
    with st.container(horizontal=True):
        st.button(
            _ENTER,
            key="enter-price",
            icon=":material/add:",
            on_click=dialogs.ask,
            args=(_ENTER,),
        )
        st.button(
            _ANEW,
            key="price-anew",
            icon=":material/price_change:",
            on_click=dialogs.ask,
            args=(_ANEW,),
            help="Old calls keep the price of their day until you have them priced anew.",
        )
    _draw_history()
    _draw_listed([one for one in known if _is_for_people(one)])
    name, _ = dialogs.asked()
    if name == _ENTER:
        _enter(known)
    elif name == _ANEW:
        _price_anew()


def _list_known() -> list[_Known]:
    """The models of all connections, then those that were called, each once."""
    try:
        offered = list(_list_offered())
    except ConfigError:  # which is told above, with the connections
        offered = []
    called = buckets.list_called(state.workspace().ledger, state.owner())
    each = dict.fromkeys([*offered, *called])
    return [_Known(*key) for key in each]


def _list_offered() -> Iterator[tuple[str, str]]:
    for connection in connections(state.workspace().settings):
        for model in (*connection.models, *connection.embedding_models):
            yield provider_to(connection), model


def _draw_table(known: Sequence[_Known]) -> None:
    rows = [_describe(one, datetime.now(UTC)) for one in known if _is_for_people(one)]
    if not rows:
        st.caption("No model has been connected or called that costs anything.")
        return
    money = st.column_config.NumberColumn
    st.dataframe(
        rows,
        hide_index=True,
        placeholder="unknown",
        key="prices",
        alt="What a million tokens of each model cost",
        column_config={
            "Model": st.column_config.TextColumn(width=150),
            "Server": st.column_config.TextColumn(width=150),
            "From": st.column_config.TextColumn(
                width=120,
                help="Your own entry, the price list with the day since which it counts, or this"
                " machine, where nothing is to be paid.",
            ),
            **{name: money(format="$%.3f") for name in ("Input", "Output", "Read", "Write")},
            "Read": money("Cache read", format="$%.3f"),
            "Write": money("Cache write", format="$%.3f"),
        },
    )
    st.caption("US dollars for a million tokens, today. A price that is not known is never 0.")


def _is_for_people(known: _Known) -> bool:
    """Whether it is a server's, and no model of this process."""
    return known.provider not in ("local", "offline", "scripted", "")


def _describe(known: _Known, now: datetime) -> dict[str, Any]:
    rates = find_rates(known.model, known.provider, now)
    return {
        "Model": known.model,
        "Server": known.provider,
        "From": _describe_origin(known, now),
        "Input": rates.input if rates else None,
        "Output": rates.output if rates else None,
        "Read": rates.cache_read if rates else None,
        "Write": rates.cache_write if rates else None,
    }


def _describe_origin(known: _Known, now: datetime) -> str:
    """Where the price is from, and since when it counts."""
    if find_own(known.model, known.provider, now) is not None:
        return _NOTES["own"]
    if on_this_machine(known.provider):
        return _NOTES["free"]
    listed = find_listed(known.model, known.provider)
    if not listed:
        return _NOTES["unknown"]
    begun = [one.since for one in listed if one.since and one.since <= now.date()]
    return f"list, {begun[-1]}" if begun else _NOTES["list"]


def _draw_history() -> None:
    """Own prices, each with a way to remove it, those of before, and changes of old calls."""
    book = state.workspace().bill.prices
    for entry in book.entries():
        with st.container(
            horizontal=True, vertical_alignment="center", key=f"price-{entry.id}", wrap=False
        ):
            st.markdown(_tell(entry), width="stretch")
            st.button(
                "Remove",
                key=f"remove-price-{entry.id}",
                type="tertiary",
                icon=":material/delete:",
                on_click=_remove,
                args=(entry.id,),
            )
    removed = [one for one in book.history() if one.removed_at]
    if removed:
        with st.expander(f"Prices that were removed ({len(removed)})", type="compact"):
            for entry in removed:
                st.caption(f"{_tell(entry)}{_tell_times(entry)}")
    _draw_repricings()


def _draw_listed(known: Sequence[_Known]) -> None:
    """Models whose price in the list changed, with the days from which each counts."""
    changed = [(one.model, find_listed(one.model, one.provider)) for one in known]
    lines = [_tell_listed(model, listed) for model, listed in changed if len(listed) > 1]
    if not lines:
        return
    with st.expander(f"Prices of the list that changed ({len(lines)})", type="compact"):
        for line in dict.fromkeys(lines):
            st.caption(line)


def _tell_listed(model: str, listed: Sequence[Listed]) -> str:
    """As Markdown."""
    each = [
        f"{_dollars(one.rates.input)} in, {_dollars(one.rates.output)} out"
        f" {f'from {one.since}' if one.since else 'before'}"
        for one in listed
    ]
    return f"**{markdown.literal(model)}**: {'; '.join(each)}"


def _tell(entry: OwnPrice) -> str:
    """An entry as one line of Markdown."""
    whose = f"**{markdown.literal(entry.model or _EVERY)}** at {markdown.literal(entry.provider)}"
    rates = entry.rates
    costs = f"{_dollars(rates.input)} in, {_dollars(rates.output)} out"
    if rates.cache_read != rates.input or rates.cache_write != rates.input:
        costs += f", cache {_dollars(rates.cache_read)} read, {_dollars(rates.cache_write)} written"
    return f"{whose}: {costs}{_tell_days(entry)}"


def _tell_days(entry: OwnPrice) -> str:
    begins = f", from {entry.from_day}" if entry.from_day else ""
    ends = f", until {entry.until_day}" if entry.until_day else ""
    return begins + ends


def _tell_times(entry: OwnPrice) -> str:
    if entry.entered_at is None or entry.removed_at is None:
        return ""
    entered, removed = times.written(entry.entered_at), times.written(entry.removed_at)
    return f" :small[entered {entered}, removed {removed}]"


def _dollars(amount: float) -> str:
    """As Markdown."""
    return markdown.literal(figures.dollars(amount))


def _remove(price_id: str) -> None:
    try:
        state.workspace().bill.prices.remove(price_id)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")


@st.dialog("Enter a price", on_dismiss=dialogs.close)
def _enter(known: Sequence[_Known]) -> None:
    servers = list(dict.fromkeys(one.provider for one in known if _is_for_people(one)))
    with st.form("price", border=False):
        server = st.selectbox(
            "Server",
            servers,
            key="price-server",
            accept_new_options=True,
            index=0 if servers else None,
            placeholder="gateway.example:8000",
            help="As the usage page and the table of prices name it: the host of a connection.",
        )
        model = st.selectbox(
            "Model",
            ["", *dict.fromkeys(one.model for one in known if _is_for_people(one))],
            format_func=lambda name: name or f"{_EVERY} of this server",
            key="price-model",
            accept_new_options=True,
        )
        st.caption("US dollars for a million tokens; 0 where nothing is to be paid.")
        with st.container(horizontal=True):
            input_price = _ask_amount("Input", "input")
            output_price = _ask_amount("Output", "output")
        with st.container(horizontal=True):
            read = _ask_amount("Cache read", "read", "as input")
            write = _ask_amount("Cache write", "write", "as input")
        with st.container(horizontal=True):
            begins = st.date_input("From", value=None, key="price-from")
            ends = st.date_input("Until", value=None, key="price-until")
        saved = st.form_submit_button("Save", type="primary", key="save-price")
    if not saved:
        return
    if input_price is None or output_price is None:
        st.error("Enter what input and output cost; 0 for nothing.", icon=":material/error:")
        return
    rates = Rates(input_price, output_price, _or(read, input_price), _or(write, input_price))
    _save(OwnPrice(server or "", model or "", rates, begins, ends))


def _ask_amount(label: str, key: str, empty: str = "") -> float | None:
    return st.number_input(
        label,
        value=None,
        min_value=0.0,
        format="%.4f",
        step=0.1,
        key=f"price-{key}",
        placeholder=empty or "0.25",
    )


def _or(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


def _save(entry: OwnPrice) -> None:
    try:
        state.workspace().bill.prices.enter(entry)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
    else:
        dialogs.close()
        st.rerun()


@st.dialog("Price old calls anew", width="medium", on_dismiss=dialogs.close)
def _price_anew() -> None:
    st.caption(
        "Each call gets the price of its day as it is known now: your own entries first, then the"
        " price list. Nothing is changed before you have seen it, and you can take it back."
    )
    chosen = st.segmented_control(
        "Calls of the last", list(_DAYS), default="30 days", required=True, key="anew-days"
    )
    calls = _to_filter(chosen or "30 days")
    ledger = state.workspace().ledger
    with st.spinner("Looking at the calls"):
        changes = repricing.find_changes(ledger, calls, price)
    if not changes:
        st.success("These calls have the prices of their days already.", icon=":material/check:")
        return
    _draw_changes(changes)
    if dialogs.confirm("apply-prices", "Change them", ":material/price_check:", "Leave them"):
        repricing.price_anew(ledger, calls, price)
        dialogs.close()
        st.rerun()


def _to_filter(days: str) -> CallFilter:
    number = _DAYS[days]
    first = times.begin(times.today() - timedelta(days=number - 1)) if number else None
    return CallFilter(state.owner(), since=first)


def _draw_changes(changes: Sequence[repricing.Change]) -> None:
    before, after = sum(one.before for one in changes), sum(one.after for one in changes)
    unknown = sum(one.unknown for one in changes)
    calls = figures.count(sum(one.calls for one in changes), "call")
    was = f", {figures.count(unknown)} of them of unknown price" if unknown else ""
    st.markdown(f"**{calls}**{was}: {_dollars(before)} would become **{_dollars(after)}**.")
    st.dataframe(
        [
            {
                "Model": one.model,
                "Server": one.provider,
                "Calls": one.calls,
                "Cost now": figures.dollars(one.before) if one.calls > one.unknown else "unknown",
                "New cost": figures.dollars(one.after),
            }
            for one in changes
        ],
        hide_index=True,
        key="price-changes",
        alt="What the calls of each model cost now, and what they would cost",
    )


def _draw_repricings() -> None:
    made = repricing.list_repricings(state.workspace().ledger, state.owner())
    if not made:
        return
    with st.expander(f"Calls that were priced anew ({len(made)})", type="compact"):
        for one in made:
            _draw_repricing(one)


def _draw_repricing(made: repricing.Repricing) -> None:
    calls = figures.count(made.calls, "call")
    told = f"{times.written(made.applied_at)}: {calls}, {_dollars(made.before)}"
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.markdown(f"{told} became {_dollars(made.after)}", width="stretch")
        if made.undone_at:
            st.caption(f"taken back {times.written(made.undone_at)}", width="content")
            return
        st.button(
            "Undo",
            key=f"undo-prices-{made.id}",
            type="tertiary",
            icon=":material/undo:",
            on_click=_undo,
            args=(made.id,),
        )


def _undo(repricing_id: str) -> None:
    try:
        repricing.undo(state.workspace().ledger, state.owner(), repricing_id)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
