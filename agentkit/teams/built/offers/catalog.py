"""The built-in tools: which there are, and each as an agent of one task can call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from agentkit.errors import ConfigError
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.offers.reading import make_fetcher, make_reader
from agentkit.teams.built.offers.running import make_runner
from agentkit.teams.built.offers.tables import make_querier
from agentkit.teams.built.tools import BUILT_IN
from agentkit.teams.findings import FIND, SEARCH, Findings
from agentkit.teams.task import Task
from agentkit.teams.tools import find_cells

READ, QUERY, FETCH, RUN = "read_document", "query_tables", "fetch_page", "run_python"
Tool = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class About:
    """What people are told of a built-in tool."""

    text: str
    harmless: bool = True


CATALOG: Mapping[str, About] = {
    SEARCH: About("Looks something up in the documents, by meaning and words."),
    FIND: About("Finds where exact words stand in the documents."),
    READ: About("Reads a document as a whole, piece by piece."),
    QUERY: About("Asks the tables of the documents in SQL; nothing but them can be reached."),
    "calculate": About("Computes an arithmetic expression."),
    "todays_date": About("Tells the date and the time."),
    FETCH: About("Reads a page of the public web.", harmless=False),
    RUN: About("Runs Python in the chat's kernel, in isolation.", harmless=False),
}
_UNKNOWN = About("A tool that is not built in.", harmless=False)
_AS_FOREIGN = {"harmless": "as_declared", "as_declared": "as_declared", "dangerous": "dangerous"}
"""How tools are marked in a team of somebody else."""
_MISSING: Mapping[str, str] = {
    FIND: "nothing can be looked up word for word here",
    READ: "there are no documents to read here",
    QUERY: "there are no documents with tables here",
    FETCH: "this installation lets agents fetch no pages; the Settings page can allow it",
    RUN: "nothing on this machine can isolate code",
}
"""Why a tool of the catalog may not be there."""


def make_offers(task: Task, found: Findings, agent: str) -> dict[str, Tool]:
    """The built-in tools that there are for this task; `agent` is who runs them."""
    offers: dict[str, Tool] = {**BUILT_IN, SEARCH: found.search_documents}
    makers = _list_makers(task, agent)
    if found.finds_exact:
        offers[FIND] = found.find_exact
    for name, (source, make) in makers.items():
        if source is not None:
            offers[name] = make(source)
    return offers


def _list_makers(task: Task, agent: str) -> dict[str, tuple[Any, Callable[[Any], Tool]]]:
    """What each of the other tools works with in this task, or None, and what makes the tool."""
    return {
        READ: (task.documents, make_reader),
        QUERY: (task.documents, make_querier),
        FETCH: (task.fetch, make_fetcher),
        RUN: (find_cells(task), partial(make_runner, agent=agent)),
    }


def choose_offer(offers: Mapping[str, Tool], name: str) -> Tool:
    """The tool of that name; raises ConfigError that says why it is not there."""
    if name not in offers:
        why = _MISSING.get(name, "there is no such tool")
        raise ConfigError(f"The tool {name!r} cannot be offered: {why}.")
    return offers[name]


def ask_always(document: TeamDocument) -> TeamDocument:
    """The team of somebody else, in which all dangerous tools ask before each call, whatever its
    document says; who trusts it can change that.
    """
    data = document.to_json()
    uses = chain.from_iterable(agent["tools"] for agent in data["agents"])
    for use in filter(_may_be_dangerous, uses):
        marked = use["marked"]
        use["approval"] = "always"
        use["marked"] = _AS_FOREIGN[marked]
    for function in data["functions"]:
        function["marked"] = "dangerous"
    return TeamDocument.model_validate(data)


def _may_be_dangerous(use: Mapping[str, Any]) -> bool:
    about = CATALOG.get(use["name"], _UNKNOWN)
    return not about.harmless
