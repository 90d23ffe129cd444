"""Functions for a model's code: their source, their stubs, and how an executor offers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.coding import (
    Alias,
    CodeBlock,
    FunctionWithRequirements,
    FunctionWithRequirementsStr,
    ImportFromModule,
    LocalCommandLineCodeExecutor,
    to_stub,
    with_requirements,
)
from agentkit.coding.functions import Function, functions_file, packages_of
from agentkit.errors import WrongArgument


def add(a: int, b: int = 2) -> int:
    """Add.

    Both.
    """
    return a + b


@with_requirements(
    python_packages=["pip"],
    global_imports=[
        "json",
        Alias("math", "m"),
        ImportFromModule("os", ["path", Alias("sep", "s")]),
        "json",
    ],
)
def load(x: str) -> str:
    """Load."""
    return str(json.dumps([x, m.pi, s]))  # type: ignore[name-defined]  # noqa: F821


async def later() -> None: ...


MUL = FunctionWithRequirementsStr(
    'def mul(a: int, b=1) -> "int":\n    """M."""\n    return a*b',
    python_packages=["b", "a"],
    global_imports=["json"],
)


def local(folder: Path, functions: list[Function], **options: str) -> LocalCommandLineCodeExecutor:
    with pytest.warns(UserWarning, match="isolation"):
        return LocalCommandLineCodeExecutor(work_dir=folder, functions=functions, **options)  # type: ignore[arg-type]


def test_a_stub_is_head_and_docstring() -> None:
    assert (
        to_stub(add)
        == "def add(a: 'int', b: 'int' = 2) -> 'int':\n    \"\"\"Add.\n\n    Both.\"\"\"\n    ..."
    )
    assert to_stub(load) == 'def load(x: \'str\') -> \'str\':\n    """Load."""\n    ...'
    assert to_stub(later) == "async def later() -> 'None':\n    ..."
    assert to_stub(MUL) == 'def mul(a: int, b=1) -> \'int\':\n    """M."""\n    ...'
    for function in (add, load, later, MUL):
        compile(to_stub(function), "stub", "exec")


def test_the_module_has_imports_once_and_no_decorator_of_ours() -> None:
    module = functions_file([add, load, MUL])
    assert module.startswith(
        "import json\nimport math as m\nfrom os import path, sep as s\n\n\ndef add("
    )
    assert "with_requirements" not in module
    assert packages_of([add, load, MUL]) == ["a", "b", "pip"]
    names: dict[str, object] = {}
    exec(compile(module, "functions", "exec", dont_inherit=True), names)
    assert {"add", "load", "mul"} <= names.keys()


def test_a_wrapped_function_is_still_one() -> None:
    @with_requirements(python_packages=["x"])
    def double(a: int) -> int:
        """Twice."""
        return a * 2

    assert double(4) == 8
    assert double.__doc__ == "Twice."
    assert FunctionWithRequirements.from_callable(add)(1) == 3
    assert (
        functions_file([double])
        == 'def double(a: int) -> int:\n    """Twice."""\n    return a * 2\n'
    )


def test_a_function_of_source_is_not_run_here() -> None:
    with pytest.raises(NotImplementedError, match="not directly callable"):
        MUL(1, 2)


@pytest.mark.parametrize("source", ["x = 1", "def a(): pass\ndef b(): pass", "", "def ("])
def test_source_without_exactly_one_function_is_refused(source: str) -> None:
    with pytest.raises(WrongArgument, match="function"):
        FunctionWithRequirements.from_str(source)


@pytest.mark.parametrize("function", [lambda x: x, len])
def test_a_function_without_a_def_is_refused(function: Function) -> None:
    with pytest.raises(WrongArgument, match="function"):
        functions_file([function])


def test_code_imports_the_functions(tmp_path: Path) -> None:
    mul = FunctionWithRequirements.from_str("def mul(a, b):\n    return a * b")
    executor = local(tmp_path, [add, mul], functions_module="tools")
    code = CodeBlock("from tools import add, mul\nprint(add(1), mul(2, 3))", "python")
    assert executor.execute_code_blocks([code]).output == "3 6\n"
    assert executor.functions_module == "tools"


def test_the_prompt_names_the_module_and_shows_the_stubs(tmp_path: Path) -> None:
    executor = local(tmp_path, [add, MUL])
    prompt = executor.format_functions_for_prompt()
    assert "`functions`" in prompt
    assert prompt.endswith(f"{to_stub(add)}\n\n{to_stub(MUL)}")
    assert executor.format_functions_for_prompt("$module_name costs $5") == "functions costs $5"


def test_functions_that_do_not_load_are_an_error_with_the_reason(tmp_path: Path) -> None:
    executor = local(
        tmp_path,
        [FunctionWithRequirements.from_str("def f(): ...", global_imports=["no_such_module"])],
    )
    with pytest.raises(
        ValueError, match=r"(?s)Functions failed to load.*No module named 'no_such_module'"
    ):
        executor.execute_code_blocks([CodeBlock("1", "python")])


def test_a_package_that_cannot_be_installed_is_an_error_with_the_reason(tmp_path: Path) -> None:
    executor = local(
        tmp_path,
        [FunctionWithRequirements.from_str("def f(): ...", python_packages=["./no-such-folder"])],
    )
    with pytest.raises(
        ValueError, match=r"(?s)Pip install failed \(\./no-such-folder\).*no-such-folder"
    ):
        executor.execute_code_blocks([CodeBlock("1", "python")])


def test_a_package_that_is_there_is_enough(tmp_path: Path) -> None:
    executor = local(tmp_path, [load])
    code = CodeBlock("from functions import load\nprint(load('a'))", "python")
    assert executor.execute_code_blocks([code]).output == '["a", 3.141592653589793, "/"]\n'


def test_a_module_name_is_an_identifier(tmp_path: Path) -> None:
    with pytest.raises(WrongArgument, match="valid Python identifier"):
        LocalCommandLineCodeExecutor(work_dir=tmp_path, functions_module="a b")
