"""Those that read documents, files and answers about them."""

from __future__ import annotations

import json
from typing import Any

from agentkit.documents import Limits, decoding
from agentkit.documents.child import read_here
from agentkit.documents.detection import detect
from agentkit.documents.document import DocumentText, Section
from agentkit.documents.split import split as splitting
from agentkit.retrieval import names
from agentkit.retrieval.embedding.embed import FakeEmbedder
from agentkit.retrieval.evaluation import question_files
from agentkit.retrieval.index import languages, terms
from agentkit.retrieval.search import merging
from agentkit.retrieval.store import exact_search
from agentkit.teams import citing, ending, research
from agentkit.teams.extraction import forms, labels, literal, quoting, team, values
from agentkit.teams.extraction import question as table_question
from agentkit.teams.extraction.ask import _cut_pieces
from agentkit.teams.extraction.names import split_words
from agentkit.teams.werewolf import parsers as game
from agentkit.ui.shared import passage
from agentkit.ui.steps import chat, kind, words
from agentkit.ui.text import markdown
from tests.linear.feeding import Eater, Worst
from tests.linear.signs import (
    ASIAN,
    CODE,
    CSV,
    HEADINGS,
    HTML,
    JSON,
    MARKDOWN,
    QUESTIONS,
    RTF,
    SENTENCES,
    TABLES,
    TEX,
    VOTES,
    XML,
)

LIMITS = Limits()
EMBEDDER = FakeEmbedder()
STYLE = values.Style()


def _document(text: str, media: str = "text/plain") -> DocumentText:
    return DocumentText(
        text, (Section(text, 0, len(text), place="lines 1-9"),), media, "Paper", None
    )


def _read(name: str) -> Any:
    return lambda text: read_here(text.encode("utf-8", "replace"), name, LIMITS)


def _paper(text: str) -> quoting.Paper:
    return quoting.Paper("1", "paper.txt", _document(text))


SCHEMA = forms.from_text(
    "invoice number; total (number, required): the sum with tax; due date (date); "
    "state (open|paid); paid (boolean); items (list); author"
)


def _split(media: str) -> Any:
    return lambda text: splitting(_document(text, media), EMBEDDER, 200, 50)


def _ask_voter(text: str) -> object:
    parser = game.for_choice(
        "vote", "who", ["Player3", "Player4"], ["Player1", "Player2", "Player3", "Player4"]
    )
    return [
        parser.parse('{"thought": "", "vote": ' + json.dumps(each) + "}")
        for each in (text, text[:290])
    ]


def _extract_literally(text: str) -> object:
    return literal.read_literally(SCHEMA, _paper(text))


