"""The jail: limits, death, stop, noise, secrets, and pictures of pages."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from agentkit.documents import DocumentText, Jail, Limits, read_document, render_page
from agentkit.errors import (
    AgentkitError,
    DamagedDocument,
    DocumentTooLarge,
    NotFound,
    ReadingTimedOut,
    Stopped,
    UnknownFormat,
)
from tests.documents import makers

Read = Callable[[bytes, str], DocumentText]
SLOW = b"<html><body>" + b"<table><tr><td>" * 50 + b"<p>word</p>" * 2_000_000


@pytest.fixture
def slow_file(tmp_path: Path) -> Path:
    """A page that takes many seconds to read."""
    path = tmp_path / "slow.html"
    path.write_bytes(SLOW)
    return path


def test_one_file(text_file: Path) -> None:
    assert read_document(text_file, "a.txt", Limits()).text == "Hello there."


def test_a_missing_file(jail: Jail, tmp_path: Path) -> None:
    with pytest.raises(DamagedDocument, match="cannot be opened"):
        jail.read(tmp_path / "none", "none.txt")


def test_any_file_name_the_system_allows(jail: Jail, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \xf0\x9f\x9a\xa2.txt"))
    path.write_text("Hello there.")
    assert jail.read(path, path.name).text == "Hello there."


def test_a_hang_ends_at_the_timeout_and_the_next_file_works(
    slow_file: Path, text_file: Path
) -> None:
    with Jail(Limits(timeout_s=0.4)) as jail:
        with pytest.raises(ReadingTimedOut, match=r"within 0\.4 s"):
            jail.read(slow_file, "slow.html")
        assert jail.read(text_file, "a.txt").text == "Hello there."


def test_a_memory_hog_is_refused_and_the_next_file_works(slow_file: Path, text_file: Path) -> None:
    with Jail(Limits(memory_mb=160)) as jail:
        with pytest.raises(DocumentTooLarge, match="160 MB"):
            jail.read(slow_file, "slow.html")
        assert jail.read(text_file, "a.txt").text == "Hello there."


def test_stop_from_another_thread_ends_a_read_at_once_and_for_good(
    slow_file: Path, text_file: Path
) -> None:
    jail = Jail(Limits())
    jail.read(text_file, "a.txt")
    timer = threading.Timer(0.2, jail.stop)
    timer.start()
    with pytest.raises(Stopped):
        jail.read(slow_file, "slow.html")
    timer.join()
    with pytest.raises(Stopped):
        jail.read(text_file, "a.txt")
    jail.close()


def child_of(jail: Jail) -> int:
    """The process id of the jail's child, found as the system knows it."""
    wanted = str(jail.limits.memory_mb).encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"PPid:\t{os.getpid()}\n" in (entry / "status").read_text()
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if ours and b"agentkit.documents.child" in command and wanted in command:
                return int(entry.name)
        except FileNotFoundError:  # ended while we looked
            continue
    raise AssertionError("no child of this jail")


def test_a_killed_child_is_replaced_and_closing_leaves_none(text_file: Path) -> None:
    with Jail(Limits(memory_mb=1777)) as jail:
        jail.read(text_file, "a.txt")
        first = child_of(jail)
        os.kill(first, signal.SIGKILL)
        while (
            Path(f"/proc/{first}/stat").exists()
            and ") Z" not in Path(f"/proc/{first}/stat").read_text()
        ):
            time.sleep(0.01)
        assert jail.read(text_file, "a.txt").text == "Hello there."
        second = child_of(jail)
        assert second != first
    assert not Path(f"/proc/{second}").exists()


def test_the_child_gets_no_secrets_and_little_else(
    text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with Jail(Limits(memory_mb=1777)) as jail:
        jail.read(text_file, "a.txt")
        environment = Path(f"/proc/{child_of(jail)}/environ").read_bytes()
    assert b"secret" not in environment


def test_many_files_in_a_row_from_several_threads(jail: Jail, text_file: Path) -> None:
    seen: list[str] = []

    def reads() -> None:
        seen.extend(jail.read(text_file, "a.txt").text for _ in range(80))

    threads = [threading.Thread(target=reads) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["Hello there."] * 240


def test_a_child_that_cannot_start_says_how_to_find_out_why(
    text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Jail(Limits()) as jail, pytest.raises(AgentkitError, match="could not start"):
        jail.read(text_file, "a.txt")


def page(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def marked(image: Image.Image) -> tuple[int, int, int, int] | None:
    """Box of the yellow pixels: those with much more red than blue."""
    red, _, blue = image.split()
    return ImageChops.subtract(red, blue).point([0] * 60 + [255] * 196).getbbox()


def test_a_page_is_drawn_with_its_passage_marked(jail: Jail, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        makers.pdf(
            ["One.", "Above the line.\n\nA hyphen-\nated word, then efficient marks.\n\nBelow it."]
        )
    )
    text = jail.read(path, "a.pdf").sections[1].text
    at = text.index("marks")
    plain, drawn = (
        page(jail.render(path, "a.pdf", 2, None, 600)),
        page(jail.render(path, "a.pdf", 2, (at, at + 5), 600)),
    )
    assert drawn.size == plain.size == (600, 849)
    assert marked(plain) is None
    box = marked(drawn)
    assert box is not None
    assert 20 < box[2] - box[0] < 45
    assert box[3] - box[1] < 20
    darkest, _ = plain.crop(box).convert("L").getextrema()
    assert isinstance(darkest, int | float)
    assert darkest < 80  # there are letters below the mark
    above = marked(page(jail.render(path, "a.pdf", 2, (0, 5), 600)))
    assert above is not None
    assert above[3] < box[1]


def test_a_sentence_is_marked_more_strongly_than_its_passage(jail: Jail, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(makers.pdf(["Tea is hot. Milk is cold."]))
    text = jail.read(path, "a.pdf").sections[0].text
    at = text.index("Milk")
    light, strong = (
        page(jail.render(path, "a.pdf", 1, (0, len(text)), 600, sentences))
        for sentences in ([], [(at, len(text))])
    )
    whole = marked(light)
    assert marked(strong) == whole
    changed = ImageChops.difference(light, strong).getbbox()
    assert whole is not None
    assert changed is not None
    assert whole[0] + 30 < changed[0]  # behind the first sentence
    assert changed[2] == whole[2]


def test_the_mark_follows_the_rotation_of_a_page(jail: Jail, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        makers.pdf(["Some words here."]).replace(b"/Type /Page\n", b"/Type /Page /Rotate 90\n")
    )
    image = page(jail.render(path, "a.pdf", 1, (0, 10), 800))
    assert image.width > image.height
    box = marked(image)
    assert box is not None
    assert box[3] - box[1] > box[2] - box[0]


def test_pages_that_cannot_be_drawn(jail: Jail, text_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(makers.pdf(["One."]))
    with pytest.raises(NotFound, match="no page 2"):
        jail.render(path, "a.pdf", 2)
    with pytest.raises(UnknownFormat, match="not a PDF"):
        render_page(text_file, "a.txt", 1, None, Limits())
    assert page(render_page(path, "a.pdf", 1, (0, 10_000), Limits(), 300)).width == 300
