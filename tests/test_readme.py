"""The README's promises: its Python example runs, and its commands exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_answers_with_a_citation(tmp_path: Path) -> None:
    example, _agents = re.findall(
        r"```python\n(.*?)```", README, flags=re.DOTALL
    )  # the other one: tests/examples
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "samples").symlink_to(ROOT / "data" / "samples")
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\[1\]", done.stdout.splitlines()[0])
    assert re.search(r"^\[1\] .+, page \d", done.stdout, flags=re.MULTILINE)


def test_every_command_line_example_is_a_command_that_exists() -> None:
    commands = set(re.findall(r"python -m agentkit (\w+)", README))
    assert len(commands) >= 5
    for command in sorted(commands):
        done = subprocess.run(
            [sys.executable, "-m", "agentkit", command, "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_pictures_and_make_targets_exist() -> None:
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README):
        assert (ROOT / picture).stat().st_size > 10_000
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake (app|test|bench)\b", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
