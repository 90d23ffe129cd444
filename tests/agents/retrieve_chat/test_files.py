"""Which files are read and how they are cut: properties of chunks, folders, addresses, files that
cannot be read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents.retrieve_chat import (
    extract_text_from_pdf,
    get_file_from_url,
    get_files_from_dir,
    parse_html_to_markdown,
    split_files_to_chunks,
    split_text_to_chunks,
)
from agentkit.errors import DocumentError, FetchFailed, WrongArgument
from agentkit.events import Noted
from agentkit.llm.tokens.windows import count_token
from tests.conversation.cast import hearing

TEXTS = st.text(alphabet=st.sampled_from("ab é\n\n "), max_size=300)
PAGE = (
    b"<html><head><title>Tea</title></head><body><h1>Kinds</h1><p>Green"
    b" <b>tea</b>.</p><ul><li>Oolong</li></ul></body></html>"
)


@given(TEXTS, st.integers(1, 40), st.booleans(), st.sampled_from(["multi_lines", "one_line"]))
def test_chunks_fit_and_lose_nothing(text: str, most: int, at_empty: bool, mode: str) -> None:
    chunks = split_text_to_chunks(text, most, mode, at_empty)
    assert all(chunk.strip() for chunk in chunks)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    # One character may take more tokens than are allowed; it is not cut.
    assert all(count_token(chunk) <= max(most, 3) for chunk in chunks)


@given(TEXTS, st.integers(3, 40), st.integers(0, 3))
def test_overlapping_chunks_hold_every_line(text: str, most: int, overlap: int) -> None:
    chunks = split_text_to_chunks(text, most, overlap=overlap)
    assert set("".join(text.split())) == set("".join("".join(chunks).split()))
    assert len(chunks) >= len(split_text_to_chunks(text, most))
    assert all(count_token(chunk) <= most for chunk in chunks)


def test_chunks_begin_with_the_last_lines_of_the_one_before() -> None:
    text = "one one\ntwo two\nthree three\nfour four"
    assert split_text_to_chunks(text, 6, overlap=1) == [
        "one one\ntwo two",
        "two two\nthree three",
        "three three\nfour four",
    ]


def test_chunks_break_at_an_empty_line_if_they_must() -> None:
    text = "one\ntwo\n\nthree\nfour"
    assert split_text_to_chunks(text, 6) == ["one\ntwo", "three\nfour"]
    assert split_text_to_chunks(text, 6, must_break_at_empty_line=False)[0] == "one\ntwo\n\nthree"


def test_a_long_line_is_cut_between_words_soon_enough() -> None:
    line = "word " * 200_000
    chunks = split_text_to_chunks(line, 2_000)
    assert " ".join(chunks).split() == line.split()
    assert len(chunks) < 110


def test_no_tokens_and_an_unknown_mode() -> None:
    with pytest.raises(WrongArgument, match="max_tokens must be 1 or more"):
        split_text_to_chunks("x", 0)
    with pytest.raises(AssertionError, match="chunk_mode"):
        split_text_to_chunks("x", 5, "pages")


def test_a_folder_gives_its_files_by_name_each_once_and_no_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.TXT", "a.md", ".hidden.txt", ".git/x.txt", "sub/c.pdf", "sub/d.exe"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / "again.txt").symlink_to(tmp_path / "a.md")
    names = [
        str(Path(str(file)).relative_to(tmp_path))
        for file in get_files_from_dir([tmp_path, str(tmp_path), tmp_path / "a.md"])
    ]
    assert names == ["a.md", "b.TXT", "sub/c.pdf"]


def test_files_that_cannot_be_read_are_noted_and_the_others_taken(tmp_path: Path) -> None:
    good, bad, empty = (str(tmp_path / name) for name in ("good.txt", "bad.pdf", "empty.txt"))
    Path(good).write_text("tea", encoding="utf-8")
    Path(bad).write_bytes(b"%PDF-1.7 broken")
    Path(empty).write_text(" \n", encoding="utf-8")
    with hearing() as events:
        assert split_files_to_chunks([bad, empty, good]) == (["tea"], [{"source": good}])
    assert [bad in event.text for event in events if isinstance(event, Noted)] == [True]
    assert split_files_to_chunks([empty]) == ([], [])
    with pytest.raises(DocumentError, match=r"bad\.pdf"):
        split_files_to_chunks([bad])


def test_a_pdf(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    pdf.cell(text="Green tea is grown in China.")
    pdf.output(str(tmp_path / "tea.pdf"))
    assert extract_text_from_pdf(str(tmp_path / "tea.pdf")) == "Green tea is grown in China."
    assert split_files_to_chunks([str(tmp_path / "tea.pdf")])[0] == ["Green tea is grown in China."]


def test_a_page_becomes_markdown() -> None:
    assert parse_html_to_markdown(PAGE.decode()) == "# Tea\n\n# Kinds\n\nGreen tea.\n- Oolong"
    assert parse_html_to_markdown("") == ""


class Handler(BaseHTTPRequestHandler):
    """One page for every address."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if "page" in self.path else "text/plain")
        self.end_headers()
        self.wfile.write(PAGE if "page" in self.path else b"plain text")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTKIT_ALLOW_PRIVATE_URLS", "true")
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


def test_an_address_is_fetched_once_and_is_the_source(server: str) -> None:
    files = get_files_from_dir([f"{server}/page", f"{server}/page", f"{server}/a.txt"])
    assert [file[1] for file in files] == [f"{server}/page", f"{server}/a.txt"]
    chunks, sources = split_files_to_chunks(files)
    assert chunks == ["Kinds\n\nGreen tea.\n- Oolong", "plain text"]
    assert sources == [{"source": f"{server}/page"}, {"source": f"{server}/a.txt"}]


def test_an_address_is_saved_where_it_is_wanted(server: str, tmp_path: Path) -> None:
    wanted = str(tmp_path / "new" / "page.md")
    assert get_file_from_url(f"{server}/page", wanted) == (wanted, f"{server}/page")
    assert Path(wanted).read_text(encoding="utf-8").startswith("# Tea")
    get_file_from_url(f"{server}/a.txt", wanted)
    assert Path(wanted).read_text(encoding="utf-8") == "plain text"


def test_an_address_that_may_not_be_fetched(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_ALLOW_PRIVATE_URLS", "false")
    with pytest.raises(FetchFailed, match="not a public address"):
        get_files_from_dir(f"{server}/page")
    with pytest.raises(FetchFailed, match="http"):
        get_files_from_dir("ftp://localhost/a.txt")
