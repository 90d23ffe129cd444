"""The functions of agentkit that read text which somebody else wrote."""

from __future__ import annotations

import json
from typing import Any

from agentkit.agents.dialog.asking import _REFUSAL
from agentkit.agents.group import clearing, mentions, resuming
from agentkit.agents.retrieve_chat import chunks as chat_chunks
from agentkit.agents.retrieve_chat import files as chat_files
from agentkit.agents.rewoo import inputs, plan, reading
from agentkit.coding import command_line, extract, legacy
from agentkit.coding.local import LocalCommandLineCodeExecutor
from agentkit.conversation.compression import citing, extraction, rendering
from agentkit.conversation.transforms.text import SentenceCompressor
from agentkit.core import fences, normal, unseen
from agentkit.core import text as core_text
from agentkit.core.address import without_login
from agentkit.core.tools import parse_arguments, to_text
from agentkit.documents import Limits, decoding
from agentkit.documents.detection import detect
from agentkit.documents.document import DocumentText, Section
from agentkit.documents.reading import read_here
from agentkit.documents.split import split as splitting
from agentkit.llm import failures, passages
from agentkit.llm.extract import question as asked_question
from agentkit.llm.extract import request, units, words
from agentkit.llm.token_limits import truncated
from agentkit.llm.tokens import count_text
from agentkit.parsers import (
    MarkdownCodeBlockParser,
    MarkdownJsonDictParser,
    MarkdownJsonObjectParser,
    MultiTaggedContentParser,
    RegexTaggedContentParser,
    TaggedContent,
    hints,
)
from agentkit.retrieval import finding, names, question_files, terms
from agentkit.retrieval import passages as found_passages
from agentkit.retrieval.embed import FakeEmbedder
from agentkit.teams import ending, research, task
from agentkit.teams.extraction import forms, labels, literal, quoting, team, values
from agentkit.teams.extraction import question as table_question
from agentkit.teams.extraction.ask import _pieces
from agentkit.teams.werewolf import parsers as game
from agentkit.ui import draw, markdown, passage, turns
from agentkit.ui import words as drawn_words
from tests.linear.feeding import Eater, Worst

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
    "invoice number; total (number, required): the sum with tax; due date (date); state (open|paid); paid (boolean); items (list); author"
)
JSON = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "\\",
    ":",
    ",",
    "//",
    "/*",
    "*/",
    "#",
    "```",
    "```json\n",
    "~~~",
    "<think>",
    "</think>",
    "“",
    "”",
    '{"a":',
    '"a"',
    "True",
    "｛",
    "［",
    "{'",
    "\\u",
    "1e9",
    "\n",
]
CODE = [
    "```",
    "````",
    "~~~",
    "```python\n",
    "```\n",
    "`",
    "``",
    "\n",
    " ",
    "    ",
    "x",
    "# filename: ",
    "\r\n",
    "```sh\n",
    "pip install ",
    "{",
]
TAGS = ["<", ">", "</", "<a>", "</a>", "</>", "<think>", "</think>", '"', "<b>", "{", "[[", "]]"]
MARKDOWN = [
    "\\[",
    "\\(",
    "\\]",
    "\\)",
    "$",
    "$$",
    "`",
    "```",
    "~~~",
    "![",
    "[^",
    "](",
    "[1]",
    "\\",
    "\n",
    "\n\n",
    "*",
    "_",
    "<",
    ">",
    "|",
    "- ",
    "> ",
    "#",
    ":::",
    "1. ",
    "    ",
]
SENTENCES = [
    ".",
    "!",
    "?",
    "…",
    "。",
    '"',
    ")",
    "*",
    "\n",
    "\n\n",
    " ",
    "A",
    "a",
    "Mr.",
    "e.g.",
    "U.S.",
    "1.",
    "- ",
    "| ",
    " | ",
    ":",
    "\t",
    "”",
    "(",
    "a.",
]
PLANS = [
    "Plan:",
    "Plan: x\n",
    "#E1",
    "#E1 = A[",
    "#E",
    "=",
    "[",
    "]",
    "'",
    '"',
    "“",
    "\n",
    "```",
    "```\n",
    "</think>",
    "{",
    "A",
    ":",
    "＃Ｅ１",
    "\\",
    "*",
    "1.",
    " ",
]
PASSAGES = [
    '<passage number="1" source="a">\n',
    "\n</passage>",
    "<passage",
    '<passage number="1" source="',
    "<\\",
    "</passage>",
    "[1]",
    "Question: ",
    "context is:",
    "\n\n",
    "\n",
    "&amp;",
    "context",
    " ",
]
TABLES = [
    "|",
    " | ",
    "\t",
    ":",
    ": ",
    "  ",
    ";",
    ",",
    "\n",
    "Total: 12",
    "12 EUR",
    "- ",
    "1.",
    "*",
    "_",
    "a",
    "A",
    "3.5.2025",
    "12 May 2025",
    "1,234",
    "12-",
    "to ",
    "(",
    "EUR ",
    "May ",
    "=",
    "'",
    "€",
    "yes",
]
QUESTIONS = [
    "and ",
    "and what ",
    "?",
    ", ",
    ";",
    "what ",
    "how long ",
    "what's ",
    " about",
    "hi ",
    "thanks ",
    "and",
    "\n",
    "A",
    "1",
    "what are the ",
    "- ",
    "(",
    ")",
    "(date)",
    ":",
    "fields: ",
    "|",
]
HTML = [
    "<p>",
    "</p>",
    "<a href=",
    "<",
    ">",
    "&",
    "&amp;",
    "&#",
    "<!--",
    "-->",
    "<table>",
    "<tr>",
    "<td>",
    "<script>",
    "<style>",
    "<pre>",
    "<ul><li>",
    "<h1>",
    "<br>",
    "\n",
    "<div>",
    "]]>",
    "<![CDATA[",
    "<svg>",
    "<math>",
    '"',
    "<b>",
    "<title>",
    "</div>",
]
XML = ["<a>", "</a>", "<a b='", "&amp;", "<!--", "<![CDATA[", "x", "<?xml ", "\n", "<a/>"]
RTF = [
    "{",
    "}",
    "\\par ",
    "\\'e4",
    "\\u228?",
    "\\",
    "\\*",
    "\\pict",
    "\\b",
    "\\fonttbl",
    "\n",
    "\\bin99 ",
    "\\field",
    "\\fldinst HYPERLINK",
    ";",
]
TEX = ["\\section{", "\\section", "*", "[", "]", "{", "}", "\\", "\n", "%"]
HEADINGS = [
    "# ",
    "#",
    "##",
    "=",
    "-",
    "---\n",
    "***",
    "`",
    "```\n",
    "[a](",
    "](",
    "* ",
    "== ",
    "\n",
    "\t",
    " ",
    "~~~",
]
CSV = ['"', ",", ";", "\t", "|", "\n", "a,b\n", '""', "'", "question,expected\n", "=", "\\"]
ASIAN = [
    "中",
    "は",
    "が",
    "ー",
    "カ",
    "カカカ",
    "什么",
    "的",
    "目",
    "でしょう",
    "し",
    "す",
    "ä",
    "ﬁ",
    "\u0301",
    "ᄀ",
    "한",
    "ก",
    "a",
    "何",
]
ERRORS = [
    "sk-",
    "key_",
    "<",
    ">",
    "exceed",
    "exceeds tokens",
    "tokens",
    "context ",
    "maximum context",
    "*",
    "http://",
    "@",
    "//",
]
VOTES = [
    "i ",
    "vote ",
    "for ",
    "player ",
    "player 3",
    "because ",
    "the ",
    "_",
    "-",
    "1",
    "abstain",
    "none",
    "true ",
    ".",
]


