"""Functions of ours that a model's code may import, with the packages and imports that they
need.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

from agentkit.errors import WrongArgument

P = ParamSpec("P")
T = TypeVar("T")

DECORATOR = "with_requirements"


@dataclass(frozen=True)
class Alias:
    """`name as alias` of an import."""

    name: str
    alias: str


@dataclass(frozen=True)
class ImportFromModule:
    """`from module import ...`."""

    module: str
    imports: Sequence[str | Alias]


Import = str | ImportFromModule | Alias
"""A module by name, with another name, or names of a module."""


class FunctionWithRequirementsStr:
    """A function given as source, for one that cannot be imported here; it is parsed, never run by
    us.

    Raises WrongArgument when the source does not compile or does not hold exactly one function.
    """

    def __init__(
        self, func: str, python_packages: Sequence[str] = (), global_imports: Sequence[Import] = ()
    ) -> None:
        self.func = func
        self.python_packages = list(python_packages)
        self.global_imports = list(global_imports)
        _parse_function(func)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError: a function that is only source runs where the code runs."""
        raise NotImplementedError(
            "String based function with requirement objects are not directly callable"
        )


@dataclass
class FunctionWithRequirements(Generic[T, P]):
    """A function with what has to be installed and imported for it; it can be called like the
    function.
    """

    func: Callable[P, T]
    python_packages: Sequence[str] = field(default_factory=list)
    global_imports: Sequence[Import] = field(default_factory=list)

    @classmethod
    def from_callable(
        cls,
        func: Callable[P, T],
        python_packages: Sequence[str] = (),
        global_imports: Sequence[Import] = (),
    ) -> FunctionWithRequirements[T, P]:
        """A function of this program."""
        return cls(func, list(python_packages), list(global_imports))

    @staticmethod
    def from_str(
        func: str, python_packages: Sequence[str] = (), global_imports: Sequence[Import] = ()
    ) -> FunctionWithRequirementsStr:
        """A function given as source."""
        return FunctionWithRequirementsStr(func, python_packages, global_imports)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns."""
        return self.func(*args, **kwargs)


Function = FunctionWithRequirements[Any, Any] | Callable[..., Any] | FunctionWithRequirementsStr


def with_requirements(
    python_packages: Sequence[str] = (), global_imports: Sequence[Import] = ()
) -> Callable[[Callable[P, T]], FunctionWithRequirements[T, P]]:
    """Decorator: name the packages that pip installs and the imports that stand above the
    function.
    """

    def wrap(func: Callable[P, T]) -> FunctionWithRequirements[T, P]:
        wrapped = FunctionWithRequirements(func, list(python_packages), list(global_imports))
        return cast("FunctionWithRequirements[T, P]", functools.update_wrapper(wrapped, func))

    return wrap


def packages_of(functions: Iterable[Function]) -> list[str]:
    """The packages that the functions need, each once, sorted."""
    packages = (function.python_packages for function in _select_needing(functions))
    return sorted(set(chain.from_iterable(packages)))


def _select_needing(
    functions: Iterable[Function],
) -> Iterator[FunctionWithRequirements[Any, Any] | FunctionWithRequirementsStr]:
    """Those that say what has to be installed and imported for them."""
    for function in functions:
        if isinstance(function, FunctionWithRequirements | FunctionWithRequirementsStr):
            yield function


def functions_file(functions: Iterable[Function]) -> str:
    """The source of a module with the functions under their imports."""
    functions = list(functions)
    imports = chain.from_iterable(each.global_imports for each in _select_needing(functions))
    head = "\n".join(dict.fromkeys(map(_format_import, imports)))
    sources = [source_of(function).strip("\n") for function in functions]
    return "\n\n\n".join([head, *sources]).lstrip("\n") + "\n"


def _format_import(what: Import) -> str:
    if isinstance(what, ImportFromModule):
        return f"from {what.module} import {', '.join(map(_format_name, what.imports))}"
    return f"import {_format_name(what)}"


def _format_name(name: str | Alias) -> str:
    if isinstance(name, Alias):
        return f"{name.name} as {name.alias}"
    return name


def source_of(function: Function) -> str:
    """The source of the function alone, without `@with_requirements`.

    Raises WrongArgument when it has none (written in a console, built in) or is not written with
    `def`.
    """
    if isinstance(function, FunctionWithRequirementsStr):
        return textwrap.dedent(function.func)
    func = _unwrap(function)
    try:
        source = textwrap.dedent(inspect.getsource(func))
    except (OSError, TypeError) as error:
        raise WrongArgument(
            f"there is no source of the function {func!r}; write it into a file, or give it as a"
            " text."
        ) from error
    if not func.__name__.isidentifier():
        raise WrongArgument(
            f"the function {func!r} has no name to import it by; write it with def."
        )
    node = _parse_function(source)
    lines = source.split("\n")
    for item in reversed(node.decorator_list):
        if _is_ours(item):
            del lines[item.lineno - 1 : item.end_lineno]
    return "\n".join(lines)


def _unwrap(
    function: FunctionWithRequirements[Any, Any] | Callable[..., object],
) -> Callable[..., Any]:
    if isinstance(function, FunctionWithRequirements):
        return function.func
    return function


def _is_ours(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target).rpartition(".")[2] == DECORATOR


def _parse_function(source: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    try:
        body = ast.parse(textwrap.dedent(source)).body
    except (SyntaxError, ValueError) as error:
        raise WrongArgument(
            f"Could not compile function: {error}; its source is {source[:200]!r}."
        ) from error
    found = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if len(found) != 1:
        raise WrongArgument(
            f"The string must contain exactly one function, but this has {len(found)}:"
            f" {source[:200]!r}"
        )
    return found[0]


def to_stub(func: Function) -> str:
    """The head and the docstring of a function as a model should see them, with `...` for its
    body.
    """
    if isinstance(func, FunctionWithRequirementsStr):
        node = _parse_function(func.func)
        doc = ast.get_docstring(node)
        node.body, node.decorator_list = [], []
        head = ast.unparse(node)
    else:
        plain = _unwrap(func)
        doc = inspect.getdoc(plain)
        prefix = "async " if inspect.iscoroutinefunction(plain) else ""
        head = f"{prefix}def {plain.__name__}{inspect.signature(plain)}:"
    described = ""
    if doc:
        described = textwrap.indent(f'"""{doc}"""\n', "    ")
    return f"{head.strip()}\n{described}    ..."
