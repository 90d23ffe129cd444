"""Milliseconds that the parsers take for long replies: `python -m tests.bench.bench_parsers [--runs
N]`.

First what models write, 1 MB of it for each parser. Then what they do not write: texts made to be
slow, at 250 KB and at 1 MB; four times the text should take about four times as long, whether it is
parsed or refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Mapping

from agentkit.errors import ResponseParsingError
from agentkit.parsers import (
    MarkdownCodeBlockParser,
    MarkdownJsonDictParser,
    MarkdownJsonObjectParser,
    MultiTaggedContentParser,
    ParserBase,
    RegexTaggedContentParser,
    TaggedContent,
)

LIMIT_MS = 50.0
QUARTER, WHOLE = 250_000, 1_000_000
PROSE = 'The council met in {place} [1]; it "agreed" on 3 of the 4 points, and `x < y` holds. '


def filled(size: int, part: str) -> str:
    return (part * (size // len(part) + 1))[:size]


def records(size: int) -> str:
    """JSON of that size: an object with a list of nested objects, and texts with quotes, braces and
    fences in them.
    """
    record = {
        "id": 1,
        "said": 'He wrote: "{a}" and ```json {} ```',
        "place": {"x": 1.5, "tags": ["a", "b"], "deep": {"y": [1, 2]}},
    }
    one = json.dumps(record)
    return json.dumps({"speak": "x", "rows": [record] * (size // len(one))}, indent=1)[:-1] + "}"


def usual() -> dict[str, tuple[ParserBase, str]]:
    """What is parsed -> the parser and 1 MB of text for it."""
    text, code = filled(WHOLE, PROSE + "\n"), filled(WHOLE, "x = {'a': [1, 2]}  # `x`\n")
    loose = (
        "["
        + "{'name': 'Ann Lee', 'said': 'I am \"fine\" {a}', 'age': 3, 'ok': True,},\n"
        * (WHOLE // 71)
        + "]"
    )
    tagged = MultiTaggedContentParser(
        TaggedContent("speak", "<speak>", "", "</speak>"),
        TaggedContent("json", "<json>", "", "</json>", parse_json=True),
    )
    fields = "".join(f"<field{number}>{PROSE}</field{number}>\n" for number in range(WHOLE // 120))
    return {
        "dict, bare": (MarkdownJsonDictParser(), records(WHOLE)),
        "dict, in a fence": (
            MarkdownJsonDictParser(required_keys=["speak"]),
            f"Sure.\n```json\n{records(WHOLE)}\n```\nDone.",
        ),
        "dict, behind an example": (
            MarkdownJsonDictParser(),
            '```json\n{"speak": "like this"}\n```\n' + f"```json\n{records(WHOLE)}\n```",
        ),
        "dict, behind reasoning": (
            MarkdownJsonDictParser(),
            f"<think>{text}</think>" + '{"speak": 1}',
        ),
        "dict, at the end of prose": (
            MarkdownJsonDictParser(),
            text + '```json\n{"speak": 1}\n```',
        ),
        "object, repaired": (MarkdownJsonObjectParser(), loose),
        "code block": (MarkdownCodeBlockParser("python"), f"Here:\n```python\n{code}\n```"),
        "tags": (tagged, f"<speak>{text[: WHOLE // 2]}</speak><json>{records(WHOLE // 2)}</json>"),
        "regex, default pattern": (RegexTaggedContentParser(), fields),
        "regex, own pattern": (
            RegexTaggedContentParser(r"\[(?P<name>\w+)\](?P<content>[^\[]*)"),
            filled(WHOLE, "[a]" + PROSE.replace("[", "(") + "\n"),
        ),
    }


HOSTILE: Mapping[str, str] = {
    "open braces": "{",
    "open brackets and quotes": '["',
    "keys that never end": '{"a": ',
    "small objects": '{"a": 1} ',
    "empty objects": "{}",
    "open fences": "```json\n{\n",
    "fences in fences": "```json\n```python\n~~~\n",
    "fences in a line": "a ```x\n",
    "backticks": "`",
    "fences of many lengths": "`````a\n````b\n",
    "backslashes in a string": '{"\\',
    "escaped quotes in prose": '[\\"',
    "prose in brackets": '[so "he',
    "brackets that do not match": "{[}]",
    "quotes of all kinds": "{“a‘'",
    "open tags": "<think",
    "tags that never end": "<a><b>",
    "closing tags": "</a></",
    "less-than signs": "<",
    "blanks": " \n",
}


def parsers() -> dict[str, ParserBase]:
    return {
        "dict": MarkdownJsonDictParser(required_keys=["speak"]),
        "code": MarkdownCodeBlockParser("python"),
        "tags": MultiTaggedContentParser(
            TaggedContent("json", "<json>", "", "</json>", parse_json=True)
        ),
        "regex": RegexTaggedContentParser(required_keys=["speak"]),
    }


def milliseconds(parser: ParserBase, text: str, runs: int) -> float:
    """Processor time of the fastest run."""
    took = []
    for _ in range(runs):
        began = time.process_time()
        with contextlib.suppress(ResponseParsingError):
            parser.parse(text)
        took.append((time.process_time() - began) * 1e3)
    return min(took)


def main() -> None:
    options = argparse.ArgumentParser(
        description="Milliseconds that the parsers take for long replies."
    )
    options.add_argument("--runs", type=int, default=5, help="of these the fastest counts")
    runs = options.parse_args().runs
    print(f"1 MB of                          ms   of the {LIMIT_MS:.0f} ms")
    for name, (parser, text) in usual().items():
        parser.parse(text)  # raises when it is not parsed: then the figure would mean nothing
        took = milliseconds(parser, text, runs)
        print(f"{name:28}{took:8.1f}{took / LIMIT_MS:12.2f}")
    print(f"\n{'hostile':30}{'parser':8}{'250 KB, ms':>12}{'1 MB, ms':>12}{'ratio':>8}")
    for kind, part in HOSTILE.items():
        for name, parser in parsers().items():
            small, large = (
                milliseconds(parser, filled(size, part), min(runs, 3)) for size in (QUARTER, WHOLE)
            )
            print(f"{kind:30}{name:8}{small:12.1f}{large:12.1f}{large / max(small, 0.1):8.1f}")


if __name__ == "__main__":
    main()
