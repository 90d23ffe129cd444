"""Importing agentkit is cheap: heavy libraries are loaded where they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {
    "torch",
    "transformers",
    "sentence_transformers",
    "streamlit",
    "duckdb",
    "hnswlib",
    "tantivy",
    "pandas",
    "numpy",
    "pyarrow",
    "openai",
    "tiktoken",
    "pypdfium2",
    "docx",
    "pptx",
    "openpyxl",
    "bs4",
    "lxml",
    "genai_prices",
    "typer",
    "rich",
}
# What may be loaded by importing these as well: the page code draws with streamlit, the command
# line with typer and rich.
MAY_LOAD = {
    "agentkit.ui": HEAVY,
    "agentkit.__main__": {"typer", "rich"},
    "agentkit.cli": {"typer", "rich"},
    "agentkit.database.asked.child": {"duckdb", "numpy", "pandas", "pyarrow"},  # of it
    "agentkit.database.asked.nursery": {"duckdb", "numpy", "pandas", "pyarrow"},  # a program
}
NAMES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "agentkit").rglob("*.py")
)


def loaded_by(statement: str) -> set[str]:
    """The top-level names in sys.modules of a fresh interpreter after the statement."""
    code = f"import sys\n{statement}\nprint(sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ast.literal_eval(done.stdout.splitlines()[-1]))


def allowed(name: str) -> set[str]:
    """The heavy libraries that this module may load."""
    return next(
        (
            names
            for prefix, names in MAY_LOAD.items()
            if name == prefix or name.startswith(prefix + ".")
        ),
        set(),
    )


def test_importing_agentkit_loads_nothing_heavy() -> None:
    assert not loaded_by("import agentkit") & HEAVY


def test_the_public_names_load_nothing_before_they_are_used() -> None:
    faces = ["agentkit.autogen", "agentkit.agentscope", "agentkit.lagent"]
    code = (
        f"import sys\nimport {', '.join(faces)}\nprint(sorted(n for n in sys.modules if 'agentkit'"
        " in n))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ast.literal_eval(done.stdout) == sorted(
        ["agentkit", "agentkit.doors", "agentkit.names", *faces]
    )


def test_importing_every_light_module_loads_nothing_heavy() -> None:
    light = [name for name in NAMES if not allowed(name)]
    assert not loaded_by("\n".join(f"import {name}" for name in light)) & HEAVY


def test_the_command_line_starts_without_the_app_and_the_model() -> None:
    doors = [name for name in NAMES if name.startswith(("agentkit.cli", "agentkit.__main__"))]
    assert doors
    assert not loaded_by("\n".join(f"import {name}" for name in doors)) & (
        HEAVY - {"typer", "rich"}
    )


def test_the_first_page_is_drawn_without_what_answers_and_tables_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path))
    drawing = (
        "import app; from streamlit.testing.v1 import AppTest;"
        " page = AppTest.from_file(str(app.server.SCRIPT), default_timeout=60).run();"
        " assert not page.exception and page.chat_input, page"
    )
    loaded = loaded_by(drawing)
    tables = {"pandas", "pyarrow", "numpy", "PIL", "altair", "plotly"}
    assert not loaded & {*tables, "openai", "tiktoken", "markdown_it"}
    assert not {name for name in loaded if name.startswith(_ASKED)}


_ASKED = (
    "agentkit.agents",
    "agentkit.coding.chat_kernel.kernel",
    "agentkit.conversation.",
    "agentkit.llm.offline.extractive",
    "agentkit.llm.support.checking",
    "agentkit.mcp",
    "agentkit.parsers",
    "agentkit.teams.answer",
    "agentkit.teams.group",
)
"""What questions need, and no page."""


def test_what_the_first_page_is_made_of_is_loaded_before_anybody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The browser takes a second for its own part; meanwhile the server has nothing to do."""
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path))
    drawing = """
import app
app.server._load_first_page()
loaded = set(sys.modules)
from streamlit.testing.v1 import AppTest
page = AppTest.from_file(str(app.server.SCRIPT), default_timeout=60).run()
assert not page.exception and page.chat_input, page
left = {name for name in sys.modules if name.startswith("agentkit.")} - loaded
assert not left, left
"""
    assert loaded_by(drawing)


def test_a_page_waits_for_what_is_being_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two threads that import parts of one package at once, one finds the other's half done."""
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path))
    drawing = """
import threading
import app
from streamlit.testing.v1 import AppTest
page = AppTest.from_file(str(app.server.SCRIPT), default_timeout=60).run()
app.state.loaded.clear()
drawing = threading.Thread(target=page.run)
drawing.start()
drawing.join(2)  # a page that has been drawn before takes a tenth of a second
assert drawing.is_alive()
app.server._warm()
drawing.join()
assert not page.exception and page.chat_input, page
"""
    assert loaded_by(drawing)


def test_a_heavy_library_would_be_seen() -> None:
    assert "numpy" in loaded_by("import numpy") & HEAVY
