"""Those that read what models write."""

from __future__ import annotations

from typing import Any

from agentkit.agents.dialog.structured_reply import _REFUSAL
from agentkit.agents.group import manager, mentions
from agentkit.agents.retrieve_chat import chunks as chat_chunks
from agentkit.agents.retrieve_chat import files as chat_files
from agentkit.agents.rewoo import actions, inputs, plan, reading
from agentkit.coding import code_blocks, command_line, legacy
from agentkit.coding.local import LocalCommandLineCodeExecutor
from agentkit.conversation.compression import citing, extraction, rendering
from agentkit.conversation.transforms.text import SentenceCompressor
from agentkit.core import fences, normal, unseen
from agentkit.core import text as core_text
from agentkit.core.address import without_login
from agentkit.core.tools import parse_arguments, to_text
from agentkit.errors import WrongArgument
from agentkit.llm.calls import failures
from agentkit.llm.offline import extractive, passages, units, words
from agentkit.llm.offline import question as asked_question
from agentkit.llm.support import check, doubt_of
from agentkit.llm.tokens.counting import count_text
from agentkit.llm.tokens.windows import truncate
from agentkit.parsers import (
    MarkdownCodeBlockParser,
    MarkdownJsonDictParser,
    MarkdownJsonObjectParser,
    MultiTaggedContentParser,
    RegexTaggedContentParser,
    TaggedContent,
    hints,
)
from tests.linear.feeding import Eater, Worst
from tests.linear.signs import (
    CODE,
    ERRORS,
    HTML,
    JSON,
    PASSAGES,
    PLANS,
    QUESTIONS,
    SENTENCES,
    TABLES,
    TAGS,
)


def _tagged(text: str) -> object:
    return MultiTaggedContentParser(
        TaggedContent("a", "<a>", "hint", "</a>", True), TaggedContent("b", "[[", "hint", "]]")
    ).parse(text)


class _Search(actions.BaseAction):
    def run(self, query: str, most: int = 1) -> str:
        """Search."""
        return query


def _parse_inputs(text: str) -> object:
    try:
        return inputs.JsonParser(_Search()).parse_inputs(text)
    except WrongArgument:
        return None


def _citations(text: str) -> object:
    message = {"role": "user", "content": text}
    return (
        citing.find_cited([message]),
        citing.find_passages([message]),
        rendering.written([message]),
    )


def _meter() -> Any:
    from agentkit.conversation.compression.meter import Meter

    return Meter("gpt-4o")


