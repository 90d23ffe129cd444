"""Running commands: in this process with what they write captured, or as a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentkit.api import Held
from agentkit.cli import main
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from tests.cli.program import open_with_fake

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ended:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON values on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Ended]


@pytest.fixture
def data(tmp_path: Path, new_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own data folder without documents and chats, and no model server in the environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    return shutil.copytree(new_folder, tmp_path / "data")


@pytest.fixture(params=["alone", "held"])
def held(request: pytest.FixtureRequest) -> bool:
    """Whether somebody holds the data folder while commands run, as the app does."""
    return bool(request.param == "held")


@pytest.fixture
def cli(data: Path, held: bool, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """Run a command in this process; where the folder is `held` it goes through the socket."""
    holders: dict[str, Held] = {}

    def run(*arguments: object) -> Ended:
        folder = os.environ["AGENTKIT_DATA"]
        if held and folder not in holders:
            holders[folder] = Held(Settings(data=Path(folder)), FakeEmbedder())
        capsys.readouterr()
        code = main([str(argument) for argument in arguments], open_with_fake)
        written = capsys.readouterr()
        return Ended(code, written.out, written.err)

    yield run
    for holder in holders.values():
        holder.close()


def program(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    """Start a command as a program in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cli.program", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def write_papers(folder: Path) -> Path:
    """A folder with three documents."""
    (folder / "deep").mkdir(parents=True)
    (folder / "rivers.md").write_text(
        "# Rivers\n\nThe Danube is 2,850 kilometres long and ends in the Black Sea.\n"
    )
    (folder / "deep" / "pump.txt").write_text("The warranty of the pump lasts three years.")
    (folder / "deep" / "tea.html").write_text(
        "<h1>Tea</h1><p>Green tea is brewed at 80 degrees.</p>"
    )
    return folder


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with three documents that can be read and one that cannot."""
    folder = write_papers(tmp_path / "papers")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    return folder


def take_in(data: Path, *paths: Path) -> Path:
    """Those documents are in the collection Documents of that data folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTKIT_DATA", str(data))
        assert main(["ingest", *map(str, paths)], open_with_fake) == 0
    return data


@pytest.fixture(scope="session")
def folder_with_papers(tmp_path_factory: pytest.TempPathFactory, new_folder: Path) -> Path:
    """A data folder that holds the three documents."""
    given = tmp_path_factory.mktemp("papers")
    data = shutil.copytree(new_folder, given / "data")
    return take_in(data, write_papers(given / "papers"))


@pytest.fixture
def filled(cli: Cli, data: Path, folder_with_papers: Path) -> Cli:
    """The three documents are there from the first command on: where their taking in is not what is
    tried, this spares it.
    """
    shutil.copytree(folder_with_papers, data, dirs_exist_ok=True)
    return cli
