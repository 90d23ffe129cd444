"""Imports run downward only, without cycles, and two libraries stay in their place; read from the
source with `ast`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.parsing import parse_all

ROOT = Path(__file__).parents[1]

# Highest first. Names on one line do not import one another (on the last line they may); a package
# stands for all in it.
LAYERS = [
    ("app", "pages", "agentkit.__main__", "agentkit.cli"),
    ("agentkit.ui", "agentkit.api"),
    ("agentkit.workspace",),
    ("agentkit.teams", "agentkit.autogen", "agentkit.agentscope", "agentkit.lagent"),
    ("agentkit.agents",),
    ("agentkit.conversation",),
    (
        *("agentkit.runs", "agentkit.llm", "agentkit.parsers"),
        *("agentkit.coding", "agentkit.retrieval", "agentkit.mcp"),
    ),
    ("agentkit.documents", "agentkit.ledger"),
    ("agentkit.core", "agentkit.database"),
    (
        *(
            "agentkit.messages",
            "agentkit.events",
            "agentkit.event_values",
            "agentkit.code_events",
            "agentkit.evaluation_events",
            "agentkit.model_events",
            "agentkit.event_json",
            "agentkit.reasons",
            "agentkit.settings",
            "agentkit.private",
        ),
        *(
            "agentkit.places",
            "agentkit.errors",
            "agentkit.names",
            "agentkit.doors",
            "agentkit.options",
        ),
    ),
]
BASE = len(LAYERS) - 1
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ONLY_IN = {"streamlit": ("app", "pages", "agentkit.ui"), "duckdb": ("agentkit.database",)}
# `python -m agentkit` is a door to the command line, which is on the same line.
DOORS = {("agentkit.__main__", "agentkit.cli")}

Imports = dict[str, list[tuple[str, int]]]
"""For every module of ours: what it imports (dotted names as far as they are known) and on which
line.
"""


def modules_of(root: Path) -> dict[str, Path]:
    """Dotted name -> file, of app.py, pages/ and agentkit/ below root."""
    files = [root / "app.py", *(root / "pages").rglob("*.py"), *(root / "agentkit").rglob("*.py")]
    return {_name_of(root, file): file for file in files if file.is_file()}


def _name_of(root: Path, file: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def trees_of(root: Path) -> dict[str, ast.Module]:
    """What every module says, by its dotted name."""
    files = modules_of(root)
    trees = parse_all((str(file), _read(file)) for file in files.values())
    return dict(zip(files, trees, strict=True))


@cache
def imports_of(root: Path) -> Imports:
    """What every module imports, also under `if TYPE_CHECKING` and inside functions."""
    files = modules_of(root)
    found: Imports = {}
    for name, tree in trees_of(root).items():
        file = files[name]
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = [each for node in ast.walk(tree) for each in _targets(node, package, files)]
    return found


def _read(file: Path) -> str:
    """Its source, with the stub of a package whose names are loaded as the stub says."""
    source = file.read_text(encoding="utf-8")
    if "attach_stub" not in source:
        return source
    return source + file.with_suffix(".pyi").read_text(encoding="utf-8")


def _targets(node: ast.AST, package: str, files: Mapping[str, Path]) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, node.lineno) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            full = f"{base}.{alias.name}"
            yield (full if full in files else base, node.lineno)


def member(name: str) -> str | None:
    """The name in LAYERS that a module belongs to; None for agentkit itself and for other people's
    modules.
    """
    parts = name.split(".")
    return next((p for n in (2, 1) if (p := ".".join(parts[:n])) in LEVEL), None)


def upward(imports: Imports) -> list[str]:
    """One sentence for every import that goes up or sideways, or that starts in a part without a
    place.
    """
    wrong = []
    for name, targets in sorted(imports.items()):
        here = member(name)
        if here is None:
            if name != "agentkit":
                wrong.append(
                    f"{name} has no place in LAYERS; give it one here and in the layout of the"
                    " design."
                )
            continue
        wrong += [
            f"{name}:{line} imports {target}, {why}"
            for target, line in targets
            if (why := _why_not(here, member(target)))
        ]
    return wrong


def _why_not(here: str, there: str | None) -> str:
    if there is None or there == here or (here, there) in DOORS:
        return ""
    if LEVEL[there] < LEVEL[here]:
        return "which is above it."
    if LEVEL[there] == LEVEL[here] != BASE:
        return "which stands beside it on the same layer."
    return ""


def misplaced(imports: Imports) -> list[str]:
    """One sentence for every import of streamlit or duckdb from outside its place."""
    return [
        f"{name}:{line} imports {target}; {library} belongs in {', '.join(places)} only."
        for library, places in ONLY_IN.items()
        for name, targets in sorted(imports.items())
        for target, line in targets
        if target.split(".")[0] == library and member(name) not in places
    ]


def cycles(imports: Imports) -> list[str]:
    """Every circle of modules, also one for types only or inside functions, as `a -> b -> a`."""
    edges = {
        name: sorted({t for t, _ in targets if t in imports and t != name})
        for name, targets in imports.items()
    }
    found: list[str] = []
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in done:
            for target in edges[name]:
                visit(target, [*path, name])
            done.add(name)

    for name in sorted(edges):
        visit(name, [])
    return found


def folder_cycles(imports: Imports) -> list[str]:
    """The same for each package: its folders count as a whole, the files beside them for
    themselves.
    """
    known = map(_parts, imports)
    packages = sorted({".".join(parts[:n]) for parts in known for n in range(1, len(parts) - 1)})
    return [circle for package in packages for circle in cycles(_rooms(package, imports))]


def _parts(name: str) -> list[str]:
    return name.split(".")


def _rooms(package: str, imports: Imports) -> Imports:
    """What the folders and files of one package import of each other."""
    depth = len(_parts(package)) + 1
    known = (name for name in imports if f"{name}.".startswith(f"{package}."))
    inside = {name: ".".join(_parts(name)[:depth]) for name in known}
    rooms: Imports = {room: [] for room in inside.values()}
    for name, room in inside.items():
        rooms[room] += [(inside[there], line) for there, line in imports[name] if there in inside]
    return rooms


def engines_touched(root: Path) -> list[str]:
    """One sentence for each place outside of agentkit.conversation that reaches into an engine."""
    return [
        f"{name}:{line} touches `_engine`; agentkit.conversation.engine has what others need of it."
        for name, tree in sorted(trees_of(root).items())
        if member(name) != "agentkit.conversation"
        for line in _lines_with_engine(tree)
    ]


def _lines_with_engine(tree: ast.AST) -> Iterator[int]:
    """As an attribute, or as a text for `getattr` and `attrgetter`."""
    for node in ast.walk(tree):
        named = node.attr if isinstance(node, ast.Attribute) else None
        written = node.value if isinstance(node, ast.Constant) else None
        if "_engine" in (named, str(written).split(".")[0]):
            yield getattr(node, "lineno", 0)


def test_imports_run_downward() -> None:
    assert not (wrong := upward(imports_of(ROOT))), "\n".join(wrong)


def test_no_module_imports_itself_in_a_circle() -> None:
    assert not (wrong := cycles(imports_of(ROOT))), "\n".join(wrong)


def test_no_folder_of_a_package_imports_itself_in_a_circle() -> None:
    assert not (wrong := folder_cycles(imports_of(ROOT))), "\n".join(wrong)


def test_only_conversation_reaches_into_an_engine() -> None:
    assert not (wrong := engines_touched(ROOT)), "\n".join(wrong)


def test_streamlit_and_duckdb_stay_in_their_place() -> None:
    assert not (wrong := misplaced(imports_of(ROOT))), "\n".join(wrong)


def reached(imports: Imports, start: str) -> set[str]:
    """The modules that a module imports, and those that they import; what packages pass on is left
    out.
    """
    packages = {name.rpartition(".")[0] for name in imports}
    found: set[str] = set()
    left = [start]
    while left:
        if (name := left.pop()) not in found | packages:
            found.add(name)
            left += [target for target, _ in imports[name] if target in imports]
    return found


def test_a_search_loads_nothing_that_takes_documents_in() -> None:
    found = reached(imports_of(ROOT), "agentkit.retrieval.search.search")
    assert "agentkit.retrieval.index.indexes" in found
    taking_in = ("agentkit.retrieval.ingest.", "agentkit.retrieval.web.", "agentkit.documents.jail")
    assert not [name for name in sorted(found) if name.startswith(taking_in)]


def _write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_finds_what_is_wrong_in_a_made_up_tree(tmp_path: Path) -> None:
    files = {
        "app.py": "import streamlit\nfrom agentkit.ui import draw\n",
        "pages/chat.py": "from agentkit import settings\n",
        "agentkit/__init__.py": "",
        "agentkit/settings.py": "",
        "agentkit/attic.py": "",
        "agentkit/ui/__init__.py": "import streamlit as st\n",
        "agentkit/ui/draw.py": "from . import state\n",
        "agentkit/ui/state.py": "from agentkit.ui import draw\n",
        "agentkit/database.py": "import duckdb\n",
        "agentkit/llm/__init__.py": "def f():\n    from agentkit.retrieval import search\n",
        "agentkit/retrieval/search.py": "import duckdb.typing\nfrom ..teams import qa\n",
        "agentkit/teams/qa.py": "from agentkit.llm import x\nimport streamlit\n",
    }
    _write(tmp_path, files)
    imports = imports_of(tmp_path)
    assert upward(imports) == [
        "agentkit.attic has no place in LAYERS; give it one here and in the layout of the design.",
        (
            "agentkit.llm:2 imports agentkit.retrieval.search, which stands beside it on the same"
            " layer."
        ),
        "agentkit.retrieval.search:2 imports agentkit.teams.qa, which is above it.",
    ]
    assert misplaced(imports) == [
        "agentkit.teams.qa:2 imports streamlit; streamlit belongs in app, pages, agentkit.ui only.",
        (
            "agentkit.retrieval.search:1 imports duckdb.typing; duckdb belongs in agentkit.database"
            " only."
        ),
    ]
    assert cycles(imports) == [
        "agentkit.llm -> agentkit.retrieval.search -> agentkit.teams.qa -> agentkit.llm",
        "agentkit.ui.draw -> agentkit.ui.state -> agentkit.ui.draw",
    ]


def test_finds_circles_for_types_and_inside_functions(tmp_path: Path) -> None:
    files = {
        "agentkit/llm/model.py": "from agentkit.llm import limits\n",
        "agentkit/llm/limits.py": "if TYPE_CHECKING:\n    from agentkit.llm.model import Model\n",
        "agentkit/coding/docker.py": "from agentkit.coding.isolation import how\n",
        "agentkit/coding/isolation.py": "def made():\n    from .docker import Executor\n",
    }
    _write(tmp_path, files)
    assert sorted(cycles(imports_of(tmp_path))) == [
        "agentkit.coding.docker -> agentkit.coding.isolation -> agentkit.coding.docker",
        "agentkit.llm.limits -> agentkit.llm.model -> agentkit.llm.limits",
    ]


def test_finds_circles_of_folders(tmp_path: Path) -> None:
    files = {
        "agentkit/retrieval/__init__.py": "from agentkit.retrieval.library import Library\n",
        "agentkit/retrieval/library.py": "from agentkit.retrieval.search import found\n",
        "agentkit/retrieval/store/__init__.py": "",
        "agentkit/retrieval/store/store.py": "from agentkit.retrieval.search import terms\n",
        "agentkit/retrieval/search/__init__.py": "",
        "agentkit/retrieval/search/found.py": "from agentkit.retrieval.store import store\n",
        "agentkit/retrieval/search/terms.py": "from agentkit.retrieval.search.exact.one import f\n",
        "agentkit/retrieval/search/exact/one.py": (
            "from agentkit.retrieval.search.near import two\n"
        ),
        "agentkit/retrieval/search/near/two.py": (
            "def g():\n    from agentkit.retrieval.search.exact import three\n"
        ),
        "agentkit/retrieval/search/exact/three.py": "",
    }
    _write(tmp_path, files)
    assert cycles(imports_of(tmp_path)) == []
    assert folder_cycles(imports_of(tmp_path)) == [
        "agentkit.retrieval.search -> agentkit.retrieval.store -> agentkit.retrieval.search",
        (
            "agentkit.retrieval.search.exact -> agentkit.retrieval.search.near ->"
            " agentkit.retrieval.search.exact"
        ),
    ]


def test_finds_who_reaches_into_an_engine(tmp_path: Path) -> None:
    files = {
        "agentkit/conversation/model.py": "agent._engine.history.clear()\n",
        "agentkit/agents/group/manager.py": "def f(agent):\n    return agent._engine.human\n",
        "agentkit/teams/qa.py": "parts = getattr(agent, '_engine', None)\n",
        "agentkit/ui/draw.py": "engine = of(agent)\n",
    }
    _write(tmp_path, files)
    assert [sentence.split(" ")[0] for sentence in engines_touched(tmp_path)] == [
        "agentkit.agents.group.manager:2",
        "agentkit.teams.qa:1",
    ]
