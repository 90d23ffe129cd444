"""Question sets as files: CSV for spreadsheets, JSON lines for programs.

A CSV has the columns `question` and `expected`: names of documents separated by `|`, one that
    answers better than others as
`name=2`. In JSON lines each line is an object with `question` and `expected`, a list of names or an
object of names and grades.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agentkit.core.given import is_list_of
from agentkit.errors import ConfigError
from agentkit.retrieval.store.questions import Question

_HEADER = ("question", "expected")
_GRADED = re.compile(r"(.*)=(\d{1,9})", re.DOTALL)
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a text begins that a spreadsheet would run; it gets an apostrophe in front, which is taken
away again.
"""


def read_questions(name: str, data: bytes) -> list[Question]:
    """The questions of a file, by the ending of its name: `.jsonl` or `.json` lines, else CSV.

    Raises ConfigError that names the line when the file cannot be understood.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{name} is not text in UTF-8 (byte {error.start:,}); save it as CSV in UTF-8."
        ) from error
    if name.lower().endswith((".jsonl", ".json", ".ndjson")):
        found = list(_read_json_lines(name, text))
    else:
        found = list(_read_csv(name, text))
    if not found:
        raise ConfigError(
            f"{name} has no questions; give one a line, with the documents that answer it."
        )
    return found


def to_csv(questions: Iterable[Question]) -> str:
    """The questions as CSV that `read_questions` reads."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(_HEADER)
    for one in questions:
        names = "|".join(_escape(entry) for entry in entries(one))
        writer.writerow([_escape_formula(one.text), _escape_formula(names)])
    return table.getvalue()


def to_json_lines(questions: Iterable[Question]) -> str:
    """The questions as JSON lines that `read_questions` reads."""
    lines = (
        json.dumps({"question": one.text, "expected": dict(one.expected)}, ensure_ascii=False)
        for one in questions
    )
    return "".join(f"{line}\n" for line in lines)


def entries(question: Question) -> list[str]:
    """The expected documents as they are written."""
    return [format_expected(name, grade) for name, grade in question.expected.items()]


def format_expected(name: str, grade: int) -> str:
    """An expected document as it is written: `name`, or `name=2` where the grade is another than
    1.
    """
    if grade == 1 and not _GRADED.fullmatch(name):
        return name
    return f"{name}={grade}"


def question_of(text: str, documents: Iterable[str]) -> Question:
    """The question with expected documents as `written` makes them; raises ConfigError."""
    expected: dict[str, int] = {}
    for entry in documents:
        name, grade = _read_entry(entry)
        if name:
            expected[name] = grade
    return Question(text.strip(), expected)


def _read_entry(entry: str) -> tuple[str, int]:
    """Name and grade of an expected document that is written so."""
    graded = _GRADED.fullmatch(entry)
    if graded is None:
        return entry.strip(), 1
    return graded[1].strip(), int(graded[2])


def sample_questions(data: str) -> list[Question]:
    """The questions of the samples' own list that a sample document answers."""
    return [
        Question(one["question"], {one["document"]: 1})
        for one in json.loads(data)
        if one.get("document")
    ]


def _read_csv(name: str, text: str) -> Iterator[Question]:
    first = text.lstrip().partition("\n")[0].lower()
    delimiter = ";" if re.match(r'"?question"?;', first) else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = (row for row in reader if "".join(row).strip())
    try:
        header = next(rows, None)
        if header is None:
            return
        columns = _find_columns(name, header)
        for row in rows:
            yield _read_row(f"{name} line {reader.line_num:,}", row, columns)
    except csv.Error as error:
        raise ConfigError(
            f"{name} line {reader.line_num:,} is not CSV ({error}); save it as CSV in UTF-8."
        ) from error


def _find_columns(name: str, row: Sequence[str]) -> tuple[int, int]:
    names = [cell.strip().lower() for cell in row]
    try:
        return names.index(_HEADER[0]), names.index(_HEADER[1])
    except ValueError:
        raise ConfigError(
            f"{name} begins with {', '.join(row)!r}; its first line must name the columns"
            f" {', '.join(_HEADER)}."
        ) from None


def _read_row(where: str, row: Sequence[str], columns: tuple[int, int]) -> Question:
    if len(row) <= max(columns):
        raise ConfigError(
            f"{where} has {len(row):,} cells; it must have a question and its expected documents."
        )
    text, names = (_unescape_formula(row[column]) for column in columns)
    with _locate_errors(where):
        return question_of(text, _split(names))


@contextmanager
def _locate_errors(where: str) -> Iterator[None]:
    """Say in a ConfigError of the block where in the file it is."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _read_json_lines(name: str, text: str) -> Iterator[Question]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _read_object(f"{name} line {number:,}", line)


def _read_object(where: str, line: str) -> Question:
    try:
        value: Any = json.loads(line)
        text, expected = value["question"], _with_grades(value["expected"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(
            f"{where} is not a JSON object with question and expected ({type(error).__name__}:"
            f" {error})."
        ) from error
    if not isinstance(text, str) or not isinstance(expected, dict):
        raise ConfigError(
            f"{where} has question {text!r:.80}, expected {expected!r:.80}; give a text, and names"
            " or names with grades."
        )
    with _locate_errors(where):
        return Question(text, expected)


def _with_grades(expected: object) -> object:
    """A name or names as names with the grade 1; anything else stays as it is."""
    if isinstance(expected, str):
        return {expected: 1}
    if not is_list_of(expected, str):
        return expected
    return dict.fromkeys(expected, 1)


def _escape(entry: str) -> str:
    return re.sub(r"([\\|])", r"\\\1", entry)


def _split(text: str) -> list[str]:
    """The expected documents that stand between `|`."""
    parts = re.findall(r"(?:\\[\\|]|[^|])+", text)
    return [re.sub(r"\\([\\|])", r"\1", part).strip() for part in parts]


def _escape_formula(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _unescape_formula(text: str) -> str:
    """The text that `_harmless` was given."""
    if text.startswith("'") and _FORMULA.match(text):
        return text[1:]
    return text
