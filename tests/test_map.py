"""ARCHITECTURE.md and CONTRIBUTING.md name what is there: paths, names in files, layers,
commands.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_layers import LAYERS

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
PATH = re.compile(r"(?:[\w.]+/)+(?:[\w.]+)?|[\w.-]+\.(?:md|txt|toml)|Makefile")


def missing(page: str, root: Path = ROOT) -> list[str]:
    """What a page names, as code or as a link, and is not there: `path`, or `path:name` for what a
    file defines.
    """
    named = [*re.findall(r"`([^`\n]+)`", page), *re.findall(r"\]\(([^)#]+)\)", page)]
    return [
        one
        for one in named
        if PATH.fullmatch(one.partition(":")[0]) and not exists(root, *one.partition(":")[::2])
    ]


def exists(root: Path, path: str, name: str) -> bool:
    place = root / path
    if not name:
        return place.exists()
    defines = re.compile(
        rf"^\s*(?:(?:async )?def|class) {name}\b|^\s*{name}(?:,[^=\n]*)?(?::[^=\n]+)? = ",
        re.MULTILINE,
    )
    return place.is_file() and bool(defines.search(place.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES)
def test_everything_that_is_named_is_there(page: str) -> None:
    assert missing((ROOT / page).read_text(encoding="utf-8")) == []


def test_the_layers_are_those_that_are_held() -> None:
    block = re.findall(
        r"```\n(.*?)```", (ROOT / PAGES[0]).read_text(encoding="utf-8"), flags=re.DOTALL
    )[0]
    told = [
        word for word in block.split() if word in ("app", "pages") or word.startswith("agentkit.")
    ]
    assert told == [name for names in LAYERS for name in names]


def test_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = {
        one
        for page in PAGES
        for one in re.findall(r"`make (\w+)`", (ROOT / page).read_text(encoding="utf-8"))
    }
    assert len(commands) >= 4
    assert [one for one in commands if not re.search(rf"^{one}:", makefile, re.MULTILINE)] == []


def test_what_is_not_there_is_seen() -> None:
    page = (
        "`agentkit/nowhere.py` `agentkit/runs.py:start` `agentkit/runs.py:nothing` [x](docs/no.md)"
        " `agentkit/ui/` `work(task)`"
    )
    assert missing(page) == ["agentkit/nowhere.py", "agentkit/runs.py:nothing", "docs/no.md"]
