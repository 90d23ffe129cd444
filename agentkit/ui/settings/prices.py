"""What models cost: own prices and those of the list, their history, and calls priced anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.core.rates import Rates
from agentkit.errors import AgentkitError
from agentkit.ledger.bill import repricing
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.ledger.queries import CallFilter
from agentkit.llm.prices import Listed, find_listed, price
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown, times
from agentkit.workspace.usage.pricing import Origin, PricedModel

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

_ENTER, _ANEW = "Enter a price", "Price old calls anew"
_EVERY = "every model"
_ELSEWHERE = "Another server"
_DAYS = {"7 days": 7, "30 days": 30, "90 days": 90, "All": 0}
_UNKNOWN = dict.fromkeys(("input", "output", "cache_read", "cache_write"))


def draw_prices() -> None:
    """The prices in force, where each is from, and how to enter others."""
    known = state.workspace().list_prices(state.owner())
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
    _draw_listed(known)
    name, _ = dialogs.read_open()
    if name == _ENTER:
        _enter(known)
    elif name == _ANEW:
        _price_anew()


def _draw_table(known: Sequence[PricedModel]) -> None:
    rows = [_describe(one) for one in known]
    if not rows:
        st.caption("No model has been connected or called that costs anything.")
        return
    money = st.column_config.NumberColumn
    st.dataframe(
        _write_dollars(rows),
        hide_index=True,
        placeholder="unknown",
        key="prices",
        alt="What a million tokens of each model cost",
        column_config={
            "Model": st.column_config.TextColumn(width=140),
            "Server": st.column_config.TextColumn(width=130),
            "From": st.column_config.TextColumn(
                width=120,
                help="Your own entry, the price list with the day since which it counts, or this"
                " machine, where nothing is to be paid.",
            ),
            "input": money("Input", width=80),  # for “unknown”
            "output": money("Output", width=80),
            "cache_read": money("Cache read"),
            "cache_write": money("Cache write"),
        },
    )
    st.caption("US dollars for a million tokens, today. A price that is not known is never 0.")


def _write_dollars(rows: list[dict[str, Any]]) -> Styler:
    """With as many digits as a small price needs."""
    import pandas

    frame = pandas.DataFrame(rows).astype(dict.fromkeys(_UNKNOWN, float))
    written: Any = figures.dollars
    return frame.style.format(written, na_rep="unknown", subset=list(_UNKNOWN))


def _describe(known: PricedModel) -> dict[str, Any]:
    row = {
        "Model": known.model,
        "Server": known.provider,
        "From": describe_origin(known),
    }
    if known.rates is None:
        return {**row, **_UNKNOWN}
    return {**row, **asdict(known.rates)}


def describe_origin(known: PricedModel) -> str:
    """Where the price is from, and since when it counts."""
    told = _ORIGINS[known.origin]
    if known.since is None:
        return told
    return f"list, {known.since}"


_ORIGINS: dict[Origin, str] = {
    "own": "your entry",
    "machine": "this machine",
    "list": "price list",
    "unknown": "unknown",
}


def _draw_history() -> None:
    """Own prices, each with a way to remove it, those of before, and changes of old calls."""
    book = state.workspace().bill.prices
    for entry in book.entries():
        _draw_entry(entry)
    removed = list(filterfalse(attrgetter("is_in_force"), book.history()))
    if removed:
        with st.expander(f"Prices that were removed ({len(removed)})", type="compact"):
            for entry in removed:
                st.caption(f"{_tell(entry)}{_tell_times(entry)}")
    _draw_repricings()


def _draw_entry(entry: OwnPrice) -> None:
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


def _draw_listed(known: Sequence[PricedModel]) -> None:
    """Models whose price in the list changed, with the days from which each counts."""
    changed: dict[str, str] = {}
    for one in known:
        prices = find_listed(one.model, one.provider)
        if len(prices) > 1:
            changed[one.model] = "; ".join(map(_tell_listed, prices))
    if not changed:
        return
    with st.expander(f"Prices of the list that changed ({len(changed)})", type="compact"):
        for model, each in changed.items():
            st.caption(f"**{markdown.literal(model)}**: {each}")


def _tell_listed(listed: Listed) -> str:
    """As Markdown."""
    costs = f"{_dollars(listed.rates.input)} in, {_dollars(listed.rates.output)} out"
    if listed.since == date.min:
        return f"{costs} before"
    return f"{costs} from {listed.since}"


def _tell(entry: OwnPrice) -> str:
    """An entry as one line of Markdown."""
    model = markdown.literal(entry.model or _EVERY)
    whose = f"**{model}** at {markdown.literal(entry.provider)}"
    costs = _tell_rates(entry.rates)
    return f"{whose}: {costs}{_tell_days(entry)}"


def _tell_rates(rates: Rates) -> str:
    """As Markdown; of caches only where they cost something else."""
    costs = f"{_dollars(rates.input)} in, {_dollars(rates.output)} out"
    of_cache = {rates.cache_read, rates.cache_write}
    if of_cache == {rates.input}:
        return costs
    read, written = _dollars(rates.cache_read), _dollars(rates.cache_write)
    return f"{costs}, cache {read} read, {written} written"


def _tell_days(entry: OwnPrice) -> str:
    begins = f", from {entry.from_day}" if entry.from_day else ""
    ends = f", until {entry.until_day}" if entry.until_day else ""
    return begins + ends


def _tell_times(entry: OwnPrice) -> str:
    """When it was entered and removed."""
    moments = filter(None, (entry.entered_at, entry.removed_at))
    entered, removed = map(times.format_time, moments)
    return f" :small[entered {entered}, removed {removed}]"


def _dollars(amount: float) -> str:
    """As Markdown."""
    return markdown.literal(figures.dollars(amount))


def _remove(price_id: str) -> None:
    try:
        state.workspace().bill.prices.remove(price_id)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")


@dialogs.dialog("Enter a price")
def _enter(known: Sequence[PricedModel]) -> None:
    servers = list(dict.fromkeys(map(attrgetter("provider"), known)))
    models = dict.fromkeys(map(attrgetter("model"), known))
    with st.form("price", border=False):
        server = st.selectbox(
            "Server",
            servers,
            key="price-server",
            accept_new_options=True,
            placeholder="gateway.example:8000",
            help="As the usage page and the table of prices name it: the host of a connection.",
        )
        model = st.selectbox(
            "Model",
            ["", *models],
            format_func=_name_model,
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


def _name_model(model: str) -> str:
    return model or f"{_EVERY} of this server"


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


@dialogs.dialog("Price old calls anew", width="medium")
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
    first = None
    if number:
        first = times.begin(times.today() - timedelta(days=number - 1))
    return CallFilter(state.owner(), since=first)


def _draw_changes(changes: Sequence[repricing.Change]) -> None:
    before, after = _sum("before", changes), _sum("after", changes)
    unknown = round(_sum("unknown", changes))
    calls = figures.count(round(_sum("calls", changes)), "call")
    was = ""
    if unknown:
        was = f", {figures.count(unknown)} of them of unknown price"
    st.markdown(f"**{calls}**{was}: {_dollars(before)} would become **{_dollars(after)}**.")
    st.dataframe(
        list(map(_tell_change, changes)),
        hide_index=True,
        key="price-changes",
        alt="What the calls of each model cost now, and what they would cost",
    )


def _sum(name: str, changes: Sequence[repricing.Change]) -> float:
    return float(sum(map(attrgetter(name), changes)))


def _tell_change(change: repricing.Change) -> dict[str, object]:
    is_unknown = change.unknown == change.calls
    return {
        "Model": change.model,
        "Server": change.provider,
        "Calls": change.calls,
        "Cost now": "unknown" if is_unknown else figures.dollars(change.before),
        "New cost": figures.dollars(change.after),
    }


def _draw_repricings() -> None:
    made = repricing.list_repricings(state.workspace().ledger, state.owner())
    if not made:
        return
    with st.expander(f"Calls that were priced anew ({len(made)})", type="compact"):
        for one in made:
            _draw_repricing(one)


def _draw_repricing(made: repricing.Repricing) -> None:
    calls = figures.count(made.calls, "call")
    told = f"{times.format_time(made.applied_at)}: {calls}, {_dollars(made.before)}"
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.markdown(f"{told} became {_dollars(made.after)}", width="stretch")
        if made.undone_at:
            st.caption(f"taken back {times.format_time(made.undone_at)}", width="content")
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
