"""Who holds a folder: one at a time, known by a file, and nobody once the process is dead."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from agentkit.api import address
from agentkit.api.address import Claim, Taken
from tests.api.holder import holding, started

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NOBODY = 65534


def test_the_folder_names_the_socket_which_only_its_user_can_reach(tmp_path: Path) -> None:
    claim = Claim(tmp_path / "new" / "data")
    claim.listen()
    found = address.read(tmp_path / "new" / "data")
    assert found is not None
    assert found.pid == os.getpid()
    path = Path(found.socket)
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "data" / "socket.json").stat().st_mode) == 0o600
    assert len(os.fsencode(path)) <= 103
    claim.release()
    assert not path.parent.exists()


def test_a_long_folder_for_temporary_files_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("long" * 30)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    claim = Claim(tmp_path)
    claim.listen()
    found = address.read(tmp_path)
    assert found is not None
    assert not Path(found.socket).is_relative_to(deep)
    assert list(deep.iterdir()) == []
    claim.release()


def test_a_second_one_is_told_who_has_it_and_gets_it_afterwards(tmp_path: Path) -> None:
    first = Claim(tmp_path)
    first.listen()
    first.hide()  # it is closing
    with pytest.raises(Taken, match=f"in use by process {os.getpid()} "):
        Claim(tmp_path)
    first.release()
    Claim(tmp_path).release()


def test_what_a_killed_holder_left_is_removed(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        left = address.read(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert left is not None
    assert Path(left.socket).exists()
    claim = Claim(tmp_path)
    claim.listen()
    found = address.read(tmp_path)
    assert found is not None
    assert found.pid == os.getpid()
    assert not Path(left.socket).parent.exists()
    claim.release()


def test_a_file_that_says_something_else_leads_nowhere(tmp_path: Path) -> None:
    innocent = tmp_path / "mine"
    innocent.mkdir()
    (innocent / "s").write_text("not a socket of ours")
    for text in ("", "[]", "{", json.dumps({"api": 1, "pid": 1, "socket": str(innocent / "s")})):
        (tmp_path / "socket.json").write_text(text)
        claim = Claim(tmp_path)
        claim.listen()
        claim.release()
    assert (innocent / "s").exists()


FORKS = """
import os, sys
from pathlib import Path
from agentkit.api.address import Claim
claim = Claim(Path(sys.argv[1]))
claim.listen()
here, there = os.pipe()
if os.fork() == 0:
    os.write(there, b"x")
    sys.stdin.read()
    os._exit(0)
os.read(here, 1)  # until the child is itself
os._exit(0)
"""


def test_the_child_of_a_fork_does_not_keep_the_hold(tmp_path: Path) -> None:
    with started("-c", FORKS, str(tmp_path)) as process:
        assert process.wait() == 0  # its child waits for the input to end
        left = address.read(tmp_path)
        assert left is not None
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
            client.connect(left.socket)
        Claim(tmp_path).release()


def test_the_user_at_the_other_end_is_known() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert address.peer_uid(one) == address.peer_uid(other) == os.geteuid()


@AS_ROOT
def test_another_user_is_known_as_such() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = str(Path(folder) / "s")
        os.chmod(folder, 0o755)
        listening.bind(path)
        os.chmod(path, 0o777)
        listening.settimeout(60)  # for a child that cannot come
        listening.listen()
        code = f"import os, socket; os.setuid({NOBODY}); s = socket.socket(1); s.connect({path!r})"
        with started("-c", f"{code}; s.recv(1)"):
            peer, _ = listening.accept()
            with peer:
                assert address.peer_uid(peer) == NOBODY
