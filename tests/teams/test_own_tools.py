"""Functions of the user's own as tools: which are offered, and what is wrong with others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentkit.core.tools import effects_of, is_async, to_text
from agentkit.errors import ConfigError
from agentkit.events import ToolReturned
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.built.document import read_document
from agentkit.teams.built.team import build_team
from agentkit.teams.own_tools import LONGEST, load_tools
from tests.teams.built import drafts
from tests.teams.stage import asked, call, play

GOOD = '''
"""Tools of ours."""
from math import sqrt as _root
from pathlib import Path

def stock(product: str) -> int:
    """How many of a product are there."""
    return {"lamp": 12}[product]

def _hidden() -> None:
    """Not for models."""
'''


def file(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_the_public_functions_of_the_files(tmp_path: Path) -> None:
    other = file(
        tmp_path,
        'def price(product: str) -> float:\n    """What it costs."""\n    return 9.5\n',
        "other.py",
    )
    found = load_tools(os.pathsep.join([file(tmp_path, GOOD), other]))
    assert [(tool.__name__, tool("lamp")) for tool in found] == [("stock", 12), ("price", 9.5)]
    assert load_tools("") == []


def test_a_file_that_changes_is_run_again(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    first = load_tools(path)
    assert load_tools(path)[0] is first[0]
    file(tmp_path, GOOD.replace("12", "13"))
    os.utime(path, ns=(1, 1))
    assert load_tools(path)[0]("lamp") == 13


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "has no public function"),
        ("def stock(product: str) -> int:\n    return 1", "stock in .* needs a docstring"),
        (
            'def search_documents(query: str) -> str:\n    """Mine."""\n    return ""',
            "search_documents, which there is already",
        ),
        ("import nothing_of_that_name", "cannot be run: ModuleNotFoundError"),
        ("def (", "cannot be run: SyntaxError"),
        ("raise SystemExit", "cannot be run: SystemExit"),
    ],
)
def test_what_cannot_be_offered_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_tools(file(tmp_path, text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tools(str(tmp_path / "none.py"))
    with pytest.raises(ConfigError, match="is not a Python file"):
        load_tools(file(tmp_path, "x", "tools.txt"))


def test_two_of_the_same_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stock, which there is already"):
        load_tools(os.pathsep.join([file(tmp_path, GOOD), file(tmp_path, GOOD, "again.py")]))


BAD = '''
from agentkit import effects

@effects("none")
def flood() -> str:
    """Far too much."""
    return "a" * 100_000_000

@effects("none")
def numbers() -> list[int]:
    """Many."""
    return list(range(100_000))

@effects("none")
async def rows(count: int) -> str:
    """Rows."""
    return "row\\n" * count

@effects("none")
def leave() -> str:
    """Ends the program."""
    raise SystemExit(3)

@effects("none")
def break_off(why: str) -> str:
    """Raises."""
    raise ValueError(why * 1_000)

@effects("none")
def itself() -> str:
    """Never ends."""
    return itself()
'''


def test_what_tools_do_badly_is_told_in_words_and_short(tmp_path: Path) -> None:
    own = load_tools(file(tmp_path, BAD))
    names = [one.__name__ for one in own]
    calls = [
        call("flood"),
        call("numbers"),
        call("rows", count=50_000),
        call("leave"),
        call("break_off", why="no\x00\ud800"),
        call("itself"),
    ]
    model = scripted_model([*calls, "Done."])
    draft = drafts.single(tools=[{"name": name} for name in names])
    played = play(build_team(read_document(draft), "my-team:1"), model, tools=own)
    assert played.final.content == "Done."
    told = {one.name: one.content for one in played.of(ToolReturned)}
    assert list(told) == names
    assert "characters were left out here" in told["flood"]
    assert "characters were left out here" in told["numbers"]
    assert "lines, " in told["rows"]
    assert "tried to end the program (SystemExit 3)" in told["leave"]
    assert "recursion" in told["itself"]
    assert max(map(len, told.values())) < LONGEST + 200
    assert len(str(asked(model)[-1])) < 5 * LONGEST


def test_an_own_tool_keeps_what_it_says_of_itself(tmp_path: Path) -> None:
    flood, _, rows, *_ = load_tools(file(tmp_path, BAD))
    assert (effects_of(flood), is_async(flood), is_async(rows)) == ("none", False, True)
    [stock] = load_tools(file(tmp_path, GOOD))
    assert to_text(stock("lamp")) == "12"
