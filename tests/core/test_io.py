"""The console of the agents."""

from __future__ import annotations

import io

import pytest

from agentkit.core.io import IOConsole, IOStream


def test_what_a_narrow_console_cannot_show_becomes_a_question_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="cp1252", newline="\n"))
    IOConsole().print("déjà", "vu 🤖 漢", 3, sep=", ", end="!\n", flush=True)
    assert raw.getvalue().decode("cp1252") == "déjà, vu ? ?, 3!\n"


def test_a_stream_that_is_empty_is_a_stream() -> None:
    class Lines(list[str]):
        def print(
            self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False
        ) -> None:
            self.append(sep.join(map(str, objects)))

        def input(self, prompt: str = "", *, password: bool = False) -> str:
            return ""

    with IOStream.set_default(lines := Lines()):
        IOStream.get_default().print("heard")
    assert lines == ["heard"]


def test_the_stream_of_the_process() -> None:
    before, mine = IOStream.get_global_default(), IOConsole()
    IOStream.set_global_default(mine)
    try:
        assert IOStream.get_default() is IOStream.get_global_default() is mine
        with IOStream.set_default(other := IOConsole()):
            assert IOStream.get_default() is other
            assert IOStream.get_global_default() is mine
    finally:
        IOStream.set_global_default(before)
