"""Python functions of others as functions of a team: taken as text, never run."""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, field

from agentkit.core.tools import read_function
from agentkit.errors import WrongArgument

_LONGEST = 20_000
"""Characters that the code of a function may have."""
_LIBRARIES = ("autogen", "agentkit", "pyautogen")
"""Whose imports only make agents."""


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
    """What stands at the top of a script: imports, functions, values, and what agents may call."""

    def __init__(self, tree: ast.Module, source: str) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.offered: dict[str, Offered] = {}
        self._source = source
        self._imports: list[ast.stmt] = []
        self._values: dict[str, ast.stmt] = {}
        self.visit(tree)

    def visit_Import(self, node: ast.Import) -> None:
        """`import math`."""
        self._keep_import(node, node.names[0].name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from math import pi`."""
        self._keep_import(node, str(node.module))

    def _keep_import(self, node: ast.stmt, library: str) -> None:
        if not library.startswith(_LIBRARIES):
            self._imports.append(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Nothing: methods do not become functions of a team."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function, perhaps below `@agent.register_for_llm(...)`."""
        self.functions[node.name] = node
        for mark in node.decorator_list:
            self._offer(node.name, mark)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A value that stands there as it is; what is computed stays behind."""
        self.generic_visit(node)
        with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            ast.literal_eval(node.value)
            self._values[ast.unparse(node.targets[0])] = node

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
        """The function with the imports, values and other functions of the script that it needs."""
        needs = _Needs({**self._values, **self.functions})
        needs.visit(ast.Name(name))
        texts = [ast.unparse(one) for one in self._imports]
        needed = sorted(needs.found, key=lambda part: part.lineno)
        texts += [self._write_part(part) for part in needed]
        return "\n".join(texts) + "\n"

    def _write_part(self, part: ast.stmt) -> str:
        """As it is written; a function has a docstring where models are told of it otherwise."""
        as_written = str(ast.get_source_segment(self._source, part))
        if not isinstance(part, ast.FunctionDef):
            return as_written
        told = self.offered.get(part.name, Offered()).told
        if ast.get_docstring(part) or not told:
            return as_written
        fields = dict(ast.iter_fields(part))
        fields["decorator_list"] = []
        fields["body"] = [ast.Expr(ast.Constant(told)), *part.body]
        documented = ast.FunctionDef(**fields)
        return ast.unparse(ast.fix_missing_locations(documented))


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
        if part is not None:
            self.found.append(part)
            self.generic_visit(part)
