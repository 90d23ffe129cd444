"""The functions of the first way to run code, and the factory that makes executors by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.coding import CodeExecutorFactory, LocalCommandLineCodeExecutor
from agentkit.coding.legacy import (
    check_can_use_docker_or_throw,
    decide_use_docker,
    execute_code,
    extract_code,
)
from agentkit.errors import NoIsolation, WrongArgument, WrongType


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no code", [("unknown", "no code")]),
        (None, [("unknown", "")]),
        ("```\na\n```", [("", "a")]),
        ("```python\na\n```\n```sh\nb\n```", [("python", "a"), ("sh", "b")]),
        ([{"type": "text", "text": "```python\na\n```"}], [("python", "a")]),
    ],
)
def test_code_is_extracted(text: str | None, expected: list[tuple[str, str]]) -> None:
    assert extract_code(text) == expected


def test_code_within_a_line_is_extracted_on_demand() -> None:
    assert extract_code("`a b` and ```sh\nb\n```", detect_single_line_code=True) == [
        ("", "a b"),
        ("sh", "b"),
    ]
    assert extract_code("", detect_single_line_code=True) == []


def test_another_pattern_may_be_given() -> None:
    assert extract_code("xAAy", pattern="(x)(.*)y") == [("x", "AA")]


@pytest.mark.parametrize(
    ("code", "lang", "expected"),
    [
        ("print(1)", "python", (0, "1\n", None)),
        ("print(1)", "py", (0, "1\n", None)),
        ("echo 1; exit 3", "sh", (3, "1\n", None)),
        ("echo 1 >&2; exit 3", "bash", (3, "1\n", None)),
    ],
)
def test_code_runs_here_when_isolation_is_declined(
    tmp_path: Path, code: str, lang: str, expected: tuple[int, str, str | None]
) -> None:
    assert execute_code(code, work_dir=tmp_path, use_docker=False, lang=lang) == expected
    assert list(tmp_path.iterdir()) == []


def test_what_was_printed_before_a_failure_is_kept(tmp_path: Path) -> None:
    code, logs, _ = execute_code(
        "print('kept')\nraise ValueError(2)", filename="x.py", work_dir=tmp_path, use_docker=False
    )
    assert code == 1
    assert logs.startswith("kept\nTraceback")
    assert 'File "x.py", line 2' in logs
    assert execute_code(filename="x.py", work_dir=tmp_path, use_docker=False)[:2] == (1, logs)


def test_a_timeout_has_exit_code_1(tmp_path: Path) -> None:
    assert execute_code(
        "import time\ntime.sleep(9)", timeout=0.5, work_dir=tmp_path, use_docker=False
    ) == (1, "Timeout", None)


def test_a_file_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    code, logs, _ = execute_code(filename="gone.py", work_dir=tmp_path, use_docker=False)
    assert code == 2
    assert "gone.py" in logs


def test_names_outside_and_destructive_commands_are_failures(tmp_path: Path) -> None:
    outside = execute_code("print(1)", filename="../x.py", work_dir=tmp_path, use_docker=False)
    assert outside == (1, "Filename is not in the workspace", None)
    code, logs, _ = execute_code("rm -rf x", lang="sh", work_dir=tmp_path, use_docker=False)
    assert code == 1
    assert "dangerous" in logs


def test_calls_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Either code or filename"):
        execute_code(work_dir=tmp_path)
    with pytest.raises(NotImplementedError, match="cobol"):
        execute_code("x", lang="cobol", work_dir=tmp_path, use_docker=False)
    with pytest.raises(WrongArgument, match="names no image"):
        execute_code("x", work_dir=tmp_path, use_docker=[])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "meant"), [("0", False), ("No", False), ("True", True), ("none", None)]
)
def test_the_environment_decides_when_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch, said: str, meant: bool | None
) -> None:
    monkeypatch.setenv("AUTOGEN_USE_DOCKER", said)
    assert decide_use_docker(None) is meant
    assert decide_use_docker("image") == "image"


def test_nonsense_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGEN_USE_DOCKER", "foo")
    with pytest.raises(ValueError, match="Invalid value for AUTOGEN_USE_DOCKER: 'foo'"):
        decide_use_docker(None)


def test_an_executor_is_made_by_name(tmp_path: Path) -> None:
    config = {
        "executor": "commandline-local",
        "commandline-local": {"timeout": 3, "work_dir": tmp_path},
    }
    with pytest.warns(UserWarning, match="isolation"):
        made = CodeExecutorFactory.create(config)
    assert isinstance(made, LocalCommandLineCodeExecutor)
    assert made.timeout == 3
    assert CodeExecutorFactory.create({"executor": made}) is made


@pytest.mark.parametrize("executor", ["foo", None, 5, LocalCommandLineCodeExecutor])
def test_an_unknown_executor_is_refused(executor: object) -> None:
    with pytest.raises(ValueError, match="Unknown code executor"):
        CodeExecutorFactory.create({"executor": executor})


def test_arguments_that_the_executor_does_not_have_are_refused() -> None:
    with pytest.raises(WrongType, match="nonsense"):
        CodeExecutorFactory.create(
            {"executor": "commandline-local", "commandline-local": {"nonsense": 1}}
        )


def test_code_is_isolated_unless_declined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOGEN_USE_DOCKER", raising=False)
    secret = tmp_path / "secret"
    secret.write_text("told")
    work_dir = tmp_path / "work"
    code = f"print(open({str(secret)!r}).read())"
    assert execute_code(code, work_dir=work_dir, use_docker=False) == (0, "told\n", None)
    for use_docker in (None, True):
        exit_code, logs, _ = execute_code(
            f"print('begun')\n{code}", work_dir=work_dir, use_docker=use_docker
        )
        assert exit_code == 1
        assert logs.startswith("begun")
        assert "told" not in logs
    assert list(work_dir.iterdir()) == []


def test_without_any_isolation_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOGEN_USE_DOCKER", raising=False)
    from agentkit.coding import probe

    monkeypatch.setenv("PATH", str(tmp_path))
    probe.bubblewrap_works.cache_clear()
    try:
        check_can_use_docker_or_throw(False)
        for use_docker in (None, True, "python:3-slim"):
            with pytest.raises(RuntimeError, match=r"(?i)docker"):
                check_can_use_docker_or_throw(use_docker)
            with pytest.raises(NoIsolation, match=r"(?i)docker"):
                execute_code("open('ran', 'w')", work_dir=tmp_path, use_docker=use_docker)
    finally:
        probe.bubblewrap_works.cache_clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("said", "meant"), [("t", True), ("T", True), ("f", False), ("F", False)])
def test_the_environment_may_say_it_in_a_letter(
    said: str, meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOGEN_USE_DOCKER", said)
    assert decide_use_docker(None) is meant
