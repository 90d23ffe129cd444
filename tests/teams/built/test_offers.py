"""Tools of built teams: built-in ones, functions written in the page, and the question before they
run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentkit.coding.bubblewrap import Limits
from agentkit.coding.chat_kernel.pool import KernelPool
from agentkit.core.tools import effects
from agentkit.documents import DocumentText, Section
from agentkit.errors import AgentkitError, ConfigError, DamagedDocument, FetchFailed
from agentkit.events import CodeRan, Noted, ToolReturned, WantedCall
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.teams.built.agents import WrittenFunction
from agentkit.teams.built.document import read_document
from agentkit.teams.built.importing import import_team
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.team import build_team
from agentkit.teams.cells import ChatCells
from agentkit.workspace.kernels import call_function
from tests.teams.built import drafts
from tests.teams.stage import Played, call, play

SMALL = Limits(seconds=3, memory_mb=512, processes=32, output_bytes=10_000, file_mb=10)
SHOUT = 'def shout(text: str) -> str:\n    """Say it loudly."""\n    return text.upper() + "!"\n'


@dataclass
class Paper:
    """A document as readers give it."""

    name: str
    sections: Sequence[Section] = ()
    text: str = ""
    id: str = "d1"

    def read(self) -> DocumentText:
        if not self.sections and not self.text:
            raise DamagedDocument(f"{self.name} is damaged.")
        return DocumentText(self.text, tuple(self.sections), "text/plain", self.name, None)


def table(text: str, place: str) -> Section:
    return Section(text, 0, len(text), text.partition("\n")[0], None, place)


PAPERS = [
    Paper("Long.txt", text="a" * 12_000 + "the end"),
    Paper("sales.xlsx", [table("city | sold\nVienna | 3\nLinz | 4", "May!A1:B3")]),
    Paper("broken.csv"),
]


def team(tools: Sequence[Mapping[str, Any]], functions: Sequence[Mapping[str, Any]] = ()) -> Any:
    draft = {**drafts.single(tools=tools), "functions": functions}
    return build_team(read_document(draft), "my-team:1")


def ask(tools: Sequence[Mapping[str, Any]], *calls: Any, **more: Any) -> Played:
    functions = more.pop("functions", ())
    cells, answers = more.pop("cells", None), more.pop("answers", ())
    model = scripted_model([*calls, "Done."])
    made = team(tools, functions)
    given = {"documents": lambda: PAPERS, **more}
    return play(made, model, cells=cells, answers=answers, more=given)


def results(played: Played) -> list[str]:
    return [one.content for one in played.of(ToolReturned)]


@pytest.fixture
def pool() -> Iterator[KernelPool]:
    with KernelPool(limits=SMALL) as opened:
        yield opened


@pytest.fixture
def cells(tmp_path: Path, pool: KernelPool) -> ChatCells:
    return ChatCells("chat", tmp_path / "chat", pool)


def test_documents_are_read_piece_by_piece() -> None:
    use = [{"name": "read_document"}]
    wanted: list[dict[str, Any]] = [{}, {"document": "long.TXT"}]
    wanted += [{"document": "Long.txt", "start": 12_000}, {"document": "broken.csv"}]
    played = ask(use, *(call("read_document", **one) for one in wanted))
    listed, first, rest, broken = results(played)
    assert "- Long.txt\n- sales.xlsx" in listed
    assert first.startswith("[Long.txt, characters 0 to 12,000 of 12,007; go on with start=12000]")
    assert rest.endswith("\nthe end")
    assert "is damaged" in broken


def test_tables_are_asked_in_sql() -> None:
    asked = ["", "select sum(sold) as all_sold from may_1", "select * from read_csv('/etc/passwd')"]
    names = [call("query_tables", sql=one) for one in asked]
    listed, answered, refused = results(ask([{"name": "query_tables"}], *names))
    assert '"city" VARCHAR, "sold" BIGINT' in listed
    assert "broken.csv is damaged" in listed
    name = listed.partition('- "')[2].partition('"')[0]
    [again] = results(
        ask([{"name": "query_tables"}], call("query_tables", sql=f"select sum(sold) from {name}"))
    )
    assert again.splitlines()[1] == "7"
    assert "There are these tables" in answered
    assert "disabled" in refused


def test_pages_are_fetched_where_that_is_allowed_and_asked_about() -> None:
    def fetch(url: str) -> DocumentText:
        if "127.0.0.1" in url:
            raise FetchFailed("127.0.0.1 is no public address.")
        return DocumentText("The page.", (), "text/html", url, None)

    asked = [call("fetch_page", url=f"http://{host}/") for host in ("example.com", "127.0.0.1")]
    played = ask([{"name": "fetch_page"}], *asked, fetch=fetch, answers=["approve", "approve"])
    page, refused = results(played)
    assert page.endswith("The page.")
    assert "no public address" in refused
    assert "example.com" in played.questions[0].draft
    assert played.questions[0].wants == WantedCall("Solo", "fetch_page")
    off = ask([{"name": "fetch_page"}])
    assert isinstance(off.error, ConfigError)
    assert "Settings page can allow it" in str(off.error)


def test_python_runs_in_the_kernel_of_the_chat_and_is_edited_as_code(cells: ChatCells) -> None:
    first, second = call("run_python", code="x = 6"), call("run_python", code="print(x * 7)")
    use = [{"name": "run_python"}]
    played = ask(use, first, second, cells=cells, answers=["approve", "edit\nprint(x * 8)"])
    assert [one.language for one in played.questions] == ["python", "python"]
    assert played.questions[1].draft == "print(x * 7)"
    assert played.questions[1].wants == WantedCall("Solo", "run_python")
    assert results(played)[1] == "48\n"


def test_a_written_function_runs_in_the_kernel_with_what_the_model_gave(cells: ChatCells) -> None:
    functions = [{"name": "shout", "code": SHOUT, "marked": "harmless"}]
    shouted = call("shout", text='tea "\n\\')
    played = ask([{"name": "shout"}], shouted, cells=cells, functions=functions)
    assert results(played) == ['TEA "\n\\!']
    assert played.questions == []
    [ran] = played.of(CodeRan)
    assert ran.code.startswith(SHOUT.rstrip())
    assert ran.cell is not None


def test_a_written_function_asks_unless_it_is_marked_harmless(cells: ChatCells) -> None:
    functions = [{"name": "shout", "code": SHOUT}]
    calls = [call("shout", text="tea"), call("shout", text="milk")]
    use = {"name": "shout"}
    played = ask([use], *calls, cells=cells, functions=functions, answers=["approve", "reject\nno"])
    assert results(played)[0] == "TEA!"
    assert "rejected" in results(played)[1]
    agreed: set[str] = set()
    first = [{**use, "approval": "first"}]
    given = {"cells": cells, "functions": functions, "agreed": agreed}
    assert len(ask(first, *calls, answers=["approve"], **given).questions) == 1
    assert ask(first, *calls, **given).questions == []  # the next question of the chat
    changed = [{"name": "shout", "code": SHOUT + "# changed\n"}]
    again = ask(first, *calls, answers=["approve"], **{**given, "functions": changed})
    assert len(again.questions) == 1
    assert ask([{**use, "approval": "never"}], *calls, **given).questions == []
    assert ask([{**use, "marked": "harmless"}], *calls, **given).questions == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 1 / 0", "ZeroDivisionError"),
        ("while True: pass", r"interrupted after \d+ s"),
        ("return 'a' * 100_000_000", "left out"),
        ("return bytearray(900_000_000)", "memory|MemoryError"),
        ("import os; os._exit(3)", "The kernel ended"),
        ("import urllib.request; return urllib.request.urlopen('http://1.1.1.1')", "URLError"),
    ],
)
def test_a_function_that_does_not_end_well_is_told_in_words(
    body: str, told: str, tmp_path: Path, pool: KernelPool, cells: ChatCells
) -> None:
    import re

    code = f'def bad() -> str:\n    """Say."""\n    {body}\n'
    tested = call_function(tmp_path, WrittenFunction(name="bad", code=code), {}, pool)
    assert re.search(told, tested.text())
    assert list((tmp_path / "kernels").iterdir()) == []
    functions = [{"name": "bad", "code": code, "marked": "harmless"}]
    played = ask([{"name": "bad"}], call("bad"), cells=cells, functions=functions)
    [said] = results(played)
    assert re.search(told, said)
    assert len(said) < 40_000
    assert played.final.content == "Done."


def test_without_a_sandbox_functions_are_left_out_and_that_is_told() -> None:
    functions = [{"name": "shout", "code": SHOUT}]
    played = ask([{"name": "shout"}], functions=functions)
    assert "shout was left out" in played.of(Noted)[0].text
    assert played.final.content == "Done."


def test_looking_at_a_team_runs_nothing_of_it(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    code = f'open({str(trap)!r}, "w")\ndef shout(text: str):\n    """Say."""\n'
    functions = [{"name": "shout", "code": code}]
    draft = {**drafts.single(tools=[{"name": "shout"}]), "functions": functions}
    document = read_document(draft)
    assert find_problems(document, tools=[]) == []
    build_team(document, "my-team:1")
    assert not trap.exists()


def test_problems_of_functions_are_told_beside_them() -> None:
    functions = [
        {"name": "shout", "code": SHOUT},
        {"name": "shout", "code": SHOUT},
        {"name": "calculate", "code": "def calculate(): pass"},
    ]
    draft = {**drafts.single(), "functions": functions}
    places = [one.place for one in find_problems(read_document(draft))]
    first = ["functions[1].name", "functions[2].name"]
    assert places == [*first, "functions[3].name", "functions[3].code"]


@pytest.mark.parametrize(("marked", "count"), [("as_declared", 0), ("dangerous", 1)])
def test_a_team_may_take_a_harmless_tool_for_dangerous(marked: str, count: int) -> None:
    use = [{"name": "calculate", "marked": marked}]
    played = ask(use, call("calculate", expression="2*3"), answers=["approve"] * count)
    assert results(played) == ["6"]
    assert len(played.questions) == count


def test_a_plan_uses_tools_of_all_kinds(cells: ChatCells) -> None:
    @effects("none")
    def stock(product: str) -> int:
        """How many there are."""
        return 7

    draft = {
        "name": "Plan",
        "agents": [
            drafts.agent("Planner", tools=[{"name": "shout"}, {"name": "stock"}]),
            drafts.agent("Solver"),
        ],
        "flow": {"kind": "plan", "max_turn": 1},
        "functions": [{"name": "shout", "code": SHOUT, "marked": "harmless"}],
    }
    plan = "Plan: Shout.\n#E1 = shout[tea]\nPlan: Count.\n#E2 = stock[tea]"
    model = scripted_model([plan, "TEA! is there."])
    made = build_team(read_document(draft), "my-team:1")
    played = play(made, model, cells=cells, tools=[stock])
    assert played.final.content == "TEA! is there."
    assert isinstance(model.client, ScriptedClient)
    assert "TEA!" in str(model.client.requests[-1])


def test_an_unknown_tool_is_told() -> None:
    played = ask([{"name": "nothing"}])
    assert isinstance(played.error, AgentkitError)
    assert "there is no such tool" in str(played.error)


def test_the_tools_of_an_imported_team_ask_whatever_it_says() -> None:
    tools = [
        {"name": "calculate", "approval": "never"},
        {"name": "shop/delete", "approval": "never", "marked": "harmless"},
        {"name": "run_python", "approval": "first", "marked": "dangerous"},
    ]
    functions = [{"name": "shout", "code": SHOUT, "marked": "harmless"}]
    draft = {**drafts.single(tools=tools), "functions": functions}
    taken = import_team(json.dumps(draft))
    used = [(use.approval, use.marked) for use in taken.document.agents[0].tools]
    asks = [("always", "as_declared"), ("always", "dangerous")]
    assert used == [("never", "as_declared"), *asks]
    assert taken.document.functions[0].marked == "dangerous"
    assert "whatever the file says" in taken.remarks[0].text
    again = import_team(json.dumps(taken.document.to_json()))
    assert (again.document, list(again.remarks)) == (taken.document, [])
