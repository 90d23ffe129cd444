"""What is counted in a data folder, and what is held to budgets and limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from agentkit.core import bus
from agentkit.events import Purpose
from agentkit.ledger import CallWriter, Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.llm import prices
from agentkit.llm.calls.budgets import budgeted
from agentkit.llm.calls.limits import Limit
from agentkit.runs import Run
from agentkit.settings import Settings
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
        with self.budgeted(owner), bus.listening(writer.write):
            yield

    def budgeted(self, owner: str) -> AbstractContextManager[None]:
        """Hold the calls of the block to the owner's budgets."""
        return budgeted(self.bill.purse(owner))

    def usage_views(self, owner: str) -> UsageViews:
        """The owner's calls, runs, messages, look-ups, citations and documents, as tables that can
        be asked in SQL.
        """
        return self.usage_sql.views(owner)

    def _held(self, run: Run[Any]) -> AbstractContextManager[None]:
        """Holds what a run does to the budgets."""
        return budgeted(self.bill.purse(run.owner, run.chat_id or "", run.id))

    def _limits(self, max_tokens: int | None) -> tuple[Limit, Limit]:
        """Of a run and of a chat; raises WrongArgument."""
        own, given = self.settings, self.settings.run_tokens if max_tokens is None else max_tokens
        return Limit(given, own.run_dollars), Limit(own.chat_tokens, own.chat_dollars)
