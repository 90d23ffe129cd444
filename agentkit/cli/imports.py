"""Which imports of a Python source mean AutoGen, AgentScope or Lagent, and what they become."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentkit import names

MODELS = {face.rpartition(".")[2]: face for face in names.SUBMODULES}
"""The packages whose imports are rewritten -> the faces that they become."""
_NEWER = ("autogen_agentchat", "autogen_core", "autogen_ext")
_FROM = re.compile(r"from(?:\s|\\\r?\n|\\\r)*")
_DOTTED = re.compile(rf"(?:{'|'.join(MODELS)})(?:\.\w+)*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in notebooks


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of what stands from `start` up to `end`, in characters of the source."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is told of a place; `done` when it is rewritten, else a person must look at it."""

    line: int
    told: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class Ported:
    """What is to be changed in a source, in its order, and what is told of it."""

    edits: list[Edit]
    findings: list[Finding]


def ported(source: str, bound: dict[str, str] | None = None) -> Ported:
    """What becomes of the imports of a source; raises SyntaxError when it is no Python.

    `bound` has the names that stand for modules since an earlier cell, and gets those of this one.
    """
    tree = _parsed(source)
    found = _Imports(source, {} if bound is None else bound)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.visit_import(node)
        elif isinstance(node, ast.ImportFrom):
            found.visit_from(node)
    told = {*found.findings, *_unknown_attributes(tree, found.bound), *_named_in_texts(tree)}
    edits = sorted(found.edits, key=lambda edit: edit.start)
    _check(tree, applied(source, edits))
    return Ported(edits, sorted(told, key=lambda finding: (finding.line, finding.told)))


def applied(source: str, edits: Sequence[Edit]) -> str:
    """The source with the edits, which do not overlap and stand in order."""
    pieces, at = [], 0
    for edit in edits:
        pieces += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, source[at:]])


def _parsed(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd in other people's code is theirs
        try:
            tree = compile(source, "<source>", "exec", _FLAGS, dont_inherit=True)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error
    assert isinstance(tree, ast.Module)
    return tree


def _check(tree: ast.Module, changed: str) -> None:
    """Raise SyntaxError if anything but imports would change."""
    if _without_imports(_parsed(changed)) != _without_imports(tree):
        raise SyntaxError("more than its imports would change")


def _without_imports(tree: ast.Module) -> list[str]:
    kept = (node for node in ast.walk(tree) if not isinstance(node, ast.Import | ast.ImportFrom))
    return [_shape(node) for node in kept if not isinstance(node, ast.alias)]


def _shape(node: ast.AST) -> str:
    """The node itself, without those in it."""
    plain = [
        str(value) for _, value in ast.iter_fields(node) if isinstance(value, str | int | bytes)
    ]
    return " ".join([type(node).__name__, *plain])


class _Imports:
    """Collects edits and findings, and which names stand for which modules."""

    def __init__(self, source: str, bound: dict[str, str]) -> None:
        self.source = source
        self.bound = bound
        self.edits: list[Edit] = []
        self.findings: list[Finding] = []
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(source))]

    def visit_import(self, node: ast.Import) -> None:
        """`import a, b.c as d`: each for itself."""
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if self._is_ours(alias, alias.name):
                self._import(alias, MODELS[root], f"agentkit.{alias.name}")

    def _import(self, alias: ast.alias, face: str, module: str) -> None:
        start = self._place(alias.lineno, alias.col_offset)
        end = self._place(alias.end_lineno, alias.end_col_offset)
        root = face.rpartition(".")[2]
        if alias.asname is None:
            new = f"{face} as {root}"
            self.bound[root] = face
            self.edits.append(Edit(start, end, new))
        else:
            new = f"{module} as {alias.asname}"
            self.bound[alias.asname] = module
            self.edits.append(Edit(start, start, "agentkit."))
        told = f"import {ast.unparse(alias)} -> import {new}"
        self.findings.append(Finding(alias.lineno, told, True))

    def visit_from(self, node: ast.ImportFrom) -> None:
        """`from a.b import c`: the module, and whether what is imported is there."""
        if node.level or not node.module or not self._is_ours(node, node.module):
            return
        start = self._place(node.lineno, node.col_offset)
        opening = _FROM.match(self.source, start)
        assert opening, "a statement that begins with `from`"
        self.edits.append(Edit(opening.end(), opening.end(), "agentkit."))
        module = f"agentkit.{node.module}"
        told = f"from {node.module} import -> from {module} import"
        self.findings.append(Finding(node.lineno, told, True))
        for alias in node.names:
            self._from(alias, module)

    def _from(self, alias: ast.alias, module: str) -> None:
        name = alias.name
        if name in names.parts(module) and name not in names.homes(module):
            self.bound[alias.asname or name] = f"{module}.{name}"
        elif name != "*" and (why := _why_not(module, name)):
            self.findings.append(Finding(alias.lineno, why))

    def _is_ours(self, node: ast.stmt | ast.alias, module: str) -> bool:
        """Whether an import of that module is rewritten; if it should be and cannot, a finding says
        so.
        """
        root, _, path = module.partition(".")
        if root in _NEWER:
            told = f"{module} is of AutoGen 0.4; agentkit has the names of AutoGen 0.2"
            self.findings.append(Finding(node.lineno, told))
        if root not in MODELS:
            return False
        if why := _no_module(f"agentkit.{module}") if path else "":
            self.findings.append(Finding(node.lineno, why))
        return not why

    def _place(self, line: int | None, column: int | None) -> int:
        """Characters before a place, whose column `ast` gives in bytes."""
        assert line is not None
        assert column is not None
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self.source)
        text = self.source[start:end].encode("utf-8", "surrogatepass")
        return start + len(text[:column].decode("utf-8", "surrogatepass"))


