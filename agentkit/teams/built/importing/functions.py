"""Python functions of others as functions of a team: taken as text, never run."""

from __future__ import annotations

import ast
import symtable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import filterfalse
from operator import attrgetter, methodcaller

from agentkit.core.tools import read_function
from agentkit.errors import WrongArgument

_LONGEST = 20_000
"""Characters that the code of a function may have."""
_LIBRARIES = ("autogen", "agentkit", "pyautogen")
"""Whose imports only make agents."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_IS_READ, _IS_GLOBAL = methodcaller("is_referenced"), methodcaller("is_global")
_IS_LOCAL, _NAME_OF = methodcaller("is_local"), methodcaller("get_name")
"""Of the symbols of a piece of code."""


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
        if kept := list(filterfalse(_is_of_libraries, node.names)):
            self._imports.append(ast.Import(kept))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from math import pi`."""
        self._bind(node.names)
        if not str(node.module).startswith(_LIBRARIES):
            self._imports.append(node)

    def _bind(self, names: list[ast.alias]) -> None:
        self._bound.update(map(_name_bound, names))

    def visit_Name(self, node: ast.Name) -> None:
        """A variable."""
        self._bound.update(_list_assigned(node))

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
        needed = sorted(needs.found, key=attrgetter("lineno"))
        texts = [*map(ast.unparse, self._imports), *map(self._write_part, needed)]
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
            marks = map(ast.unparse, filterfalse(_offers, part.decorator_list))
            return "\n".join([*map("@{}".format, marks), as_written])
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


def _list_assigned(node: ast.AST) -> list[str]:
    """The variables that are given a value in it."""
    return list(map(attrgetter("id"), filter(_is_assigned, ast.walk(node))))


def _is_assigned(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _is_of_libraries(imported: ast.alias) -> bool:
    return imported.name.startswith(_LIBRARIES)


def _name_bound(imported: ast.alias) -> str:
    """The variable that an import makes: `os` of `import os.path`."""
    return (imported.asname or imported.name).partition(".")[0]


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
        known = filter(_IS_READ, table.get_symbols())
        read.update(map(_NAME_OF, filter(_IS_GLOBAL, known)))
    return read.difference(map(_NAME_OF, filter(_IS_LOCAL, top.get_symbols())))


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
