"""One folder for several processes: its holder works for the others, and may leave at any time."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agentkit import runs
from agentkit.api import Held, Workspace, address
from agentkit.api.client import RemoteRun
from agentkit.core import bus
from agentkit.errors import DatabaseInUse, HolderGone, NotHere, Stopped, StoreError
from agentkit.events import DocumentDone, Event, Retrieved, RunStopped
from agentkit.retrieval import FakeEmbedder, Library, Source
from agentkit.settings import Settings
from tests.api.holder import holding, started
from tests.api.test_address import AS_ROOT
from tests.cli.program import SlowEmbedder

ME = "local"


@pytest.fixture
def held(settings: Settings) -> Iterator[Held]:
    held = Held(settings, FakeEmbedder())
    yield held
    held.close()


def papers(folder: Path, count: int) -> list[Source]:
    found = []
    for number in range(count):
        path = folder / f"{number:03}.txt"
        path.write_text(f"Paper number {number} is about subject {number}.")
        found.append(Source(path.name, path, str(path)))
    return found


def test_a_second_workspace_goes_through_the_first(held: Held, settings: Settings) -> None:
    held.library.create_collection(ME, "Books")
    second = Workspace(settings)
    assert [one.name for one in second.library.collections(ME)] == ["Books"]
    assert isinstance(second.library, Library)
    second.library.create_collection(ME, "Films")
    assert len(held.library.collections(ME)) == 2
    second.close()
    assert len(held.library.collections(ME)) == 2, "the folder is still open there"


def test_what_only_the_holder_has_is_told(held: Held, settings: Settings) -> None:
    second = Workspace(settings)
    for reach in (lambda: second.database, lambda: second.library.store, second.library.close):
        with pytest.raises(NotHere, match=f"only to be had in process {os.getpid()}"):
            reach()
    second.close()


def test_what_happens_in_a_call_is_heard_by_the_caller(held: Held, settings: Settings) -> None:
    held.library.create_collection(ME, "Books")
    second, heard = Workspace(settings), list[Event]()
    with bus.listening(heard.append):
        second.library.retrieve(ME, "Books", "paid leave", mode="lexical")
        run = second.ingest(ME, "Books", [])
        run.result()
    assert [type(one).__name__ for one in heard] == ["Retrieved", "RunStarted", "RunFinished"]
    second.close()


def test_a_stop_reaches_a_call_and_what_was_done_is_told(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    held = Held(settings, SlowEmbedder(0.05))
    second = Workspace(settings)
    sources = papers(tmp_path, 200)

    def work() -> None:
        second.library.ingest(ME, "Papers", sources)

    run = runs.start(work, kind="test")
    for recorded in run:
        if isinstance(recorded.event, DocumentDone):
            run.stop()
    with pytest.raises(Stopped):
        run.result()
    ends = [one.event.status for one in run.events() if isinstance(one.event, DocumentDone)]
    stored = [one.status for one in held.library.documents(ME, "Papers")]
    assert ends.count("indexed") == stored.count("indexed") > 0
    assert len(stored) < 200 or "stopped" in stored
    second.close()
    held.close()


def test_closing_a_workspace_stops_its_runs_elsewhere(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    held = Held(settings, SlowEmbedder(0.05))
    second = Workspace(settings)
    run = second.ingest(ME, "Papers", papers(tmp_path, 200))
    assert isinstance(run, RemoteRun)
    next(iter(run))
    second.close()
    assert isinstance(run.events()[-1].event, RunStopped)
    assert held.figures.runs(ME)[0].state == "stopped"
    held.close()


def test_a_program_that_is_killed_takes_its_run_with_it(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    held = Held(settings, SlowEmbedder(0.05))
    papers(tmp_path, 200)
    asked = ["-m", "tests.cli.program", "ingest", str(tmp_path), "--json"]
    with started(*asked, AGENTKIT_DATA=str(settings.data)) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["status"] == "indexed"
        (run,) = runs.live(ME)
        process.send_signal(signal.SIGKILL)
        assert run.wait(60)
    assert held.figures.runs(ME)[0].state == "stopped"
    held.close()


def test_a_holder_that_is_killed_is_told_and_the_folder_changes_hands(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    with holding(settings.data, EMBEDDING_DELAY_S="0.05") as process:
        workspace = Workspace(settings, FakeEmbedder())
        run = workspace.ingest(ME, "Papers", papers(tmp_path, 200))
        told = []
        for recorded in run:
            if isinstance(recorded.event, DocumentDone):
                told.append(recorded.event.document)
                process.send_signal(signal.SIGKILL)
        with pytest.raises(HolderGone, match=f"Process {process.pid}, which held the data folder"):
            run.result()
    # The same workspace goes on, now with the folder in its own hands.
    there = workspace.library.documents(ME, "Papers")
    assert set(told) <= {one.name for one in there if one.status == "indexed"}
    assert workspace.library.check() == []
    assert workspace.figures.runs(ME)[0].state == "interrupted"
    assert Workspace(settings).library.documents(ME, "Papers") == there
    workspace.close()


def test_a_call_that_is_cut_off_is_told_and_not_repeated(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    with holding(settings.data, EMBEDDING_DELAY_S="0.05") as process:
        workspace = Workspace(settings, FakeEmbedder())

        def kill(event: Event) -> None:
            if isinstance(event, DocumentDone):
                process.send_signal(signal.SIGKILL)

        with bus.listening(kill), pytest.raises(HolderGone):
            workspace.library.ingest(ME, "Papers", papers(tmp_path, 200))
    states = [document.status for document in workspace.library.documents(ME, "Papers")]
    assert states
    assert states.count("indexed") < 200  # all may be known by then, but not all of them read
    workspace.close()


def test_a_holder_that_leaves_hands_over_without_anybody_noticing(settings: Settings) -> None:
    first = Workspace(settings, FakeEmbedder())
    second, third = Workspace(settings, FakeEmbedder()), Workspace(settings, FakeEmbedder())
    library = third.library
    second.library.create_collection(ME, "Books")
    first.close()
    assert [one.name for one in library.collections(ME)] == ["Books"]
    assert [one.name for one in second.library.collections(ME)] == ["Books"]
    third.close()
    assert [one.name for one in second.library.collections(ME)] == ["Books"]
    second.close()


@pytest.mark.parametrize("patient", [True, False])
def test_closing_waits_for_others_or_stops_them(tmp_path: Path, patient: bool) -> None:
    settings = Settings(data=tmp_path / "data")
    held = Held(settings, SlowEmbedder(0.02), patient=patient)
    second = Workspace(settings, FakeEmbedder())
    run = second.ingest("somebody", "Papers", papers(tmp_path, 20))
    next(iter(run))
    assert held.serving == 1
    closing = threading.Thread(target=held.close)
    closing.start()
    if patient:
        assert {one.status for one in run.result()} == {"indexed"}
    else:
        with pytest.raises(Stopped):
            run.result()
    closing.join()
    second.close()


def test_programs_that_start_together_share_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    papers(folder, 3)
    asked = ["-m", "tests.cli.program", "ingest", str(folder), "--json", "--collection"]
    data = str(tmp_path / "data")
    with ExitStack() as all_three:
        processes = [
            all_three.enter_context(started(*asked, name, AGENTKIT_DATA=data)) for name in "ABC"
        ]
        ends = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    workspace = Workspace(Settings(data=tmp_path / "data"), FakeEmbedder())
    assert [(one.name, one.documents) for one in workspace.library.collections(ME)] == [
        ("A", 3),
        ("B", 3),
        ("C", 3),
    ]
    assert workspace.library.check() == []
    workspace.close()


def test_a_holder_of_another_version_is_told(settings: Settings) -> None:
    said = {"api": 2, "pid": os.getpid(), "socket": "/nowhere/s"}
    (settings.data / "socket.json").write_text(json.dumps(said))
    with pytest.raises(StoreError, match="another version of agentkit; update it or this one"):
        Workspace(settings)


def test_the_app_is_told_who_holds_the_folder(settings: Settings) -> None:
    first = Workspace(settings, FakeEmbedder())
    with pytest.raises(DatabaseInUse, match=f"in use by process {os.getpid()} .*Stop that one"):
        Held(settings, FakeEmbedder())
    first.close()
    Held(settings, FakeEmbedder()).close()


def test_a_closed_workspace_says_so(held: Held, settings: Settings) -> None:
    second = Workspace(settings)
    second.close()
    with pytest.raises(StoreError, match="closed"):
        second.library.collections(ME)


def test_events_of_a_run_elsewhere_are_those_of_the_ledger(held: Held, settings: Settings) -> None:
    held.library.create_collection(ME, "Books")
    second = Workspace(settings)
    run = second.ask(ME, "How long is the Danube?", collection="Books")
    run.result()
    stored = {one.seq: type(one.event) for one in second.figures.events(ME, run.id)}
    followed = {one.seq: type(one.event) for one in run.events()}
    assert Retrieved in stored.values()
    assert stored.items() <= followed.items()
    second.close()


STRANGER = """
import os, socket, sys
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    try:
        client.sendall(b"GET /v1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        print(len(client.recv(100)))
    except ConnectionError:
        print(0)
"""


@AS_ROOT
def test_another_user_gets_no_answer_even_where_the_socket_can_be_reached(
    held: Held, settings: Settings
) -> None:
    found = address.read(settings.data)
    assert found is not None
    Path(found.socket).parent.chmod(0o755)
    os.chmod(found.socket, 0o777)
    with started("-c", STRANGER, found.socket) as process:
        assert process.communicate() == ("0\n", "")
    Workspace(settings).close()


LISTENS = """
import os, socket, sys
os.setuid(65534)
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listening.listen()
print("up", flush=True)
peer, _ = listening.accept()
print(len(peer.recv(100)), flush=True)
"""


@AS_ROOT
def test_nothing_is_told_to_a_process_of_another_user(settings: Settings) -> None:
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = f"{folder}/s"
        with started("-c", LISTENS, path) as process:
            assert process.stdout
            assert process.stdout.readline() == "up\n"
            said = {"api": 1, "pid": process.pid, "socket": path}
            (settings.data / "socket.json").write_text(json.dumps(said))
            workspace = Workspace(settings, FakeEmbedder())
            assert process.stdout.readline() == "0\n"
            assert workspace.library.collections(ME) == []
            workspace.close()


def test_settings_that_are_adopted_count_from_the_next_call_on(
    held: Held, settings: Settings, tmp_path: Path
) -> None:
    """Whether the folder is held here or by another process."""
    large = tmp_path / "large.txt"
    large.write_text("word " * 300_000)
    source = Source(large.name, large, str(large))
    held.library.create_collection(ME, "Books")
    second = Workspace(settings)
    for workspace in (second, held):
        workspace.adopt(replace(settings, max_file_mb=1))
        (done,) = workspace.ingest(ME, "Books", [source]).result()
        assert (workspace.settings.max_file_mb, done.status) == (1, "failed")
    second.adopt(settings)
    assert held.settings.max_file_mb == 1, "each has limits of its own"
    (done,) = second.ingest(ME, "Books", [source]).result()
    assert done.status == "indexed"
    second.close()