def _no_module(module: str) -> str:
    """Why a module below a face cannot be imported; empty when it can."""
    if reason := names.OUT.get(module):
        return f"{module.removeprefix('agentkit.')} is not in agentkit, which leaves out {reason}"
    there = module in names.submodules()
    return "" if there else f"{module.removeprefix('agentkit.')} is not in agentkit"


def _why_not(module: str, name: str) -> str:
    """Why a module of a face does not have a name; empty when it has."""
    if name in names.homes(module) or (name.startswith("__") and name.endswith("__")):
        return ""
    return _no_module(f"{module}.{name}")


def _unknown_attributes(tree: ast.Module, bound: dict[str, str]) -> Iterator[Finding]:
    """`autogen.x.y` where there is none."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        root, *attributes = _path(node) or [""]
        module = bound.get(root)
        if module and (why := _why_not_there(module, attributes)):
            yield Finding(node.lineno, why)


def _path(node: ast.expr) -> list[str]:
    """The names of `a.b.c`; empty for any other expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    if not isinstance(node, ast.Attribute):
        return []
    inner = _path(node.value)
    return [*inner, node.attr] if inner else []


def _why_not_there(module: str, path: Sequence[str]) -> str:
    for name in path:
        if name in names.homes(module) or name not in names.parts(module):
            return _why_not(module, name)
        module = f"{module}.{name}"
    return ""


def _named_in_texts(tree: ast.Module) -> Iterator[Finding]:
    """Modules that are named in a text for a call, such as `import_module("autogen.oai")`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        importing = ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
        for line, text in _texts_given(node):
            if _DOTTED.fullmatch(text) and (importing or "." in text):
                yield Finding(line, f"{text!r} stands in a text, which stays as it is")


def _texts_given(call: ast.Call) -> Iterator[tuple[int, str]]:
    """The literal texts among the arguments of a call, each with its line."""
    for given in [*call.args, *(keyword.value for keyword in call.keywords)]:
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield given.lineno, given.value