CITED = {1: ("The Danube is 2,850 kilometres long.", "rivers.md")}
CITING = [
    *(
        "[1]",
        "[1, 9]",
        "The Danube is 2,850 km long [1]. ",
        "2,850",
        "3 March 2024",
        "`",
        "**",
        "](",
    ),
    *("Anna Berg", "S-2217", " and ", "not ", "- ", "| ", "```\n", "twenty-", "1 234 ", "€", "%"),
]


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
        "core.normal.to_normal_form",
        lambda text: (normal.to_normal_form("NFKC", text), normal.to_normal_form("NFKD", text)),
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
    # agentkit.llm.support
    Eater(
        "llm.support.check",
        lambda text: check(text, CITED),
        CITING,
        worst=[
            "[1]",
            "Anna 12 km is [1] ",
            "The Danube is long [1]. ",
            Worst("](", after="[1]"),
            "\n[1] ",
        ],
    ),
    Eater(
        "llm.support passage",
        lambda text: doubt_of("The Danube is 2,850 kilometres long.", text),
        CITING,
        worst=["12 ", "3 March ", "Anna Berg ", "A, b and c; ", "$x_{", Worst("a", after=".")],
    ),
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
    Eater("parsers.hints", hints.infer_from_hint, [*JSON, "true", "false", '"a": ', "bool"]),
    # agentkit.coding
    Eater(
        "coding.MarkdownCodeExtractor",
        code_blocks.MarkdownCodeExtractor().extract_code_blocks,
        CODE,
        worst=[
            "```a\n",
            "{```sh\n```sh\n",
        ],
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
        code_blocks.infer_lang,
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
        "agents.group.mentions clearing",
        lambda text: mentions.read_clearing(text, ["Writer", "Editor"]),
        ["CLEAR HISTORY ", "Writer ", "3 ", ",", "Editor;", "clear history", "\n"],
        worst=[
            Worst("Writer ", "CLEAR HISTORY "),
            Worst("1 ", "CLEAR HISTORY "),
            Worst(" ", "CLEAR HISTORY", "x"),
        ],
    ),
    Eater(
        "agents.group.mentions mentions",
        lambda text: mentions.count_mentions(text, ["Writer_2", "Writer", "c++"]),
        ["Writer", "_2", "c++", "\\_", " "],
    ),
    Eater("agents.group.manager", manager.read_messages, JSON),
    Eater("agents.dialog.structured_reply", _REFUSAL.search, ["response_format", "tool", "_"]),
    Eater(
        "agents.retrieve_chat.chunks",
        lambda text: chat_chunks.split_text_to_chunks(text, 200),
        ["\n", "\n\n", " ", "a", "word ", "中"],
        worst=[
            "\n",
            "a",
            "  )",
        ],
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
        worst=["\n", "a\n\n\n\n"],
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
        fences.read_fenced,
        ["```", "```python\n", "\n", " ", "\t"],
        [Worst("\n", "```\n", "x"), Worst(" ", "```\n", "x"), Worst("\n```", "```\n", "x")],
    ),
    Eater("agents.rewoo.inputs", _parse_inputs, JSON),
    # agentkit.conversation
    Eater(
        "conversation.compression.citations",
        _citations,
        PASSAGES,
        worst=['<passage number="1" source="a">\n', "[1, "],
    ),
    Eater(
        "conversation.compression.extraction lines",
        lambda text: list(extraction._read_lines([{"role": "user", "content": text}])),
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
        "llm.offline.extractive",
        lambda text: extractive.parse_prompt([{"role": "user", "content": text}]),
        PASSAGES,
        worst=[Worst("\n ", "question: "), Worst(" ", "context:\n", "x\n"), "question:"],
    ),
    Eater(
        "llm.offline.units",
        lambda text: units.cut_units([passages.Passage(1, "a.pdf, p. 3, A", text)]),
        [*SENTENCES, *TABLES],
        worst=[
            "A. ",
            Worst(" ", "- ", "x"),
            Worst(" ", "-", "x"),
            Worst("-", "", "x"),
            Worst("# " + "word " * 20_000 + "\n\n"),
            Worst("x | " + "y" * 50 + "\n", "a" * 100_000 + " | " + "b" * 100_000 + "\n"),
            "- ",
            Worst(" ", "A", "b"),
        ],
    ),
    Eater(
        "llm.offline.units source",
        lambda text: units.cut_units([passages.Passage(1, text, "A sentence.")]),
        [", ", "p. ", "1", " | ", ": ", "page"],
        worst=[Worst("p. 1, ", "a, "), Worst("1", "a, p. ", "x,y")],
    ),
    Eater(
        "llm.offline.stems",
        words.stems,
        ["-", ".", "'", "a", "b-", "\u0301", "’s", "1", "ing"],
        worst=["\u0301\u0327", "a-"],
    ),
    Eater(
        "llm.offline.question",
        lambda text: asked_question.parse(text, ""),
        QUESTIONS,
        worst=[
            "price ",
            " ",
            Worst("price ", "what "),
            "what s",
            "what is about ",
        ],
    ),
    Eater(
        "llm.offline.small_talk",
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
        lambda text: truncate(text, 1000),
        ["a", " ", "\n", "1", "中", "\u0301", "-", "é"],
    ),
    Eater(
        "llm.failures.redact",
        lambda text: (
            failures.redact(text, "secret"),
            failures._shorten(text),
            failures._TOO_LONG.search(text),
        ),
        ERRORS,
        worst=["exceed", "<", "sk-"],
    ),
]
