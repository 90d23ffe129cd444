"""Which imports of a Python source mean AutoGen, AgentScope or Lagent, and what they become."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from agentkit import names
from agentkit.core.given import pick_kind

MODELS = {face.rpartition(".")[2]: face for face in names.SUBMODULES}
"""The packages whose imports are rewritten -> the faces that they become."""
_NEWER = ("autogen_agentchat", "autogen_core", "autogen_ext")
_IMPORTERS = ("import_module", "__import__")
_FROM = re.compile(r"from(?:\s|\\\r?\n|\\\r)*")
_DOTTED = re.compile(rf"(?:{'|'.join(MODELS)})(?:\.\w+)*")
_WITH_A_DOT = re.compile(rf"(?:{'|'.join(MODELS)})(?:\.\w+)+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NAMED_IN = dict.fromkeys(_IMPORTERS, _DOTTED)
"""What counts as a module in a text for these calls; in that of others it needs a dot."""
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in notebooks


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of what stands from `start` up to `end`, in characters of the source."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is said of a place; `done` when it is rewritten, else a person must look at it."""

    line: int
    message: str
    done: bool = False
    cell: int | None = None
    """The number of its cell, from 1, in a notebook."""

    @property
    def place(self) -> str:
        """Where it is, as people read it."""
        if self.cell is None:
            return str(self.line)
        return f"cell {self.cell}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Ported:
    """What is to be changed in a source, in its order, and what is said of it."""

    edits: list[Edit]
    findings: list[Finding]


def port_source(source: str, bound: dict[str, str] | None = None) -> Ported:
    """What becomes of the imports of a source; raises SyntaxError when it is not Python.

    `bound` has the names that stand for modules since an earlier cell, and gets those of this one.
    """
    tree = _parse(source)
    imports = _Imports(source, {} if bound is None else bound)
    for node in pick_kind(ast.walk(tree), ast.Import):
        imports.visit_import(node)
    for from_node in pick_kind(ast.walk(tree), ast.ImportFrom):
        imports.visit_from(from_node)
    found = {
        *imports.findings,
        *_find_unknown_attributes(tree, imports.bound),
        *_find_modules_in_texts(tree),
    }
    edits = sorted(imports.edits, key=attrgetter("start"))
    _check_only_imports_change(tree, apply_edits(source, edits))
    return Ported(edits, sorted(found, key=attrgetter("line", "message")))


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """The source with the edits, which do not overlap and stand in order."""
    pieces, at = [], 0
    for edit in edits:
        pieces += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, source[at:]])


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd in other people's code is theirs
        try:
            tree = compile(source, "<source>", "exec", _FLAGS, dont_inherit=True)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error
    assert isinstance(tree, ast.Module)
    return tree


def _check_only_imports_change(tree: ast.Module, changed: str) -> None:
    """Raise SyntaxError if anything else would change."""
    if _list_others(_parse(changed)) != _list_others(tree):
        raise SyntaxError("more than its imports would change")


def _list_others(tree: ast.Module) -> list[str]:
    """All nodes but those of imports, each as a text without the nodes in it."""
    imports = ast.Import | ast.ImportFrom | ast.alias
    return [_to_text(node) for node in ast.walk(tree) if not isinstance(node, imports)]


def _to_text(node: ast.AST) -> str:
    parts = [type(node).__name__]
    for _, value in ast.iter_fields(node):
        if isinstance(value, str | int | bytes):
            parts.append(str(value))
    return " ".join(parts)


