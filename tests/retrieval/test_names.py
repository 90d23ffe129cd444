"""Names are data: any text is one, none is a path, and one bad file never costs the others."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.retrieval import Source
from agentkit.retrieval.names import file_name, to_shown_name
from tests.retrieval.conftest import OWNER, Shelf

TURNED = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
ANY = st.text(st.one_of(st.characters(), st.sampled_from(TURNED + "/\\.\0\n\r\t \ud800\udcff:")))
ODD = {
    "報" * 300 + ".txt": "報" * 300 + ".txt",
    "a\0b.txt": "ab.txt",
    "half \ud83d pair.txt": "half \N{REPLACEMENT CHARACTER} pair.txt",
    "caf\udce9.txt": "caf\N{REPLACEMENT CHARACTER}.txt",
    "line\nbreak\tand\x07bell.txt": "line break andbell.txt",
    "invoice\u202efdp.txt": "invoicefdp.txt",
    "../../etc/passwd": "../../etc/passwd",
    "C:\\Users\\ann\\x.txt": "C:\\Users\\ann\\x.txt",
    "..": "..",
    ".": ".",
    "...": "...",
    ".env": ".env",
    "CON": "CON",
    "  spaces  ": "spaces",
    "": "unnamed",
    "\0\u202e": "unnamed",
    "\u0645\u06cc\u200c\u062e.txt": "\u0645\u06cc\u200c\u062e.txt",
    "family \N{MAN}\u200d\N{WOMAN}.txt": "family \N{MAN}\u200d\N{WOMAN}.txt",
}


@pytest.mark.parametrize("given", ODD)
def test_a_name_is_kept_as_it_is_but_for_what_cannot_be_stored_or_deceives(given: str) -> None:
    assert to_shown_name(given) == ODD[given]


@given(ANY)
def test_every_name_can_be_stored_and_shown(name: str) -> None:
    shown = to_shown_name(name)
    assert 0 < len(shown) <= 1_000
    assert shown.encode().decode() == shown == to_shown_name(shown)
    assert not set(shown) & set(TURNED)
    assert not {unicodedata.category(one) for one in shown} & {"Cc", "Cs", "Zl", "Zp"}


@given(ANY, st.sampled_from(["", ".csv", ".agentkit.zip"]))
def test_every_name_makes_a_file_name_that_every_system_can_store(name: str, ending: str) -> None:
    made = file_name(name, ending)
    assert len(made.encode()) <= 160
    assert made.endswith(ending)
    assert not set(made) & set('<>:"/\\|?*')
    assert made.strip(" .") not in ("", ending.strip("."))
    assert made[0] not in ". "
    assert to_shown_name(made) == made


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("report.pdf", "report.pdf"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("Lpt1.a.b", "_Lpt1.a.b"),
        ("console.txt", "console.txt"),
        ("..", "file"),
        ("a/b:c.txt", "a_b_c.txt"),
        (".env", "env"),
        ("報" * 300 + ".pdf", "報" * 40 + ".pdf"),
        ("x." + "y" * 200, "x." + "y" * 118),
        ("a\r\nSet-Cookie: b.txt", "a  Set-Cookie_ b.txt"),
    ],
)
def test_file_names(name: str, made: str) -> None:
    assert file_name(name) == made


def test_no_name_costs_the_others(shelf: Shelf) -> None:
    sources = []
    for number, name in enumerate(ODD):
        path = shelf.files / str(number)
        path.write_text(f"This is file number {number}.", encoding="utf-8")
        sources.append(Source(name, path, f"upload:{name}"))
    done = shelf.library.ingest(OWNER, "Docs", sources)
    assert [(one.status, one.error) for one in done] == [("indexed", "")] * len(ODD)
    assert sorted(one.document for one in done) == sorted(ODD.values())
    assert {one.name for one in shelf.library.documents(OWNER, "Docs")} == set(ODD.values())
    again = shelf.library.ingest(OWNER, "Docs", sources)
    assert {one.status for one in again} == {"unchanged"}, "the same names are the same documents"


def test_paths_that_cannot_be_cost_only_themselves(shelf: Shelf) -> None:
    good = shelf.source("good.txt", "Tea is brewed at 80 degrees.")
    bad = [
        Path("報" * 300),
        Path("a\0b.txt"),
        Path("~nobody-of-this-name/x.txt"),
        Path("\udcff"),
        Path("x/" * 3_000),
    ]
    from agentkit.retrieval import sources_from_paths

    done = shelf.library.ingest(OWNER, "Docs", sources_from_paths([bad[0], good.path, *bad[1:]]))
    assert {one.document: one.status for one in done if one.status != "failed"} == {
        "good.txt": "indexed"
    }
    told = [one.error for one in done if one.status == "failed"]
    assert len(told) == len(bad)
    assert all("cannot be read at" in error and "check the path" in error for error in told)


@pytest.mark.parametrize("name", ["İzmir.md", "ΟΔΟΣ.md", "ΟΔΟΣ ΣΑΣ", "STRASSE.md", "Ärger.md"])
def test_a_document_is_found_by_its_name_in_whatever_alphabet(shelf: Shelf, name: str) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source(name, "Cats sleep.")])
    shelf.library.ingest(OWNER, "Docs", [shelf.source("other.md", "Dogs sleep.")])
    for search in (name, name.partition(" ")[0].removesuffix(".md"), name[1:]):
        assert [one.name for one in shelf.library.documents(OWNER, "Docs", search)] == [name]


def test_white_space_around_the_name_of_a_collection_leads_to_the_same_one(shelf: Shelf) -> None:
    for number, name in enumerate((" Docs ", "Docs", "\tDocs\n")):
        source = shelf.source(f"{number}.md", f"Number {number}")
        assert shelf.library.ingest(OWNER, name, [source])[0].status == "indexed"
    (found,) = shelf.library.collections(OWNER)
    assert (found.name, found.documents) == ("Docs", 3)
