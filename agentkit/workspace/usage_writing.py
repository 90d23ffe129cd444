"""What people ask of their usage in words: a model writes the SELECT, which is tried before anybody
sees it, and what is wrong with it is told the model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentkit import runs
from agentkit.core import bus
from agentkit.core.text import shorten
from agentkit.database.asked import Limits
from agentkit.errors import ConfigError, SqlRefused
from agentkit.events import MessageSent
from agentkit.ledger.store import utc_now
from agentkit.llm import Model
from agentkit.llm.calls.client import call
from agentkit.llm.calls.limits import Limit, Used, limited
from agentkit.messages import message, new_id
from agentkit.runs import Run
from agentkit.workspace.usage_sql.views import describe_schema

if TYPE_CHECKING:
    from agentkit.workspace.workspace import Workspace

KIND = "usage"
"""The kind of such a run."""
ANALYST, TRYING = "Analyst", "Database"
_TRIES = 3
_TITLE = 60
_FENCED = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)
_INSTRUCTIONS = """You write one SELECT in DuckDB's SQL that answers a question about the usage of
an application with language models. Reply with the SELECT alone, in one fenced block, and nothing
else. It may read these views only:

{schema}

Times are UTC; it is {now} now. Costs are US dollars, null when unknown. Name the columns of the
result so that people understand them, and order its rows."""


def write_select(workspace: Workspace, owner: str, question: str, model_id: str = "") -> Run[str]:
    """Let a model write a SELECT that answers the question; the run gives it, and its events are
    kept.

    Raises ConfigError for an empty question and for a model that writes none, such as the offline
    one; the run fails with SqlRefused when none of its tries can be answered.
    """
    asked = question.strip()
    if not asked:
        raise ConfigError("The question is empty; type what you want to know.")
    model = workspace.model(model_id)
    if not model.is_language_model:
        raise ConfigError(
            "The offline model selects sentences out of documents and cannot write SQL. Connect a"
            " language model on the page Settings, or write the SELECT yourself."
        )
    settings = workspace.settings

    def work() -> str:
        run = runs.current()
        assert run is not None  # started below
        limit = Limit(settings.run_tokens, settings.run_dollars)
        budgets = workspace.hold_to_budgets(owner, run.id)
        with limited(limit, Limit(), Used()), budgets:
            return _write(workspace, owner, asked, model)

    return runs.start(
        work, kind=KIND, title=shorten(asked, _TITLE), owner=owner, ledger=workspace.ledger
    )


def _write(workspace: Workspace, owner: str, question: str, model: Model) -> str:
    now = f"{utc_now():%Y-%m-%d %H:%M}"
    system = message("system", _INSTRUCTIONS.format(schema=describe_schema(), now=now))
    said = [system, message("user", question)]
    before = _tell(None, "user", ANALYST, question)
    for left in reversed(range(_TRIES)):
        reply = call(model, said, agent=ANALYST).text
        before = _tell(before, ANALYST, TRYING, reply)
        try:
            return _check_statement(workspace, owner, find_select(reply))
        except SqlRefused as error:
            if not left:
                raise
            problem = f"{error} Write the whole SELECT once more."
        before = _tell(before, TRYING, ANALYST, problem)
        said += [message("assistant", reply), message("user", problem)]
    raise AssertionError("the last try returns or raises")


def _check_statement(workspace: Workspace, owner: str, sql: str) -> str:
    """The statement, if it can be answered; raises SqlRefused."""
    made, _ = workspace.usage_sql.ask(owner, sql, limits=Limits(rows=1))
    made.close()
    return sql


def find_select(reply: str) -> str:
    """The SQL of a reply: of its first fenced block, else all of it."""
    found = _FENCED.search(reply)
    return (found[1] if found else reply).strip().rstrip(";").strip()


def _tell(before: str | None, sender: str, recipient: str, text: str) -> str:
    """Say who said what to whom; gives the message's id."""
    role = "assistant"
    if sender == "user":
        role = "user"
    sent = MessageSent(new_id(), before, sender, recipient, role, text)
    bus.emit(sent)
    return sent.id
