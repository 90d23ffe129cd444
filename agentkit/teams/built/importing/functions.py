"""Python functions of others as functions of a team: taken as text, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.core.tools import find_only, read_function
from agentkit.errors import WrongArgument

_LONGEST = 20_000
"""Characters that the code of a function may have."""
_LIBRARIES = ("autogen", "agentkit", "pyautogen", "autogen_agentchat")
"""Whose imports only make agents."""


@dataclass(frozen=True, slots=True)
class Brought:
    """A function, and the variables of the agents that may call it."""

    name: str
    code: str
    callers: Sequence[str] = ()


def find_fault(name: str, code: str) -> str:
    """Why it can be no function of a team; empty where it can."""
    if len(code) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    try:
        read_function(code, name)
    except WrongArgument as error:
        return str(error)
    return ""


def read_skill(content: str) -> str:
    """The name of the one function of a skill; empty where there are several, or none."""
    return find_only(content)


def list_offered(tree: ast.Module, source: str) -> Iterator[Brought]:
    """The functions that a script lets its agents call, with all that they need of it."""
    script = _Script(tree, source)
    for name, callers in script.find_callers().items():
        if name in script.functions:
            yield Brought(name, script.write(name), callers)


class _Script:
    """What stands at the top of a script, by name."""

    def __init__(self, tree: ast.Module, source: str) -> None:
        self._tree, self._source = tree, source
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        self._told: dict[str, str] = {}

    def find_callers(self) -> dict[str, list[str]]:
        """The functions that are offered, with the variables of the agents they are offered to."""
        found: dict[str, list[str]] = {}
        for name, caller, told in (*self._list_calls(), *self._list_decorated()):
            self._told.setdefault(name, told)
            found.setdefault(name, []).append(caller)
        return found

    def _list_calls(self) -> Iterator[tuple[str, str, str]]:
        """`register_function(f, caller=a, ...)` and `a.register_for_llm(...)(f)`."""
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = _find_name(node.args[0])
            if _find_name(node.func) == "register_function":
                words = _list_words(node)
                yield function, _find_name(words.get("caller")), _find_text(words)
            elif isinstance(node.func, ast.Call) and (owner := _find_owner(node.func)):
                yield function, owner, _find_text(_list_words(node.func))

    def _list_decorated(self) -> Iterator[tuple[str, str, str]]:
        """Functions below `@a.register_for_llm(...)`."""
        for name, function in self.functions.items():
            for mark in function.decorator_list:
                if isinstance(mark, ast.Call) and (owner := _find_owner(mark)):
                    yield name, owner, _find_text(_list_words(mark))

    def write(self, name: str) -> str:
        """The function with the imports, values and other functions of the script that it names."""
        parts = [part for part in self._tree.body if self._is_import(part)]
        needed = self._find_needed(name)
        parts += [part for part in self._tree.body if _find_defined(part) in needed]
        texts = [self._write_part(part, name) for part in parts]
        return "\n".join(texts) + "\n"

    def _is_import(self, part: ast.stmt) -> bool:
        if isinstance(part, ast.ImportFrom):
            names = [str(part.module)]
        elif isinstance(part, ast.Import):
            names = [one.name for one in part.names]
        else:
            return False
        return not any(name.startswith(_LIBRARIES) for name in names)

    def _find_needed(self, name: str) -> set[str]:
        """The names at the top of the script that it leads to."""
        defined = {_find_defined(part): part for part in self._tree.body}
        needed, left = set[str](), [name]
        while left:
            now = left.pop()
            if now in needed or now not in defined:
                continue
            needed.add(now)
            left += [one.id for one in ast.walk(defined[now]) if isinstance(one, ast.Name)]
        return needed - {""}

    def _write_part(self, part: ast.stmt, name: str) -> str:
        if isinstance(part, ast.FunctionDef):
            return self._write_function(part, told=self._told[name] if part.name == name else "")
        return ast.get_source_segment(self._source, part) or ast.unparse(part)

    def _write_function(self, function: ast.FunctionDef, told: str) -> str:
        """Without what registers it, and with a docstring where it was told otherwise."""
        if told and ast.get_docstring(function) is None:
            body = [ast.Expr(ast.Constant(told)), *function.body]
            fields = {**dict(ast.iter_fields(function)), "body": body, "decorator_list": []}
            return ast.unparse(ast.fix_missing_locations(ast.FunctionDef(**fields)))
        return ast.get_source_segment(self._source, function) or ast.unparse(function)


def _find_defined(part: ast.stmt) -> str:
    """What a function, or a value that stands there as it is, is called; empty for all else."""
    if isinstance(part, ast.FunctionDef):
        return part.name
    if isinstance(part, ast.Assign) and not _makes_something(part.value):
        return _find_name(part.targets[0])
    return ""


def _makes_something(node: ast.expr) -> bool:
    """Whether it calls anything: agents are made so, and keys are read."""
    return any(isinstance(one, ast.Call | ast.Subscript) for one in ast.walk(node))


def _find_owner(call: ast.Call) -> str:
    """The variable of the agent in `a.register_for_llm(...)`; empty for any other call."""
    made = call.func
    if isinstance(made, ast.Attribute) and made.attr == "register_for_llm":
        return _find_name(made.value)
    return ""


def _find_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _list_words(call: ast.Call) -> Mapping[str, ast.expr]:
    return {str(word.arg): word.value for word in call.keywords}


def _find_text(words: Mapping[str, ast.expr]) -> str:
    """What a model is told of the function, where it stands there as it is."""
    node: Any = words.get("description")
    return str(node.value) if isinstance(node, ast.Constant) else ""
