"""Which functions of a team cannot stand in its script with the rest, and how they stand apart."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from operator import methodcaller

from agentkit.core.given import list_new_objects, pick_kind
from agentkit.teams.built.agents import WrittenFunction

APART = "apart"
"""The variable with the names of a function that stands apart."""
_name = methodcaller("get_name")


@dataclass(frozen=True, slots=True)
class _Names:
    """Those that code binds at its top, those of them that it imports, and all that it uses."""

    bound: Set[str]
    imported: Set[str]
    used: Set[str]

    @classmethod
    def of(cls, code: str) -> _Names:
        """The names of code that Python can read."""
        there = symtable.symtable(code, "code", "exec").get_symbols()
        imported = set(map(_name, filter(methodcaller("is_imported"), there)))
        bound = imported.union(map(_name, filter(methodcaller("is_assigned"), there)))
        names = pick_kind(ast.walk(ast.parse(code)), ast.Name)
        return cls(bound, imported, bound.union(node.id for node in names))

    def changes(self, other: _Names) -> bool:
        """Whether the other would find something else under one of its names."""
        common = self.bound & other.used
        return not common <= self.imported & other.imported

    def changes_any(self, others: Iterable[_Names]) -> bool:
        """Whether it changes one of those beside it."""
        return any(map(self.changes, list_new_objects([self], others)))


def find_apart(functions: Sequence[WrittenFunction], rest: str) -> Set[str]:
    """The functions whose code cannot stand in the script with the others: it gives a name to
    something that means something else there. `rest` is the script without functions.
    """
    names = {function.name: _Names.of(function.code) for function in functions}
    everywhere = [_Names.of(f"{rest}\n{APART} = {{}}"), *names.values()]
    return {name for name, own in names.items() if own.changes_any(everywhere)}


def write_apart(function: WrittenFunction) -> tuple[str, str]:
    """Its code, run where its names are not those of the script, and the line that makes it a
    tool.
    """
    code = "\n".join(f"    {line!r}" for line in function.code.splitlines(keepends=True))
    made = f"\n# Apart, as it has names that mean something else here.\n{APART} = {{}}"
    run = f"exec(\n{code},\n    {APART},\n)"
    return f"{made}\n{run}", f'tools["{function.name}"] = {APART}["{function.name}"]'
