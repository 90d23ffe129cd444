"""Python functions of others as functions of a team: taken as text, never run."""

from __future__ import annotations

import ast
import symtable
from contextlib import suppress
from dataclasses import dataclass, field

from agentkit.core.tools import read_function
from agentkit.errors import WrongArgument

_LONGEST = 20_000
"""Characters that the code of a function may have."""
_LIBRARIES = ("autogen", "agentkit", "pyautogen")
"""Whose imports only make agents."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Offered:
    """A function that a script lets agents call."""

    callers: list[str] = field(default_factory=list)
    """The variables of the agents."""
    told: str = ""
    """What models are told of it, where that stands beside it."""


def find_fault(name: str, code: str) -> str:
    """Why it cannot be a function of a team; empty where it can."""
    if len(code) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    try:
        read_function(code, name)
    except WrongArgument as error:
        return str(error)
    return ""


class Script(ast.NodeVisitor):
    """What stands at the top of a script: imports, functions, classes, values, and what agents may
    call.
    """

    def __init__(self, tree: ast.Module, source: str) -> None:
        self.functions: dict[str, _Function] = {}
        self.offered: dict[str, Offered] = {}
        self._source = source
        self._imports: list[ast.stmt] = []
        self._values: dict[str, ast.stmt] = {}
        self._bound: set[str] = set()
        """The names that are imported there, or given a value."""
        self.visit(tree)

    def visit_Import(self, node: ast.Import) -> None:
        """`import math`; of `import autogen, math` the second."""
        self._bind(node.names)
        kept = [one for one in node.names if not one.name.startswith(_LIBRARIES)]
        if kept:
            self._imports.append(ast.Import(kept))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from math import pi`."""
        self._bind(node.names)
        if not str(node.module).startswith(_LIBRARIES):
            self._imports.append(node)

    def _bind(self, names: list[ast.alias]) -> None:
        self._bound.update((one.asname or one.name).partition(".")[0] for one in names)

    def visit_Name(self, node: ast.Name) -> None:
        """A variable."""
        if isinstance(node.ctx, ast.Store):
            self._bound.add(node.id)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class, which functions may need; its methods do not become functions of a team."""
        self._values[node.name] = node

    def visit_FunctionDef(self, node: _Function) -> None:
        """A function, perhaps below `@agent.register_for_llm(...)`."""
        self.functions[node.name] = node
        for mark in node.decorator_list:
            self._offer(node.name, mark)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        """A value that stands there as it is; what is computed stays behind."""
        self.generic_visit(node)
        if node.value is None:
            return
        with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            ast.literal_eval(node.value)
            self._values.update(dict.fromkeys(_list_assigned(node), node))

    visit_AnnAssign = visit_Assign

    def visit_Call(self, node: ast.Call) -> None:
        """`register_function(f, caller=agent)`, or `agent.register_for_llm(...)(f)`."""
        self.generic_visit(node)
        words = _Words(node)
        match node.args:
            case [ast.Name(id=function), *_]:
                self._offer(function, node.func)
                if ast.unparse(node.func).endswith("register_function"):
                    self._add(function, words.read("caller"), words)

    def _offer(self, function: str, mark: ast.expr) -> None:
        match mark:
            case ast.Call(func=ast.Attribute(attr="register_for_llm", value=ast.Name(id=agent))):
                self._add(function, agent, _Words(mark))

    def _add(self, function: str, agent: str, words: _Words) -> None:
        offered = self.offered.setdefault(function, Offered())
        offered.callers.append(agent)
        offered.told = offered.told or words.read("description")

    def write(self, name: str) -> str:
        """The function with the imports, values, classes and other functions of the script that it
        needs.
        """
        needs = _Needs({**self._values, **self.functions})
        needs.visit(ast.Name(name))
        texts = [ast.unparse(one) for one in self._imports]
        needed = sorted(needs.found, key=lambda part: part.lineno)
        texts += [self._write_part(part) for part in needed]
        return "\n".join(texts) + "\n"

    def list_missing(self, code: str) -> list[str]:
        """The names of the script that the code of a function reads and that did not come along."""
        return sorted(self._bound & _list_unbound(code))

    def _write_part(self, part: ast.stmt) -> str:
        """As it is written; a function has a docstring where models are told of it otherwise."""
        as_written = str(ast.get_source_segment(self._source, part))
        if not isinstance(part, _Function | ast.ClassDef):
            return as_written
        if part.name not in self.offered:
            marks = [mark for mark in part.decorator_list if not _offers(mark)]
            return "\n".join([*(f"@{ast.unparse(mark)}" for mark in marks), as_written])
        told = self.offered[part.name].told
        if ast.get_docstring(part) or not told:
            return as_written
        fields = dict(ast.iter_fields(part))
        fields["decorator_list"] = []
        fields["body"] = [ast.Expr(ast.Constant(told)), *part.body]
        documented = type(part)(**fields)
        return ast.unparse(ast.fix_missing_locations(documented))


def _offers(mark: ast.expr) -> bool:
    """Whether what stands above a function lets an agent call or run it."""
    match mark:
        case ast.Call(func=ast.Attribute(attr=method)):
            return method.startswith("register_for_")
    return False


def _list_assigned(node: ast.stmt) -> list[str]:
    """The variables that a statement gives a value."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def _list_unbound(code: str) -> set[str]:
    """The names that code reads and nowhere gives a value; none of code that cannot be read."""
    try:
        top = symtable.symtable(code, "function", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    read: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        known = [one for one in table.get_symbols() if one.is_referenced()]
        read.update(one.get_name() for one in known if one.is_global())
    return read - {one.get_name() for one in top.get_symbols() if one.is_local()}


class _Words(ast.NodeVisitor):
    """The named arguments of a call that are texts or variables."""

    def __init__(self, call: ast.Call) -> None:
        self._nodes = {str(word.arg): word.value for word in call.keywords}

    def read(self, name: str) -> str:
        """The text, or the name of the variable; empty for anything else."""
        match self._nodes.get(name):
            case ast.Constant(value=str(text)) | ast.Name(id=text):
                return text
        return ""


class _Needs(ast.NodeVisitor):
    """What a name leads to: its own part of the script, and all that this names in turn."""

    def __init__(self, defined: dict[str, ast.stmt]) -> None:
        self.found: list[ast.stmt] = []
        self._left = defined

    def visit_Name(self, node: ast.Name) -> None:
        """A part that was not seen before."""
        part = self._left.pop(node.id, None)
        if part is not None and part not in self.found:  # several names may lead to it
            self.found.append(part)
            self.generic_visit(part)
