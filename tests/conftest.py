"""How the tests are spread over processes, and what tests of several folders stand on.

A file goes to one process. Tests with a browser slow each other down: two processes share them.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

from agentkit.database import Database
from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.messages import new_id
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.servers.openai_server import OpenAIServer, answer_from_passages
from tests.servers.postgres import postgres

BROWSER = "tests/browser/"
BROWSERS = 2
"""How many processes have a browser at the same time."""
_BROWSER_FILES = sorted(path.name for path in Path(__file__).parent.glob("browser/test_*.py"))
MODELS = Path(__file__).parents[1] / ".cache" / "models"
"""Embedding models that were converted for this machine, for all tests and the next run."""
os.environ["AGENTKIT_MODEL_FOLDER"] = str(MODELS)  # for what tests start
# Hundreds of programs are started, and each would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine is slow, which is no fault of what is tested. Examples are others in every run, so
# that few of them are enough for plain properties; what needs more says so.
hypothesis.settings.register_profile(
    "any machine",
    hypothesis.settings(),
    max_examples=25,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine")


class FewBrowsers(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """By file, the files of browser tests in as many parts as there may be browsers."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        if not scope.startswith(BROWSER):
            return scope
        return f"{BROWSER}{_BROWSER_FILES.index(scope.removeprefix(BROWSER)) % BROWSERS}"


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected, a million objects, stays until the end: the collector of
    garbage looked through it again and again, for a twelfth of the processor time.
    """
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FewBrowsers:
    return FewBrowsers(config, log)


@pytest.fixture
def owner() -> str:
    """An owner of the test's own: the registry of runs belongs to the process."""
    return new_id()


@pytest.fixture(scope="session")
def new_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as it is after its first opening, to be copied: making the tables anew takes
    three times as long.
    """
    folder = tmp_path_factory.mktemp("new") / "data"
    Workspace(Settings(data=folder, model_folder=MODELS), FakeEmbedder()).close()
    return folder


@pytest.fixture
def settings(tmp_path: Path, new_folder: Path) -> Settings:
    """Settings with a data folder that was opened once and holds nothing."""
    return Settings(data=shutil.copytree(new_folder, tmp_path / "data"), model_folder=MODELS)


@pytest.fixture
def ledger(tmp_path: Path, new_folder: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    path = tmp_path / "agentkit.duckdb"
    shutil.copy(new_folder / path.name, path)
    database = Database(path)
    yield Ledger(database)
    database.close()


@pytest.fixture
def bill(ledger: Ledger) -> Bill:
    """The prices and budgets of that ledger, of which there are none yet."""
    return Bill(ledger)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[OpenAIServer]:
    """A model's server; each test says what it answers."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(shared_server: OpenAIServer) -> OpenAIServer:
    """It answers from the passages that it is sent, and has been asked nothing yet."""
    shared_server.script = answer_from_passages
    shared_server.requests.clear()
    return shared_server


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """Where a PostgreSQL listens that was started for these tests."""
    with postgres() as url:
        yield url