def _tagged(text: str) -> object:
    return MultiTaggedContentParser(
        TaggedContent("a", "<a>", "hint", "</a>", True), TaggedContent("b", "[[", "hint", "]]")
    ).parse(text)


def _split(media: str) -> Any:
    return lambda text: splitting(_document(text, media), EMBEDDER, 200, 50)


def _citations(text: str) -> object:
    message = {"role": "user", "content": text}
    return citing.cited([message]), citing.passages([message]), rendering.written([message])


def _ask_voter(text: str) -> object:
    parser = game.choosing(
        "vote", "who", ["Player3", "Player4"], ["Player1", "Player2", "Player3", "Player4"]
    )
    return [
        parser.parse('{"thought": "", "vote": ' + json.dumps(each) + "}")
        for each in (text, text[:290])
    ]


def _extract_literally(text: str) -> object:
    return literal.literal(SCHEMA, _paper(text))


EATERS = [
    # agentkit.core
    Eater(
        "core.text.sentences",
        core_text.sentences,
        SENTENCES,
        worst=["…", ".", "A. ", Worst("…", after="x"), "\n", " \n"],
    ),
    Eater("core.unseen.reveal", unseen.reveal, ["\u202e", "\u200b", "\r\n", "\x07"]),
    Eater(
        "core.normal.normalized",
        lambda text: (normal.normalized("NFKC", text), normal.normalized("NFKD", text)),
        ["\u0301", "\u0327", "\u0345", "é", "ﬁ", "\u1100", "\u1161", "\u11a8", "か", "\u3099"],
        ["\u0301\u0327", "\u0301\u0327a", "\u0344", "\ufdfa"],
    ),
    Eater("core.address.without_login", without_login, ["//", "/", "@", "a"]),
    Eater(
        "core.tools.parse_arguments",
        parse_arguments,
        [*JSON, "\\u", "\\x"],
        worst=[Worst(" ", "```\n", "x"), Worst("\n```", "```\n", "x"), Worst("\\u", '{"a":"')],
    ),
    Eater("core.tools.to_text", to_text, ["\ud800", "a"]),
    # agentkit.parsers
    Eater("parsers.json_object", MarkdownJsonObjectParser().parse, JSON),
    Eater("parsers.json_dict", MarkdownJsonDictParser({"a": "b"}, ["a"]).parse, JSON),
    Eater("parsers.code_block", MarkdownCodeBlockParser("python").parse, CODE),
    Eater("parsers.tagged", _tagged, [*TAGS, *JSON]),
    Eater("parsers.regex_tagged", RegexTaggedContentParser(required_keys=["a"]).parse, TAGS),
    Eater(
        "parsers.regex_tagged own",
        RegexTaggedContentParser(r"\[(?P<name>\w+)\](?P<content>.*?)\[/\1\]").parse,
        ["[a]", "[/a]", "[", "]"],
    ),
    Eater("parsers.hints", hints.shape_of_hint, [*JSON, "true", "false", '"a": ', "bool"]),
    # agentkit.coding
    Eater(
        "coding.extract.MarkdownCodeExtractor",
        extract.MarkdownCodeExtractor().extract_code_blocks,
        CODE,
        worst=["```a\n", "{```sh\n```sh\n", "~~~\n```\n"],
    ),
    Eater("coding.legacy.extract_code", legacy.extract_code, CODE),
    Eater(
        "coding.legacy.extract_code single",
        lambda text: legacy.extract_code(text, detect_single_line_code=True),
        CODE,
        worst=["```\n", "```", Worst(" ", "```"), "```a\nb"],
    ),
    Eater(
        "coding.infer_lang",
        extract.infer_lang,
        [
            "(",
            "[",
            "\\\n",
            "'",
            '"""',
            "f'{",
            "pip ",
            "python ",
            "-",
            "lambda:",
            "not ",
            "\n ",
            "if x:\n",
            "#",
            "0",
            "x=",
            "a.",
            "@",
        ],
    ),
    Eater(
        "coding.file_name_in",
        command_line.file_name_in,
        ["# ", "#", "filename:", "<!-- ", " -->", "/* ", " */", "// ", ".", "a.b", "/", " ", "-"],
    ),
    Eater(
        "coding.silence_pip",
        lambda text: [command_line.silence_pip(text, each) for each in ("sh", "python")],
        ["pip install", "pip3 install ", "python -m ", "python3.", "!", "%", " ", "\t", "\n", "-q"],
    ),
    Eater(
        "coding.sanitize_command",
        lambda text: [
            LocalCommandLineCodeExecutor.sanitize_command(each, text) for each in ("sh", "python")
        ],
        [
            "rm -rf ",
            "rm ",
            "dd ",
            "> ",
            "mv ",
            ":(){",
            ";",
            "&",
            "|",
            "/dev/",
            "sudo ",
            "-",
            "/",
            ":",
            " ",
        ],
        worst=["rm ", "mv ", "dd ", "rm -x ", "> ", "a", "a("],
    ),
    # agentkit.agents
    Eater(
        "agents.group.clearing",
        lambda text: clearing.read(text, ["Writer", "Editor"]),
        ["CLEAR HISTORY ", "Writer ", "3 ", ",", "Editor;", "clear history", "\n"],
        worst=[
            Worst("Writer ", "CLEAR HISTORY "),
            Worst("1 ", "CLEAR HISTORY "),
            Worst(" ", "CLEAR HISTORY", "x"),
        ],
    ),
    Eater(
        "agents.group.mentions",
        lambda text: mentions.mentions(text, ["Writer_2", "Writer", "c++"]),
        ["Writer", "_2", "c++", "\\_", " "],
    ),
    Eater("agents.group.resuming", resuming.parsed, JSON),
    Eater("agents.dialog.asking", _REFUSAL.search, ["response_format", "tool", "_"]),
    Eater(
        "agents.retrieve_chat.chunks",
        lambda text: chat_chunks.split_text_to_chunks(text, 200),
        ["\n", "\n\n", " ", "a", "word ", "中"],
        worst=["\n", "a", "a-́", "  )", "a\n\n"],
    ),
    Eater(
        "agents.retrieve_chat.chunks one_line",
        lambda text: chat_chunks.split_text_to_chunks(text, 200, "one_line"),
        ["\n", " ", "a", "word "],
    ),
    Eater(
        "agents.retrieve_chat.chunks overlap",
        lambda text: chat_chunks.split_text_to_chunks(text, 4000, overlap=3),
        ["\n", " ", "a", "word ", "\n\n"],
        worst=["\n", "a", "a\n", "a\n\n\n\n"],
    ),
    Eater("agents.retrieve_chat.html", chat_files.parse_html_to_markdown, HTML),
    Eater("agents.rewoo.parse_plan", lambda text: reading.parse_plan(text, ["A", "B"]), PLANS),
    Eater(
        "agents.rewoo.fill",
        lambda text: plan.fill(text, {"#E1": "x"}),
        ["#E1", "#E", '"', "{", "[", "\\", "```\n", "```", "\n", " "],
        worst=[Worst('\\"', "{"), Worst(" ", "```\n", "x"), Worst("#E1 ", '{"')],
    ),
    Eater(
        "core.fences.unfenced",
        fences.unfenced,
        ["```", "```python\n", "\n", " ", "\t"],
        [Worst("\n", "```\n", "x"), Worst(" ", "```\n", "x"), Worst("\n```", "```\n", "x")],
    ),
    Eater("agents.rewoo.no_object", inputs._no_object, JSON),
    # agentkit.conversation
    Eater(
        "conversation.compression.citations",
        _citations,
        PASSAGES,
        worst=['<passage number="1" source="a">\n', "[1, "],
    ),
    Eater(
        "conversation.compression.extraction lines",
        lambda text: list(extraction._lines([{"role": "user", "content": text}])),
        SENTENCES,
    ),
    Eater(
        "conversation.compression.extraction repeats",
        lambda text: extraction.extract([{"role": "user", "content": text}], 2000, _meter()),
        SENTENCES,
    ),
    Eater(
        "conversation.transforms.SentenceCompressor", SentenceCompressor().compress_text, SENTENCES
    ),
    # agentkit.llm
    Eater(
        "llm.passages",
        lambda text: (passages.parse_passages(text), passages.without_passages(text)),
        PASSAGES,
        worst=[
            '<passage number="1" source="a">\n',
            "\n</passage>",
            '<passage number="1" source="a',
        ],
    ),
    Eater(
        "llm.format_passages",
        lambda text: passages.format_passages([passages.Passage(1, text, text)]),
        PASSAGES,
    ),
    Eater(
        "llm.extract.request",
        lambda text: request.read([{"role": "user", "content": text}]),
        PASSAGES,
        worst=[Worst("\n ", "question: "), Worst(" ", "context:\n", "x\n"), "question:"],
    ),
    Eater(
        "llm.extract.units",
        lambda text: units.cut([passages.Passage(1, "a.pdf, p. 3, A", text)]),
        [*SENTENCES, *TABLES],
        worst=[
            "A. ",
            Worst(" ", "- ", "x"),
            Worst(" ", "-", "x"),
            Worst("-", "", "x"),
            Worst("A. ", "# " + "word " * 20_000 + "\n\n"),
            Worst("x | y\n", "a" * 100_000 + " | " + "b" * 100_000 + "\n"),
            "- ",
            Worst(" ", "A", "b"),
        ],
    ),
    Eater(
        "llm.extract.units source",
        lambda text: units.cut([passages.Passage(1, text, "A sentence.")]),
        [", ", "p. ", "1", " | ", ": ", "page"],
        worst=[Worst("p. 1, ", "a, "), Worst("1", "a, p. ", "x,y")],
    ),
    Eater(
        "llm.extract.stems",
        words.stems,
        ["-", ".", "'", "a", "b-", "\u0301", "’s", "1", "ing"],
        worst=["̧́", "a-"],
    ),
    Eater(
        "llm.extract.question",
        lambda text: asked_question.parse(text, ""),
        QUESTIONS,
        worst=["price ", " ", Worst("price ", "what "), "what s", "what is about ", "̧́"],
    ),
    Eater(
        "llm.extract.small_talk",
        lambda text: (asked_question.is_small_talk(text), asked_question.asks_for_summary(text)),
        QUESTIONS,
    ),
    Eater(
        "llm.tokens gpt-4o",
        lambda text: count_text(text, "gpt-4o"),
        ["a", " ", "\n", "1", "中", "\u0301", "-", "é", "A", "!"],
        worst=["a", " ", "\n", "中"],
    ),
    Eater(
        "llm.tokens unknown",
        lambda text: count_text(text, "my-model"),
        ["a", " ", "\n", "1", "中", "\u0301", "-", "é"],
    ),
    Eater(
        "llm.truncated",
        lambda text: truncated(text, 1000),
        ["a", " ", "\n", "1", "中", "\u0301", "-", "é"],
    ),
    Eater(
        "llm.failures.redacted",
        lambda text: (
            failures.redacted(text, "secret"),
            failures._line(text),
            failures._TOO_LONG.search(text),
        ),
        ERRORS,
        worst=["exceed", "<", "sk-"],
    ),
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
            Worst("[[1],[2]],", "[" * 300, "1" + "]" * 300),
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
        worst=["\n", "a", "A. ", " ", "…"],
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
            terms.spaced(terms.normal(text)),
            terms.language(text),
            sum(1 for _ in terms.pairs(text)),
            sum(1 for _ in terms.parts(text.split())),
            terms.asked_pairs(terms.normal(text)),
        ),
        ASIAN,
        worst=["̧́", "は", "ー", "カ"],
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
        lambda text: found_passages.same_content(text, text + " not"),
        ASIAN,
    ),
    Eater(
        "retrieval.finding line",
        lambda text: finding._line(text, len(text) // 2, len(text) // 2 + 1),
        ["\n", " "],
    ),
    Eater(
        "retrieval.names",
        lambda text: (names.shown_name(text), names.file_name(text), names.storable(text)),
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
        lambda text: question_files.question_of(text, question_files._parted(text)),
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
        "teams.task.cited", lambda text: task.cited(text, ()), ["[1", ",", " ", "1", "]", "[1, "]
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
            "total 12\n",
            "*",
            "open ",
            "due date: 3.5.2025\n",
            "1",
            "total: x\n\n\n",
        ],
    ),
    Eater(
        "teams.extraction.labels",
        labels.pairs,
        TABLES,
        worst=["*", "|", "| ", " no", "a  ", ": ", "; "],
    ),
    Eater("teams.extraction.bullets", lambda text: labels.bullets(text, 0), TABLES),
    Eater("teams.extraction.words", labels.words, TABLES),
    Eater("teams.extraction.style", values.style_of, TABLES),
    Eater("teams.extraction.dates", lambda text: values.dates(text, STYLE), TABLES),
    Eater(
        "teams.extraction.numbers",
        lambda text: values.numbers(text, STYLE),
        TABLES,
        worst=["12 May 2025 ", "1", "111 ", "1.", "1 of ", Worst(" ", "1", "x")],
    ),
    Eater(
        "teams.extraction.members",
        lambda text: list(values.members(text, ("open", "in progress", "not-open"))),
        ["open ", "in ", "in progress", "_", "-", " ", "not-"],
        worst=["open ", Worst(" ", "in", "x"), "in"],
    ),
    Eater(
        "teams.extraction.quote",
        lambda text: _paper(text).find("a quote of it"),
        [*SENTENCES, "ﬁ", "a quote", "\u00ad", "A"],
        worst=["a quote of it", "x", "a quote of itx", "̧́"],
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
        worst=[",", Worst(" ", "a", "(x) b"), "(,", "a,", "a;", Worst(",", "(")],
    ),
    Eater(
        "teams.extraction.question",
        table_question._stated,
        [*QUESTIONS, *JSON],
        worst=[Worst(",", "fields: (date)"), Worst(" ", "table", ":"), "table of"],
    ),
    Eater("teams.extraction.plain", team.plain, [*MARKDOWN, ":a:", "+"]),
    Eater(
        "teams.extraction.pieces",
        lambda text: list(_pieces(text, 6000, "gpt-4o")),
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
        lambda text: markdown.finished(text[:100_000]),
        MARKDOWN,
        ["\n\n", "```\n\n"],
    ),
    Eater("ui.markdown.literal", markdown.literal, MARKDOWN, ["*", " "]),
    Eater("ui.words.breakable", drawn_words.breakable, ["a", " ", "x" * 999 + " "]),
    Eater(
        "ui.passage.leaning",
        lambda text: passage.leaning(text, 1),
        [*SENTENCES, "[1]", "[1,", "[", "]"],
        worst=["a [1]", "A b. [1] ", "[1", "[1,", " [1]"],
    ),
    Eater(
        "ui.passage.mark_sentence", lambda text: passage.mark_sentence(text, text[:1000]), SENTENCES
    ),
    Eater("ui.passage.unwrapped", passage.unwrapped, ["\n", " "]),
    Eater(
        "ui.draw.code", lambda text: draw._CODE_BLOCK.sub("", text), ["```", "~~~", "`", "~", "\n"]
    ),
    Eater("ui.draw.cut", draw._cut, ["```", "~~~", "`", "~", "\n", " "]),
    Eater("ui.turns.lately", turns.lately, MARKDOWN),
]


def _meter() -> Any:
    from agentkit.conversation.compression.meter import Meter

    return Meter("gpt-4o")
