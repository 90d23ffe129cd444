"""The size and form of the source: prints the figures (`pytest -s`) and holds them to the habits of
the design.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.parsing import parse_all
from tests.test_layers import imports_of, modules_of

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
FILE_MEDIAN, FILE_MOST = 145, 500
FOLDER_MOST = 26
BODY_MEDIAN, BODY_MOST = 8, 60
COMPLEXITY_MOST = 15
COLUMNS_MOST = 100
DENSITY_MOST = 25.0
"""Branches in 100 lines of bodies; well-kept libraries have 15 to 25, so this is to fall."""
UNFORMATTED = re.compile(r"# *fmt: *(skip|off)")
MOST_LINES_OF = {"app.py": 40, "pages": 120, "agentkit/conversation/conversable.py": 1_000}
MAY_PRINT = "agentkit/core/io.py"  # it is the console
NAMED_BY_OTHERS = {"GroupChatManager"}  # AutoGen's name
ANY_MOST = 2.2
"""`Any` in 100 lines; what is only looked at or handed on is an `object`."""
CALL_KEYS = re.compile(r"""["'](tool_calls|function_call|tool_responses)["']""")
SPELL_CALL_KEYS = {
    "agentkit/messages.py",  # the rules of messages
    "agentkit/llm/calls/replies.py",  # what a server sent, before it is a message
}
RIDDLE = re.compile(r"(?<![Tt]here )\b(?:is|are|was|were|be|being)\s+no(?:ne)?\b(?! l\w+er\b)")
"""What is said by what it is not: "what is no list", "None for what is none"."""
BETWEEN_LINES = re.compile(r"""["']?\n\s*(?:#\s*|[rf]*["'])?""")
PARTICIPLE = re.compile(
    r"_*(?!embed)(?:[a-z]+(?<!e)ed|told|shown|made|kept|given|found|written|chosen|drawn|known|said"
    r"|sent|taken|seen|done|gone|held|begun|heard|lost|bound|missing|waiting)(?:_|$)"
)
PARTICIPLES_MOST = 0.5
"""Functions in 100 that are named by what was done; the verb says what they do. Of AutoGen's are
some, and wrappers within a decorator.
"""
VAGUE = ("Manager", "Helper", "Util", "Utils")

CRUMB = 60
"""A file of fewer lines that one other file imports is a part of that one."""
ROOMS_OF_THEIR_OWN = {
    "agentkit.agents.retrieve_chat.assistant": "a public agent",
    "agentkit.cli.serve": "a command",
    "agentkit.cli.words": "all words of the commands, kept apart from what they say",
    "agentkit.coding.factory": "a public class, loaded when it is first used",
    "agentkit.conversation.compression.tool_output": "a strategy of compression",
    "agentkit.conversation.compression.window": "a strategy of compression",
    "agentkit.conversation.transforms.history": "a transform of messages",
    "agentkit.retrieval.checks": "what `doctor` asks of the library",
    "agentkit.teams.assistant": "a team",
    "agentkit.ui.shell.reruns": "what reaches into Streamlit",
    "agentkit.ui.shell.metrics": "a route, and a format of its own",
    "agentkit.ui.usage.sql_examples": "the list of examples, where further ones are put",
    "agentkit.teams.registry": "the list of teams, where further ones are put",
    "agentkit.teams.werewolf.team": "a team",
}
"""Small files with one importer that are rooms all the same, and why."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
# What ruff's C901 counts, and what it leaves out: conditions within an expression.
BRANCHES = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case),
    *(ast.IfExp, ast.comprehension),
)


@dataclass(frozen=True)
class Source:
    """One file of ours: path below the root, its lines and its tree."""

    path: str
    lines: list[str]
    tree: ast.Module

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones included."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


def read(root: Path) -> list[Source]:
    """app.py, pages/ and agentkit/ below root."""
    files = [
        root / "app.py",
        *sorted((root / "pages").rglob("*.py")),
        *sorted((root / "agentkit").rglob("*.py")),
    ]
    texts = [
        (str(file.relative_to(root)), file.read_text(encoding="utf-8"))
        for file in files
        if file.is_file()
    ]
    return [
        Source(path, text.splitlines(), tree)
        for (path, text), tree in zip(texts, parse_all(texts), strict=True)
    ]


def body_length(function: Function) -> int:
    """Lines from the first to the last statement, without the docstring."""
    body = (
        function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    )
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1 if body else 0


def complexity(function: Function) -> int:
    """One, and one more for each branch; functions inside count for themselves."""
    return 1 + sum(map(_branches, _own_nodes(function)))


def _branches(node: ast.AST) -> int:
    """How many ways part here: each `and`, `or` and `if` of an expression is one."""
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    filters = len(node.ifs) if isinstance(node, ast.comprehension) else 0
    return isinstance(node, BRANCHES) + filters


def density(sources: list[Source]) -> float:
    """Branches in 100 lines of bodies, functions inside counted with those around them, too."""
    functions = [function for source in sources for function in source.functions()]
    branches = sum(_branches(node) for function in functions for node in ast.walk(function))
    return 100 * branches / sum(map(body_length, functions))


def unformatted(source: Source) -> list[str]:
    """Every line that is too long, or kept from the formatter."""
    return [
        f"{source.path}:{number} {line.strip():.60}"
        for number, line in enumerate(source.lines, start=1)
        if len(line) > COLUMNS_MOST or UNFORMATTED.search(line)
    ]


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own_nodes(child)


def undocumented(source: Source) -> list[str]:
    """`path:line name` of the module, and of each public class, function and method in it, that has
    no docstring.
    """
    bare = [] if ast.get_docstring(source.tree) else [f"{source.path}:1 (the module)"]
    if source.path.startswith("agentkit"):
        bare += [
            f"{source.path}:{d.lineno} {d.name}"
            for d in _public(source.tree)
            if not ast.get_docstring(d)
        ]
    return bare


def _public(node: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    for child in node.body:
        if not isinstance(child, Definition) or child.name.startswith("_"):
            continue
        if "overload" not in [
            ast.unparse(decorator).rpartition(".")[2] for decorator in child.decorator_list
        ]:
            yield child
        if isinstance(child, ast.ClassDef):
            yield from _public(child)


def prints(source: Source) -> list[str]:
    """Every call of print() outside of the console itself."""
    if source.path == MAY_PRINT:
        return []
    calls = (
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return [
        f"{source.path}:{call.lineno} print()"
        for call in calls
        if ast.unparse(call.func) == "print"
    ]


def vague(source: Source) -> list[str]:
    """Every class whose name ends in a word that says nothing."""
    classes = (node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef))
    vague = [
        node for node in classes if node.name.endswith(VAGUE) and node.name not in NAMED_BY_OTHERS
    ]
    return [f"{source.path}:{node.lineno} class {node.name}" for node in vague]


def riddles(text: str) -> list[str]:
    """Every place of a text, or of a source with its strings and comments, that says what something
    is by what it is not, with the words around it.
    """
    flat = BETWEEN_LINES.sub(" ", text)
    return [flat[max(0, at.start() - 30) : at.end() + 30] for at in RIDDLE.finditer(flat)]


def participles(source: Source) -> list[str]:
    """Every function with a participle for a name, but for properties and iterators."""
    plain = (
        f
        for f in source.functions()
        if not any("property" in ast.unparse(mark) for mark in f.decorator_list)
        if not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(f))
    )
    return [f"{source.path}:{f.lineno} {f.name}" for f in plain if PARTICIPLE.match(f.name)]


def too_long(source: Source) -> list[str]:
    """The file, if it has more lines than its place allows."""
    most = (
        MOST_LINES_OF.get(source.path) or MOST_LINES_OF.get(source.path.split("/")[0]) or FILE_MOST
    )
    return (
        [f"{source.path} has {len(source.lines)} lines, at most {most}"]
        if len(source.lines) > most
        else []
    )


def crumbs(root: Path) -> list[str]:
    """Every file of agentkit that is too small to stand alone: `module (importer)`."""
    files, importers = modules_of(root), dict[str, set[str]]()
    for importer, imported in imports_of(root).items():
        for name in {name for name, _ in imported} - {importer}:
            importers.setdefault(name, set()).add(importer)
    return [
        f"{name} ({', '.join(importers[name])})"
        for name, file in sorted(files.items())
        if name.startswith("agentkit.") and file.name != "__init__.py"
        if len(importers.get(name, ())) == 1
        if len(file.read_text(encoding="utf-8").splitlines()) < CRUMB
    ]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return read(ROOT)


def _listed(problems: list[str]) -> str:
    return "\n" + "\n".join(problems)


def test_files_are_short(sources: list[Source]) -> None:
    lengths = [len(source.lines) for source in sources if source.lines]
    print(
        f"\n{len(lengths)} files, {sum(lengths):,} lines; median {statistics.median(lengths):g},"
        f" longest {max(lengths)}"
    )
    assert not (found := [problem for source in sources for problem in too_long(source)]), _listed(
        found
    )
    assert statistics.median(lengths) <= FILE_MEDIAN


def test_folders_are_no_long_lists(sources: list[Source]) -> None:
    files = Counter(source.path.rpartition("/")[0] for source in sources)
    print(f"\nfullest folder: {files.most_common(1)[0]}")
    assert not {folder: n for folder, n in files.items() if n > FOLDER_MOST}


def test_functions_are_short(sources: list[Source]) -> None:
    lengths = {
        f"{s.path}:{f.lineno} {f.name}": body_length(f) for s in sources for f in s.functions()
    }
    median = statistics.median(lengths.values())
    print(
        f"\n{len(lengths)} functions; body median {median:g}, longest {max(lengths.values())} lines"
    )
    assert not (
        found := [f"{name} has {n} lines" for name, n in lengths.items() if n > BODY_MOST]
    ), _listed(found)
    assert median <= BODY_MEDIAN


def test_functions_are_simple(sources: list[Source]) -> None:
    counts = {
        f"{s.path}:{f.lineno} {f.name}": complexity(f) for s in sources for f in s.functions()
    }
    print(
        f"\ncomplexity median {statistics.median(counts.values()):g}, highest"
        f" {max(counts.values())}"
    )
    assert not (
        found := [f"{name} has complexity {n}" for name, n in counts.items() if n > COMPLEXITY_MOST]
    ), _listed(found)


def test_branches_stand_apart(sources: list[Source]) -> None:
    found = density(sources)
    print(f"\n{found:.1f} branches in 100 lines of bodies")
    assert found <= DENSITY_MOST


def test_lines_are_as_the_formatter_lays_them(sources: list[Source]) -> None:
    assert not (found := [line for source in sources for line in unformatted(source)]), _listed(
        found
    )


def test_every_public_name_has_a_docstring(sources: list[Source]) -> None:
    assert not (found := [problem for source in sources for problem in undocumented(source)]), (
        _listed(found)
    )


def test_nothing_prints(sources: list[Source]) -> None:
    assert not (found := [problem for source in sources for problem in prints(source)]), _listed(
        found
    )


def test_no_class_has_a_vague_name(sources: list[Source]) -> None:
    assert not (found := [problem for source in sources for problem in vague(source)]), _listed(
        found
    )


def test_english_is_plain(sources: list[Source]) -> None:
    texts = {source.path: "\n".join(source.lines) for source in sources}
    for page in (*ROOT.glob("docs/*.md"), *map(ROOT.joinpath, PAGES)):
        texts[page.name] = page.read_text(encoding="utf-8")
    found = [f"{path}: {words}" for path, text in texts.items() for words in riddles(text)]
    assert not found, _listed([*found, 'write "is not a list", or "anything but a list"'])


def test_finds_a_riddle_wherever_a_line_ends() -> None:
    assert [
        *riddles('x = (\n    "The plan is"\n    " no JSON."\n)'),
        *riddles('"""Raises for what is\n    none."""'),
        *riddles("y = 1  # True and False are\n# none"),
    ] == [
        "x = ( The plan is  no JSON. )",
        '"""Raises for what is none."""',
        "y = 1  # True and False are none",
    ]
    assert riddles("None when there is none; x is None; what is no longer there") == []


def test_functions_are_named_by_verbs(sources: list[Source]) -> None:
    found = [name for source in sources for name in participles(source)]
    functions = sum(1 for source in sources for _ in source.functions())
    print(f"\n{100 * len(found) / functions:.2f} participles in 100 names of functions")
    assert len(found) <= PARTICIPLES_MOST * functions / 100, _listed(found)


def test_no_file_is_a_crumb() -> None:
    known = ROOMS_OF_THEIR_OWN
    found = [crumb for crumb in crumbs(ROOT) if crumb.split()[0] not in known]
    assert not found, _listed([f"{crumb} belongs into the file that imports it" for crumb in found])


def spells_call_keys(source: Source) -> bool:
    """Whether the keys of a message that hold calls, or their results, are named in it."""
    return bool(CALL_KEYS.search("\n".join(source.lines)))


def test_only_one_model_of_messages_knows_their_keys(sources: list[Source]) -> None:
    assert {source.path for source in sources if spells_call_keys(source)} == SPELL_CALL_KEYS


def test_types_are_named(sources: list[Source]) -> None:
    sources = [source for source in sources if source.path != "app.py"]
    found = sum(len(re.findall(r"\bAny\b", line)) for source in sources for line in source.lines)
    lines = sum(len(source.lines) for source in sources)
    print(f"\n{100 * found / lines:.2f} Any in 100 lines")
    assert found <= ANY_MOST * lines / 100


MADE_UP = '''
class ThingManager:
    def run(self, x):
        """Says what it does."""
        if x and x > 1 or x < -1:
            for i in range(x["tool_calls"]):
                print(i)
        return [i for i in range(x)]

    def _inner(self): ...
'''


def test_finds_what_is_wrong_in_a_made_up_file(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "agentkit").mkdir()
    (tmp_path / "agentkit" / "thing.py").write_text(MADE_UP, encoding="utf-8")
    (tmp_path / "pages" / "chat.py").write_text(
        '"""A page."""\n' + "x = 1\n" * 120, encoding="utf-8"
    )
    page, thing = read(tmp_path)
    run = next(thing.functions())
    assert (body_length(run), complexity(run)) == (4, 6)
    assert density([thing]) == 100  # five in four lines of one body, and one of the other
    assert undocumented(thing) == [
        "agentkit/thing.py:1 (the module)",
        "agentkit/thing.py:2 ThingManager",
    ]
    assert prints(thing) == ["agentkit/thing.py:7 print()"]
    assert vague(thing) == ["agentkit/thing.py:2 class ThingManager"]
    assert spells_call_keys(thing)
    assert not spells_call_keys(page)
    assert unformatted(
        Source("agentkit/wide.py", ["x" * 100, "y" * 101, "z  # fmt: skip"], ast.parse(""))
    ) == [
        f"agentkit/wide.py:2 {'y' * 60}",
        "agentkit/wide.py:3 z  # fmt: skip",
    ]
    assert too_long(page) == ["pages/chat.py has 121 lines, at most 120"]
    assert not too_long(thing)


def test_finds_a_participle_where_a_verb_belongs() -> None:
    text = "@property\ndef ended(self): ...\n\ndef _asked(): ...\n\ndef told():\n    yield 1\n"
    text += "\ndef feed(): ...\n\ndef needs_told(): ...\n\ndef known_keys(): ...\n"
    found = participles(Source("a.py", text.splitlines(), ast.parse(text)))
    assert found == ["a.py:4 _asked", "a.py:13 known_keys"]


def test_finds_a_crumb_wherever_it_is_imported(tmp_path: Path) -> None:
    texts = {
        "__init__": "",
        "a": "from agentkit.b import one\nfrom agentkit import long\n" + "x = 1\n" * 60,
        "b": "def one():\n    from agentkit import c\n",
        "c": "from agentkit.shared import x\nfrom agentkit import a\n",
        "long": "x = 1\n" * 60,
        "shared": "x = 1\n",
        "entry": "from agentkit.shared import x\n",
    }
    (tmp_path / "agentkit").mkdir()
    for name, text in texts.items():
        (tmp_path / "agentkit" / f"{name}.py").write_text(text, encoding="utf-8")
    assert crumbs(tmp_path) == ["agentkit.b (agentkit.a)", "agentkit.c (agentkit.b)"]
