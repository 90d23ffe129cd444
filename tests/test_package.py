"""agentkit as an installed package: in an environment of its own, used from a folder that is not
the project's.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import agentkit
from tests.browser.serving import free_port

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


@dataclass(frozen=True)
class Installed:
    """An environment with agentkit and the libraries of this one, and an empty folder to be in."""

    bin: Path
    home: Path
    elsewhere: Path

    @property
    def data(self) -> Path:
        """Where the data is when nothing names a folder."""
        support = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
        return self.home / support / "agentkit"

    @property
    def environment(self) -> dict[str, str]:
        """That of a person who has set nothing of ours."""
        foreign = ("OPENAI_", "AGENTKIT_", "STREAMLIT_", "XDG_", "PYTHON")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        return {**kept, "HOME": str(self.home)}

    def run(self, program: str, *arguments: str, **variables: str) -> str:
        """What a program of the environment writes when it runs elsewhere."""
        done = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.elsewhere,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    libraries = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (libraries / "libraries.pth").write_text("\n".join(ours))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    pip += ["--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    for name in ("home", "elsewhere"):
        (folder / name).mkdir()
    return Installed(python.parent, folder / "home", folder / "elsewhere")


@contextmanager
def served(installed: Installed, folder: Path) -> Iterator[int]:
    """The port of `agentkit app`, started in the folder, while the block runs."""
    port, log = free_port(), installed.home / "app.log"
    command = [str(installed.bin / "agentkit"), "app", f"--server.port={port}"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--server.headless=true"],
            cwd=folder,
            env=installed.environment,
            stdout=file,
            stderr=file,
        )
        try:
            _wait_until_healthy(process, port, log)
            yield port
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"the app did not come up:\n{log.read_text()}")


def metadata_of(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def names_of(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def normal(requirement: str) -> tuple[str, frozenset[str]]:
    """A requirement's name, and what is said of its versions in any order."""
    plain = requirement.partition(";")[0].strip()
    found = re.match(r"[\w.\[\]-]+", plain)
    assert found, requirement
    versions = plain[found.end() :].replace(" ", "").split(",")
    return found[0].lower().replace("_", "-"), frozenset(versions)


def listed(file: str) -> set[tuple[str, frozenset[str]]]:
    lines = (ROOT / file).read_text().splitlines()
    return {normal(line) for line in lines if line and line[0] not in "#-"}


def test_the_package_needs_what_requirements_txt_says(wheel: Path) -> None:
    needed = metadata_of(wheel).get_all("Requires-Dist", [])
    assert {normal(one) for one in needed if "extra ==" not in one} == listed("requirements.txt")


def test_the_extras_are_those_that_are_tested() -> None:
    extras = {normal(one) for of in PROJECT["optional-dependencies"].values() for one in of}
    assert extras <= listed("requirements-dev.txt")


def test_the_wheel_is_typed_and_has_a_version_and_the_notices(wheel: Path) -> None:
    names = names_of(wheel)
    assert "agentkit/py.typed" in names
    assert metadata_of(wheel)["Version"] == agentkit.__version__
    assert any(name.endswith("/licenses/NOTICE") for name in names)
    notice = (ROOT / "NOTICE").read_text()
    assert all(word in notice for word in ("cl100k_base", "all-MiniLM-L6-v2", "Source Sans"))


def test_all_of_the_package_and_the_app_travels(wheel: Path) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    ours = {line for line in tracked.splitlines() if line.startswith("agentkit/")}
    beside = ("app.py", "pages/", "data/", ".streamlit/config.toml")
    ours |= {f"agentkit/_app/{line}" for line in tracked.splitlines() if line.startswith(beside)}
    found = {name for name in names_of(wheel) if name.startswith("agentkit/")}
    assert "agentkit/_app/app.py" in ours <= found
    assert not [name for name in found if "__pycache__" in name or "secrets" in name]


def test_a_question_is_answered_outside_of_the_project(installed: Installed) -> None:
    place = installed.run("python", "-c", "import agentkit.places as p; print(p.SHIPPED)").strip()
    assert not Path(place).is_relative_to(ROOT)
    samples = str(Path(place) / "data" / "samples")
    installed.run("agentkit", "ingest", f"{samples}/employee-handbook.pdf")
    question = "How many days of annual leave does an employee get?"
    answer = json.loads(installed.run("agentkit", "ask", question, "--json"))
    assert "27 days" in answer["answer"]
    assert (installed.data / "agentkit.duckdb").is_file()
    assert str(installed.data) in installed.run("agentkit", "doctor")
    assert not any(installed.elsewhere.iterdir()), "nothing is left in the folder of the moment"


FOLDER = "from agentkit.settings import load_settings; print(load_settings().data)"


def test_the_data_folder_is_the_users_unless_another_is_named(installed: Installed) -> None:
    def told(**variables: str) -> str:
        return installed.run("python", "-c", FOLDER, **variables).strip()

    assert told() == str(installed.data)
    assert told(AGENTKIT_DATA="here") == "here"
    if sys.platform == "linux":
        assert told(XDG_DATA_HOME="/other") == "/other/agentkit"
        assert told(XDG_DATA_HOME="not/absolute") == str(installed.data)


PAGES = """
from pathlib import Path
from streamlit.testing.v1 import AppTest
from agentkit.ui.shared import state
from agentkit.ui.shell import server

app = AppTest.from_file(str(server.SCRIPT), default_timeout=120).run()
for name in ("documents", "retrieval_lab", "usage", "settings", "chat"):
    app.switch_page(str(state.PAGES / f"{name}.py")).run()
    assert not app.exception, app.exception[0].stack_trace
    print(app.title[0].value)
run = state.workspace().ingest_samples("local")
print(len(run.result()))
state.close()
"""


def test_every_page_and_the_samples_are_there(installed: Installed) -> None:
    told = installed.run("python", "-c", PAGES).splitlines()
    assert told == ["Documents", "Retrieval lab", "Usage", "Settings", "Chat", "8"]


def test_the_app_serves_this_machine_alone_whatever_the_folder_says(
    installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\n')
    (tmp_path / "streamlit.py").write_text("raise SystemExit('the folder was taken for a library')")
    with served(installed, tmp_path) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as page:
            assert "frame-ancestors" in page.headers["Content-Security-Policy"]
        # Who listens on every address answers under this one, too.
        with pytest.raises(OSError, match=r"refused|assign"):
            socket.create_connection(("127.0.0.2", port), timeout=60)
