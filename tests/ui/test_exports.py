"""Chats as Markdown and as a page of HTML: sources are footnotes, and what is hostile is text."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from agentkit.ui.exports import as_html, as_markdown, exchanges, plots
from agentkit.workspace.sharing.form import ChatFile
from tests.ui.chat_files import chat_file, cite, ran, said

EVIL = '<script>alert(1)</script><img src="http://evil.example/x" onerror="alert(2)">'
HOSTILE = f"""{EVIL}

![picture](http://evil.example/y.png) [go](javascript:alert(3))
[there](https://ok.example 'x" onclick="')

| a {EVIL} | b |
|---|---|
| ` {EVIL} ` | "quoted' &lt; |

```html" onload="alert(4)
{EVIL}
```

<svg onload=alert(5)> $<b>x^2</b>$ [1]
"""
_LOADED = ("src", "href", "action", "data", "srcset", "poster", "background", "style")


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.found.append((tag, dict(attrs)))


def tags(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    parser.close()
    return parser


def test_markdown_has_sources_as_footnotes_numbered_through() -> None:
    text = as_markdown.write_chat(
        chat_file(
            said("How hot?", "At 80 degrees [1], or 90 [2, 3].", cite(1, page=4), cite(2)),
            said("Why?", "As `[1]` says: it is bitter [1].", cite(1, heading="Taste")),
        )
    )
    assert text.startswith("# Tea \\*hot\\*\n\nAnswer with citations, over Kitchen · offline")
    assert "At 80 degrees [^1], or 90 [^2]\\[3\\]." in text
    assert "As `[1]` says: it is bitter [^3]." in text
    assert "\n[^1]: tea.txt, p. 4: “Steeped at 80 degrees.”\n" in text
    assert "\n[^3]: tea.txt, Taste: “" in text
    assert text.index("## You\n\nHow hot?") < text.index("## You\n\nWhy?")


def test_one_answer_is_written_the_same_way() -> None:
    answer = as_markdown.write_answer("At 80 degrees [1].", [cite(1, page=4)])
    assert answer == ("At 80 degrees [^1].\n\n[^1]: tea.txt, p. 4: “Steeped at 80 degrees.”\n")


@pytest.mark.parametrize(
    "cut",
    [
        "So:\n```python\nprint(1",
        "~~~~\n```\na\n```\n",
        "  ```\n",
        "So:\n```python\nprint(1)\n```",
        "- so\n  ```\n  print(1",
        "> ```\n> print(1",
    ],
)
def test_code_that_broke_off_ends_before_what_follows_in_markdown(cut: str) -> None:
    file = chat_file(said(cut, cut, cite(1), status="stopped"), said("Why?", "It is *bitter* [1]."))
    made = tags(MarkdownIt("commonmark").render(as_markdown.write_chat(file)))
    drawn = [tag for tag, _ in made.found]
    assert drawn.count("h2") == 4
    assert drawn.count("pre") == 2
    alone = as_markdown.write_answer(cut, [cite(1)])
    assert "<p>[^1]: tea.txt" in MarkdownIt("commonmark").render(alone)


def test_hostile_text_is_no_markup_of_markdown() -> None:
    text = as_markdown.write_chat(chat_file(said(HOSTILE, HOSTILE, cite(1, text=EVIL))))
    made = tags(MarkdownIt("commonmark", {"html": True}).render(text))
    assert {tag for tag, _ in made.found} <= {"h1", "h2", "p", "em", "code", "pre", "a", "br"}


def test_a_page_has_no_program_and_loads_nothing() -> None:
    file = chat_file(said(HOSTILE, HOSTILE, cite(1, text=HOSTILE)), title=EVIL)
    page = as_html.write_page(file)
    found = tags(page).found
    assert not {"script", "svg", "iframe", "object", "link", "form"} & {tag for tag, _ in found}
    given = [(name, value) for _, attributes in found for name, value in attributes.items()]
    assert not [name for name, _ in given if name.startswith("on")]
    loaded = {value for name, value in given if name in _LOADED}
    assert loaded == {"#source-1-1", "https://ok.example"}
    assert "default-src 'none'" in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 6


def test_a_page_has_sources_tables_code_and_formulas() -> None:
    answer = "It is $x_1^2$ [1].\n\n| a | b |\n|---|---|\n| 1 [1] | 2 |\n\n```py\nx = [1]\n```"
    page = as_html.write_page(chat_file(said("Why?", answer, cite(1, page=4))))
    assert "<code>$x_1^2$</code>" in page
    link = '<sup><a href="#source-1-1">[1]</a></sup>'
    assert f"<td>1 {link}</td>" in page
    assert "x = [1]\n</code></pre>" in page
    assert '<li id="source-1-1">[1] tea.txt, p. 4<q>Steeped at 80 degrees.</q></li>' in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_what_cells_gave_is_in_both() -> None:
    png = base64.b64encode(b"\x89PNG").decode()
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "mark": "bar",
        "title": "Fares",
        "data": {"name": "d"},
        "datasets": {"d": [{"day": 1, "euros": 3}, {"day": 2, "euros": None}]},
    }
    table = {"columns": ["a", "a"], "rows": [[1, "<b>"]], "total_rows": 900, "total_columns": 2}
    outputs = [
        {"kind": "picture", "mime": "image/png", "bytes": 4, "kept": "0" * 64 + ".png"},
        {"kind": "table", **table},
        {"kind": "chart", "spec": spec},
        {"kind": "picture", "mime": "image/png", "bytes": 4, "kept": "1" * 64 + ".png"},
        {"kind": "left_out", "what": "text", "count": 9, "why": "it is too long"},
        {"kind": "of a newer version"},
    ]
    cell = ran("plt.title('Fares by day')", outputs, [{"name": "fares.csv", "bytes": 1_500}])
    turn = said("Plot it", "There it is.")
    file = chat_file(turn, events=[cell], kept={"0" * 64 + ".png": png})
    text, page = as_markdown.write_chat(file), as_html.write_page(file)
    assert "![Plot: Fares by day][picture-1]" in text
    assert f"[picture-1]: data:image/png;base64,{png}" in text
    assert "| a (1) | a (2) |\n| --- | --- |\n| 1 | \\<b\\> |" in text
    assert "*Chart: Fares*\n\n| day | euros |\n| --- | --- |\n| 1 | 3 |\n| 2 |  |" in text
    assert f'<img alt="Plot: Fares by day" src="data:image/png;base64,{png}">' in page
    chart = re.search(r'<img alt="Chart: Fares" src="data:image/svg\+xml;base64,([^"]+)">', page)
    assert chart
    assert b">Fares</text>" in base64.b64decode(chart[1])
    assert "<summary>Its values</summary>" in page
    assert "<td>&lt;b&gt;</td>" in page
    for shown in (text.replace("\\", ""), page):
        assert "Plot: Fares by day: it is not kept." in shown
        assert "Files: fares.csv (2 kB)" in shown
        assert "text left out: it is too long." in shown


def test_a_chart_that_cannot_be_drawn_keeps_no_other_from_it() -> None:
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "mark": "bar"}
    fine = {**spec, "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
    endless = {**fine, "data": {"sequence": {"start": 0, "stop": 1e9}}}
    drawn = plots.make_svgs([fine, endless, {**spec, "mark": "nonsense"}, fine], cpu_s=1)
    assert [bool(svg) for svg in drawn] == [True, False, False, True]
    assert drawn[0] == drawn[3]
    assert plots.make_svgs([]) == []


def test_charts_are_drawn_wherever_the_app_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not what is meant')")
    monkeypatch.chdir(tmp_path)
    spec = {"mark": "bar", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
    assert plots.make_svgs([spec]) != [""]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("stopped", "Stopped: this is what had been written by then."),
        ("failed", "The answer broke off. No server answers."),
    ],
)
def test_an_answer_that_is_not_whole_says_so(status: str, told: str) -> None:
    turn = said("Why?", "Because", status=status, error="No server answers." * (status == "failed"))
    file = chat_file(turn)
    assert told in as_html.write_page(file)
    assert told in as_markdown.write_chat(file).replace("\\", "")


def test_only_the_open_branch_is_written_and_what_agents_said_is_not() -> None:
    turns = (said("First?", "One."), said("Second?", "Two.", inner="Among us."))
    file = chat_file(*turns)
    whole = json.loads(file.model_dump_json())
    whole["chat"]["head_id"] = whole["messages"][1]["id"]
    branch = ChatFile.model_validate(whole)
    assert [one.question for one in exchanges.list_exchanges(branch)] == ["First?"]
    both = exchanges.list_exchanges(file)
    assert [(one.question, one.answer) for one in both] == [("First?", "One."), ("Second?", "Two.")]
    assert "Among us." not in as_markdown.write_chat(file)


def test_an_empty_chat_is_a_page_too() -> None:
    assert "<h1>Tea *hot*</h1>" in as_html.write_page(chat_file())
    assert as_markdown.write_chat(chat_file()).startswith("# Tea")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Tea", "Tea.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ("a\0b\nc", "a b c.md"),
        ("…", "chat.md"),
        ("x" * 300, "x" * 80 + ".md"),
    ],
)
def test_files_have_harmless_names(title: str, name: str) -> None:
    assert exchanges.name_file(title, "md") == name


def test_what_an_answer_took_is_told() -> None:
    call: dict[str, Any] = {"input_tokens": 1_200, "output_tokens": 30, "cost": 0.25}
    page = as_html.write_page(chat_file(said("Why?", "So."), call=call))
    assert "small · 1,200 tokens in, 30 out · 2.0 s · $0.2500" in page


@pytest.mark.parametrize(
    "text",
    ["- a", "+ a", "1. a", "12) a", "=== a", "# a", "> a", "| a |", "*a*", "a\n- b", "![a](b)"],
)
def test_whatever_people_wrote_is_a_paragraph(text: str) -> None:
    made = tags(MarkdownIt("commonmark").render(as_markdown.escape(text)))
    assert {tag for tag, _ in made.found} == {"p"}