EATERS = [
    # agentkit.documents
    Eater(
        "documents.decode",
        lambda text: decoding.decode(text.encode("latin-1", "replace")),
        ["é", "\x00", "\r", "\x0b", "ÿþ", "\n"],
        worst=[Worst("a", "", "\né"), Worst("a", "é")],
    ),
    Eater(
        "documents.decode utf-16",
        lambda text: decoding.decode(text.encode("utf-16-le", "replace")),
        ["é", "\x00", "\r", "\x0b", "\n"],
    ),
    Eater(
        "documents.detect",
        lambda text: detect(text.encode("utf-8", "replace"), "a.txt"),
        ["%PDF-", "PK\x03\x04", "<html", " "],
    ),
    Eater("documents.read txt", _read("a.txt"), SENTENCES),
    Eater(
        "documents.read md",
        _read("a.md"),
        HEADINGS,
        [
            Worst("#", "# ", "x"),
            Worst(" ", "# a", "x"),
            Worst("[", "# "),
            Worst("[a](", "# "),
            Worst("[[]", "# "),
            "# a\n",
            "a\n---\n",
        ],
    ),
    Eater("documents.read rst", _read("a.rst"), HEADINGS, ["a\n---\n\n"]),
    Eater(
        "documents.read org",
        _read("a.org"),
        HEADINGS,
        [
            "* a\n",
            Worst(
                "*" * 800 + " " + "a" * 119 + "\n", "".join("*" * n + " a\n" for n in range(1, 900))
            ),
        ],
    ),
    Eater("documents.read adoc", _read("a.adoc"), HEADINGS, ["== a\n"]),
    Eater(
        "documents.read tex", _read("a.tex"), TEX, ["\\section{", "\\section[", "\\section{a}\n"]
    ),
    Eater(
        "documents.read html",
        _read("a.html"),
        HTML,
        ["<a href=", "<!--", "&", "<", "<p>a", "<td>", "<h1>a", "<b>", Worst("<i>a</i>", "<b>")],
    ),
    Eater(
        "documents.read xml",
        lambda text: _read("a.xml")("<r>" + text + "</r>"),
        XML,
        ["<a/>", "x", "<a>x</a>y", Worst("<a>", after="</a>"), "<![CDATA[", "&amp;"],
    ),
    Eater(
        "documents.read json",
        _read("a.json"),
        JSON,
        [
            Worst("[1],", "[", "[1]]"),
            Worst('"a":{"x":1},', '{"' + "K" * 200_000 + '":{', '"b":{}}}'),
            Worst("[[1],[2]],", "[" * 100, "1" + "]" * 100),
            "[",
            "1",
        ],
    ),
    Eater("documents.read jsonl", _read("a.jsonl"), JSON, ["{}\n", "[[1]]\n", "\n"]),
    Eater(
        "documents.read ipynb",
        lambda text: _read("a.ipynb")(
            json.dumps(
                {
                    "cells": [
                        {"cell_type": "markdown", "source": text},
                        {"cell_type": "code", "source": text, "outputs": [{"text": text}]},
                    ]
                }
            )
        ),
        HEADINGS,
        ["# a\n", "\n", "\x1b["],
    ),
    Eater("documents.read csv", _read("a.csv"), CSV, ['"', "a,b\n", ",", ";", "\n"]),
    Eater("documents.read tsv", _read("a.tsv"), CSV),
    Eater("documents.read py", _read("a.py"), CODE),
    Eater(
        "documents.read rtf",
        lambda text: _read("a.rtf")("{\\rtf1 " + text),
        RTF,
        ["{", "}", "\\'e4", "{\\*", "{\\fonttbl", "\\u228", "\\field", "a"],
    ),
    Eater(
        "documents.split text/plain",
        _split("text/plain"),
        SENTENCES,
        worst=[
            "\n",
            "a",
            "A. ",
            " ",
        ],
    ),
    Eater(
        "documents.split text/x-python",
        _split("text/x-python"),
        [*SENTENCES, "def ", "def f(", "class A"],
        worst=[Worst("\n", "a", ")"), Worst(" \n", "a", ")"), "async ", "\nasync "],
    ),
    Eater("documents.split text/csv", _split("text/csv"), SENTENCES),
    # agentkit.retrieval
    Eater(
        "retrieval.terms",
        lambda text: (
            terms.drop_unspaced(terms.normalise(text)),
            languages.language(text),
            sum(1 for _ in terms.pairs(text)),
            sum(1 for _ in terms.parts(text.split())),
            terms.query_pairs(terms.normalise(text)),
        ),
        ASIAN,
        worst=["\u0301\u0327", "は", "ー", "カ"],
    ),
    Eater(
        "retrieval.analyzer",
        lambda text: [
            terms.analyzer(each, bool(each)).analyze(text) for each in ("english", "german", "")
        ],
        ASIAN,
    ),
    Eater(
        "retrieval.same_content",
        lambda text: merging.same_content(text, text + " not"),
        ASIAN,
    ),
    Eater(
        "retrieval.exact_search line",
        lambda text: exact_search._line(text, len(text) // 2, len(text) // 2 + 1),
        ["\n", " "],
    ),
    Eater(
        "retrieval.names",
        lambda text: (names.to_shown_name(text), names.file_name(text), names.storable(text)),
        ["\ud800", ".", "/", " ", "\u202e", "_"],
    ),
    Eater(
        "retrieval.questions csv",
        lambda text: question_files.read_questions(
            "q.csv", ("question,expected\n" + text).encode("utf-8", "replace")
        ),
        CSV,
    ),
    Eater(
        "retrieval.questions csv bare",
        lambda text: question_files.read_questions("q.csv", text.encode("utf-8", "replace")),
        CSV,
    ),
    Eater(
        "retrieval.questions cell",
        lambda text: question_files.question_of(text, question_files._split(text)),
        ["|", "\\", "=", "1", "=9", "a"],
    ),
    Eater(
        "retrieval.questions jsonl",
        lambda text: question_files.read_questions("q.jsonl", text.encode("utf-8", "replace")),
        JSON,
    ),
    # agentkit.teams
    Eater(
        "teams.ending",
        lambda text: (ending.is_ending(text), ending.without_ending(text)),
        ["TERMINATE", "terminate", "*", "\n", " ", "`", "(", ".", "[", "a"],
        worst=["*", " ", "TERMINATE ", "\n", Worst("*", "TERMINATE")],
    ),
    Eater(
        "teams.citing.cited",
        lambda text: citing.cite_hits(text, ()),
        ["[1", ",", " ", "1", "]", "[1, "],
    ),
    Eater("teams.research.split", research.split_question, QUESTIONS, worst=[" ", "and ", ", "]),
    Eater(
        "teams.extraction.literal",
        _extract_literally,
        TABLES,
        worst=[
            "- items:\n",
            "items:\n",
            Worst("- x\n", "items:\n"),
            "author is is is ......x\n\n",
            "*",
        ],
    ),
    Eater(
        "teams.extraction.labels",
        labels.find_pairs,
        TABLES,
        worst=["*", "|", "| ", " no", "a  ", ": ", "; "],
    ),
    Eater("teams.extraction.bullets", lambda text: labels.find_bullets(text, 0), TABLES),
    Eater("teams.extraction.words", split_words, TABLES),
    Eater("teams.extraction.style", values.detect_style, TABLES),
    Eater("teams.extraction.dates", lambda text: values.find_dates(text, STYLE), TABLES),
    Eater(
        "teams.extraction.numbers",
        lambda text: values.find_numbers(text, STYLE),
        TABLES,
        worst=["12 May 2025 ", "1", "111 ", "1.", "1 of ", Worst(" ", "1", "x")],
    ),
    Eater(
        "teams.extraction.members",
        lambda text: list(values.find_choices(text, ("open", "in progress", "not-open"))),
        ["open ", "in ", "in progress", "_", "-", " ", "not-"],
        worst=["open ", Worst(" ", "in", "x"), "in"],
    ),
    Eater(
        "teams.extraction.quote",
        lambda text: _paper(text).find("a quote of it"),
        [*SENTENCES, "ﬁ", "a quote", "\u00ad", "A"],
        worst=["a quote of it", "x", "a quote of itx", "\u0301\u0327"],
    ),
    Eater(
        "teams.extraction.quote itself",
        lambda text: _paper(text).find(text[: len(text) // 2] + "b"),
        ["a", " ", "ﬁ", "A", "中"],
    ),
    Eater(
        "teams.extraction.holds",
        lambda text: quoting.holds(text, "a " + text),
        ["a", " ", "ﬁ", "A", "中"],
    ),
    Eater(
        "teams.extraction.forms",
        forms.from_text,
        [*QUESTIONS, "{", "required", "text", "|", "\t"],
        worst=[",", Worst(" ", "a", "(x) b"), "(,", Worst(",", "(")],
    ),
    Eater(
        "teams.extraction.question",
        table_question.read_stated,
        [*QUESTIONS, *JSON],
        worst=[Worst(",", "fields: (date)"), Worst(" ", "table", ":"), "table of"],
    ),
    Eater("teams.extraction.plain", team.escape_cell, [*MARKDOWN, ":a:", "+"]),
    Eater(
        "teams.extraction.pieces",
        lambda text: list(_cut_pieces(text, 6000, "gpt-4o")),
        ["\n\n", "\n", " ", "a", "中"],
    ),
    Eater("teams.werewolf", _ask_voter, VOTES),
    # agentkit.ui
    Eater("ui.markdown.prose", markdown.prose, MARKDOWN, ["\\[", "\\(", "$", "`"]),
    Eater(
        "ui.markdown.prose allowed",
        lambda text: markdown.prose(text[:100_000]),
        MARKDOWN,
        ["\\[", "\\(", "$", "`", "![", Worst("`a\n", "```\n"), "> ", "- "],
    ),
    Eater(
        "ui.markdown.answer",
        lambda text: markdown.answer(text[:100_000], "m", {1}),
        MARKDOWN,
        ["\\[", "[1", "[1,"],
    ),
    Eater(
        "ui.markdown.finished",
        lambda text: markdown.split_finished(text[:100_000]),
        MARKDOWN,
        ["\n\n", "```\n\n"],
    ),
    Eater("ui.markdown.literal", markdown.literal, MARKDOWN, ["*", " "]),
    Eater(
        "ui.passage.find_leaning",
        lambda text: passage.find_leaning(text, 1),
        [*SENTENCES, "[1]", "[1,", "[", "]"],
        worst=["a [1]", "A b. [1] ", "[1", "[1,", " [1]"],
    ),
    Eater("ui.passage.find_quotes", lambda text: passage.find_quotes(text, text[:1000]), SENTENCES),
    Eater("ui.passage.unwrap", passage.unwrap, ["\n", " "]),
    Eater("ui.draw.code", chat.without_code, ["```", "~~~", "`", "~", "\n"]),
    Eater("ui.draw.cut", kind.cut, ["```", "~~~", "`", "~", "\n", " "]),
    Eater("ui.words.lately", words.lately, MARKDOWN),
    Eater(
        "ui.markdown.cut_to_beginning",
        lambda text: markdown.cut_to_beginning(text, 700, 10),
        MARKDOWN,
    ),
]