class _Imports:
    """Collects edits and findings, and which names stand for which modules."""

    def __init__(self, source: str, bound: dict[str, str]) -> None:
        self.source = source
        self.bound = bound
        self.edits: list[Edit] = []
        self.findings: list[Finding] = []
        ends = map(re.Match.end, _LINE_END.finditer(source))
        self._lines = [0, *ends, len(source)]
        """Where each line begins, and the end."""

    def visit_import(self, node: ast.Import) -> None:
        """`import a, b.c as d`: each for itself."""
        for alias in node.names:
            if self._is_ported(alias.name, alias.lineno):
                self._import(alias)

    def _import(self, alias: ast.alias) -> None:
        start = self._find_place(alias.lineno, alias.col_offset)
        if alias.asname is None:
            root = alias.name.partition(".")[0]
            self.bound[root] = MODELS[root]
            new = f"{MODELS[root]} as {root}"
            end = self._find_place(alias.end_lineno, alias.end_col_offset)
            self.edits.append(Edit(start, end, new))
        else:
            module = f"agentkit.{alias.name}"
            self.bound[alias.asname] = module
            new = f"{module} as {alias.asname}"
            self.edits.append(Edit(start, start, "agentkit."))
        self._note_done(alias.lineno, f"import {ast.unparse(alias)} -> import {new}")

    def visit_from(self, node: ast.ImportFrom) -> None:
        """`from a.b import c`: the module, and whether what is imported is there."""
        name = node.module or ""
        if node.level or not self._is_ported(name, node.lineno):
            return
        start = self._find_place(node.lineno, node.col_offset)
        opening = _FROM.match(self.source, start)
        assert opening, "a statement that begins with `from`"
        self.edits.append(Edit(opening.end(), opening.end(), "agentkit."))
        module = f"agentkit.{name}"
        self._note_done(node.lineno, f"from {name} import -> from {module} import")
        for alias in node.names:
            self._import_from(alias, module)

    def _import_from(self, alias: ast.alias, module: str) -> None:
        if _is_module(module, alias.name):
            bound = alias.asname or alias.name
            self.bound[bound] = f"{module}.{alias.name}"
        elif alias.name != "*":
            problem = _explain_missing_name(module, alias.name)
            self.findings += _report(alias.lineno, problem)

    def _is_ported(self, module: str, line: int) -> bool:
        """Whether an import of that module is rewritten; if it should be and cannot, a finding says
        so.
        """
        root = module.partition(".")[0]
        problem = ""
        if root in _NEWER:
            problem = f"{module} is of AutoGen 0.4; agentkit has the names of AutoGen 0.2"
        elif root in MODELS and root != module:
            problem = _explain_missing_module(f"agentkit.{module}")
        self.findings += _report(line, problem)
        return root in MODELS and not problem

    def _note_done(self, line: int, message: str) -> None:
        self.findings.append(Finding(line, message, done=True))

    def _find_place(self, line: int | None, column: int | None) -> int:
        """Characters before a place, whose column `ast` gives in bytes."""
        assert line is not None
        assert column is not None
        start, end = self._lines[line - 1 : line + 1]
        text = self.source[start:end].encode("utf-8", "surrogatepass")
        return start + len(text[:column].decode("utf-8", "surrogatepass"))


def _report(line: int, problem: str) -> list[Finding]:
    """The finding of a problem; none where there is no problem."""
    if not problem:
        return []
    return [Finding(line, problem)]


def _is_module(module: str, name: str) -> bool:
    """Whether a name of a module is a module itself."""
    return name in names.parts(module) and name not in names.homes(module)


def _explain_missing_module(module: str) -> str:
    """Why a module below a face cannot be imported; empty when it can."""
    if module in names.submodules():
        return ""
    reason = ""
    if module in names.OUT:
        reason = f", which leaves out {names.OUT[module]}"
    return f"{module.removeprefix('agentkit.')} is not in agentkit{reason}"


def _explain_missing_name(module: str, name: str) -> str:
    """Why a module of a face does not have a name; empty when it has."""
    is_special = name.startswith("__") and name.endswith("__")
    if is_special or name in names.homes(module):
        return ""
    return _explain_missing_module(f"{module}.{name}")


def _find_unknown_attributes(tree: ast.Module, bound: dict[str, str]) -> Iterator[Finding]:
    """`autogen.x.y` where there is none."""
    for node in pick_kind(ast.walk(tree), ast.Attribute):
        root, *path = _read_path(node)
        if root in bound:
            problem = _explain_missing_path(bound[root], path)
            yield from _report(node.lineno, problem)


def _read_path(node: ast.expr) -> list[str]:
    """The names of `a.b.c`; an empty one at first when it is of any other expression."""
    attributes = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    root = getattr(node, "id", "")  # only a name has one
    return [root, *reversed(attributes)]


def _explain_missing_path(module: str, path: Sequence[str]) -> str:
    """Why `path` does not lead anywhere from a module; empty when it does."""
    for name in path:
        if not _is_module(module, name):
            return _explain_missing_name(module, name)
        module = f"{module}.{name}"
    return ""


def _find_modules_in_texts(tree: ast.Module) -> Iterator[Finding]:
    """Modules that are named in a text for a call, such as `import_module("autogen.oai")`."""
    for call in pick_kind(ast.walk(tree), ast.Call):
        called = ast.unparse(call.func).rpartition(".")[2]
        named = _NAMED_IN.get(called, _WITH_A_DOT)
        for line, text in _find_texts(call):
            if named.fullmatch(text):
                yield Finding(line, f"{text!r} stands in a text, which stays as it is")


def _find_texts(call: ast.Call) -> Iterator[tuple[int, str]]:
    """The literal texts among the arguments of a call, each with its line."""
    given = [*call.args, *map(attrgetter("value"), call.keywords)]
    for constant in pick_kind(given, ast.Constant):
        if isinstance(constant.value, str):
            yield constant.lineno, constant.value
