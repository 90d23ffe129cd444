"""What others rely on is there: names, their types, commands with options, variables, documented
imports.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

import agentkit
from agentkit import names
from agentkit.cli import app
from agentkit.settings import load_settings, origins
from tests import stubs
from tests.public import assert_same, held
from tests.test_layers import LEVEL, member

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OFFERED = [(door, name) for door, offered in held("names").items() for name in offered]
MOVED = [(name, place) for place, moved in held("moved").items() for name in moved]


@pytest.mark.parametrize("door", stubs.DOORS)
def test_names_are_those_of_the_list(door: str) -> None:
    module = importlib.import_module(door)
    assert module.__all__ == sorted(module.__all__)
    assert dir(module) == sorted({*module.__all__, *names.parts(door)})
    assert_same(module.__all__, held("names")[door], door)


@pytest.mark.parametrize(("door", "name"), OFFERED)
def test_every_name_is_the_one_where_it_lives(door: str, name: str) -> None:
    found = getattr(importlib.import_module(door), name)
    assert found.__doc__
    assert found is getattr(importlib.import_module(names.homes(door)[name]), name)


def test_what_has_moved_is_on_the_list() -> None:
    assert names.moved() == dict(MOVED)
    assert not set(names.moved()) & set(agentkit.__all__)


@pytest.mark.parametrize(("name", "place"), MOVED)
def test_what_has_moved_warns_and_says_where_to(name: str, place: str) -> None:
    told = re.escape(f"write `from {place} import {name}` instead")
    with pytest.warns(DeprecationWarning, match=told) as caught:
        found = getattr(agentkit, name)
    assert caught[0].filename == __file__
    assert found is getattr(importlib.import_module(place), name)


def test_an_import_of_what_has_moved_warns_where_it_stands(tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    script.write_text("import sys\nfrom agentkit import start\nprint(start.__module__)\n")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "agentkit.runs\n"
    assert "old.py:2: DeprecationWarning: agentkit.start has moved" in done.stderr
    assert done.stderr.count("DeprecationWarning") == 1


@pytest.mark.parametrize(("old", "new"), held("modules").items())
def test_a_module_that_has_moved_is_found_with_a_warning(
    tmp_path: Path, old: str, new: str
) -> None:
    script = tmp_path / "old.py"
    script.write_text(
        "import sys, importlib\n"
        f"import {old} as first\n"
        f"import {old}, {new} as there\n"
        f"assert first is there is sys.modules['{old}'] is {old}\n"
        f"assert there.__name__ == there.__spec__.name == '{new}'\n"
        "importlib.reload(there)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    told = f"old.py:2: DeprecationWarning: {old} has moved; write `from {new} import ...`"
    assert told in done.stderr
    assert done.stderr.count("DeprecationWarning") == 1


def test_modules_that_have_moved_are_on_the_list() -> None:
    modules: object = held("modules")
    assert modules == names.OLD_MODULES


@pytest.mark.parametrize("door", stubs.DOORS)
def test_an_unknown_name_is_an_attribute_error(door: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{door}' has no attribute 'Nonsense'"):
        _ = importlib.import_module(door).Nonsense


@pytest.mark.parametrize("door", stubs.DOORS)
def test_type_checkers_read_the_same_names(door: str) -> None:
    written = stubs.place(door).read_text(encoding="utf-8")
    assert written == stubs.stub(door), "run `python -m tests.stubs`"


@pytest.mark.parametrize("door", sorted(names.SUBMODULES))
def test_a_face_offers_only_what_lies_below_it(door: str) -> None:
    homes = {home for home, doors, _ in names.TABLE if door in doors}
    below = {home: LEVEL[place] for home in homes if (place := member(home))}
    assert set(below) == homes
    assert min(below.values()) > LEVEL[door]


def commands(command: object, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Every command with its arguments and options."""
    if isinstance(command, TyperGroup):
        for each, inner in command.commands.items():
            yield from commands(inner, f"{name} {each}".strip())
        if not command.invoke_without_command:
            return
    if isinstance(command, TyperGroup | TyperCommand):
        yield name, [option for one in command.params for option in _written(one)]


def _written(one: object) -> list[str]:
    """How an argument or an option is written on the command line."""
    if isinstance(one, TyperOption):
        return [*one.opts, *one.secondary_opts]
    assert isinstance(one, TyperArgument)
    return [one.metavar or str(one.name).upper()]


def test_commands_and_their_options_are_those_of_the_list() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert_same(found, held("commands"), "commands")
    for name, options in found.items():
        assert_same(options, held("commands")[name], f"python -m agentkit {name}")


def test_settings_and_their_variables_are_those_of_the_list(tmp_path: Path) -> None:
    nowhere = tmp_path / "secrets.toml"
    fields = {name for name in vars(load_settings({}, nowhere))}
    assert_same(fields, held("settings"), "settings")


@pytest.mark.parametrize(
    ("field", "variable"),
    [(field, variable) for field, variables in held("settings").items() for variable in variables],
)
def test_every_variable_counts(field: str, variable: str, tmp_path: Path) -> None:
    assert origins({variable: "1"}, tmp_path / "secrets.toml") == {field: variable}


def shown() -> Iterator[str]:
    """Every dotted name of the package that the README and the pages show, imported or in words."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for module, imported in re.findall(
            r"^ *from (agentkit[.\w]*) import ([\w, ]+)$", text, re.MULTILINE
        ):
            yield from (f"{module}.{name}" for name in imported.split(", "))
        yield from re.findall(r"(?<![\w./])agentkit(?:\.\w+)+(?![\w/])", text)


def test_documented_names_are_those_of_the_list() -> None:
    files = {"agentkit.duckdb", "agentkit.duckdb.backups", "agentkit.zip", "agentkit.team"}
    assert_same(set(shown()) - files, held("documented")["names"], "README.md and docs/")


@pytest.mark.parametrize("name", held("documented")["names"])
def test_a_documented_name_is_there_and_does_not_warn(name: str) -> None:
    home, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert getattr(importlib.import_module(home), last) is not None
