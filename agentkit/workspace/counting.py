"""What is counted in a data folder, and what is held to budgets and limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from agentkit.core import bus
from agentkit.events import Purpose
from agentkit.ledger import CallWriter, Ledger
from agentkit.ledger.bill import repricing
from agentkit.ledger.bill.bill import Bill
from agentkit.ledger.bill.course import Course, find_courses
from agentkit.ledger.bill.repricing import Change, Repricing
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.store import utc_now
from agentkit.llm import prices
from agentkit.llm.calls.budgets import budgeted
from agentkit.llm.calls.limits import Limit
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.workspace.usage import pricing, tables
from agentkit.workspace.usage.pricing import PricedModel
from agentkit.workspace.usage.tables import Table
from agentkit.workspace.usage_sql import UsageSql, UsageViews


class Counting:
    """What calls of models take, and may take."""

    settings: Settings
    ledger: Ledger
    bill: Bill
    usage_sql: UsageSql

    def begin_counting(self) -> None:
        """Price calls from now on by what people entered for this folder, before the list."""
        self.bill = Bill(self.ledger)
        prices.use_book(self.bill.prices)
        self.usage_sql = UsageSql(self.ledger.database)

    def end_counting(self) -> None:
        """Price calls by the list again."""
        prices.put_away(self.bill.prices)
        self.usage_sql.close()

    @contextmanager
    def counted(self, owner: str, agent: str, purpose: Purpose | None = None) -> Iterator[None]:
        """Keep the model calls of the block, which belong to no run, such as those of a search that
        somebody tries.

        `agent` is who asked, where a call does not say; `purpose` what all of them are for, if that
        is not what each says. The owner's budgets hold for them.
        """
        writer = CallWriter(self.ledger, owner, agent, purpose)
        with self.hold_to_budgets(owner), bus.listening(writer.write):
            yield

    def hold_to_budgets(self, owner: str, run_id: str = "") -> AbstractContextManager[None]:
        """Hold the calls of the block to the owner's budgets, with those of a question where it
        is the work of a run.
        """
        return budgeted(self.bill.purse(owner, run_id=run_id))

    def usage_views(self, owner: str) -> UsageViews:
        """The owner's calls, runs, messages, look-ups, citations and documents, as tables that can
        be asked in SQL.
        """
        return self.usage_sql.views(owner)

    def list_prices(self, owner: str) -> list[PricedModel]:
        """The models of all connections and those that were called, with what they cost today."""
        return pricing.list_priced(self.settings, self.ledger, owner)

    def budget_courses(self, owner: str) -> list[Course]:
        """The owner's budgets of a day and a month as they stand now, and what they come to."""
        return find_courses(self.bill.purse(owner).standings(), utc_now())

    def find_price_changes(self, calls: CallFilter) -> list[Change]:
        """What pricing these calls anew would change, by server and model; nothing is changed."""
        return repricing.find_changes(self.ledger, calls, prices.price)

    def price_anew(self, calls: CallFilter) -> Repricing | None:
        """Give these calls the prices of their days as they are known now; None where that changes
        nothing.
        """
        return repricing.price_anew(self.ledger, calls, prices.price)

    def list_repricings(self, owner: str) -> list[Repricing]:
        """The changes of prices that were made for an owner's calls, the newest first."""
        return repricing.list_repricings(self.ledger, owner)

    def undo_pricing(self, owner: str, repricing_id: str) -> None:
        """Give the calls of a change what they cost before; raises NotFound."""
        repricing.undo(self.ledger, owner, repricing_id)

    def usage_table(self, calls: CallFilter, which: Table) -> list[dict[str, Any]]:
        """One table of the usage page over the calls that the filter means, as plain values."""
        return tables.read_table(self.ledger, calls, which)

    def _hold(self, run: Run[Any]) -> AbstractContextManager[None]:
        """Holds what a run does to the budgets."""
        return budgeted(self.bill.purse(run.owner, run.chat_id or "", run.id))

    def _limits(self, max_tokens: int | None) -> tuple[Limit, Limit]:
        """Of a run and of a chat; raises WrongArgument."""
        own, given = self.settings, self.settings.run_tokens if max_tokens is None else max_tokens
        return Limit(given, own.run_dollars), Limit(own.chat_tokens, own.chat_dollars)
