"""What an answer must look like for its question: a number for `how many`, a name for `who`, a definition, a statement."""

from __future__ import annotations

import re

from agentkit.llm.offline.question import Kind, Question
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import stems


def _any_of(words: str) -> str:
    """A pattern for whole words, given with blanks between them; `_` stands for a blank inside one."""
    return rf"\b(?:{'|'.join(word.replace('_', ' ') for word in words.split())})\b"


_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Mondays? Tuesdays? Wednesdays? Thursdays? Fridays? Saturdays? Sundays?"
_SHORT_MONTHS = "Jan Feb Mar Apr Jun Jul Aug Sept? Oct Nov Dec"
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred thousand"
    " million half twice once"
)
_PERIODS = "seconds? minutes? hours? days? weeks? months? quarters? years? decades? annually monthly weekly daily yearly"
_LENGTHS = "m km cm mm metres? meters? kilomet(?:er|re)s? feet ft miles? inch(?:es)? pages? words? characters?"
_MOMENTS = "midnight noon morning evening today tomorrow when before after until upon during"
_CLOCK = r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|a\.m\.|p\.m\.)"
_NAME = r"[A-Z][\w’'-]+ [A-Z][\w’'-]+"
_LOWER = re.IGNORECASE
_BORDER = r"\b"

_MEASURED = ("number", "time", "duration", "person")
_ROLE = re.compile(r"\b\w{3,}(?:or|er|ist|ee|ian|man|woman|lord|head|staff|team|one|body|director|office)s?\b")
_ENUMERATION = re.compile(rf", .*, |;|{_any_of('and or two three four five following several')}")
_EXPECTED: dict[Kind, re.Pattern[str]] = {
    "person": re.compile(rf"(?<![.!?:] )(?<!^)\b(?!{_any_of(_MONTHS + ' ' + _DAYS)})[A-ZÄÖÜ][\w’'-]+|\b{_NAME}|@"),
    "time": re.compile(rf"{_CLOCK}|{_any_of(' '.join((_MONTHS, _SHORT_MONTHS, _DAYS, _MOMENTS, _PERIODS)))}", _LOWER),
    "duration": re.compile(
        rf"{_any_of(_PERIODS + ' once twice')}|(?:\d|{_any_of(_NUMBERS)}) times\b"
        rf"|\d ?{_any_of(_LENGTHS).removeprefix(_BORDER)}"
        r"|\b(?:permanent|perpetual|indefinite|forever|until|always|every)\w*\b",
        _LOWER,
    ),
    "number": re.compile(rf"\d|{_any_of(_NUMBERS + ' free no_charge unlimited both single pair')}", _LOWER),
    "place": re.compile(_any_of("in at on to from near under into within inside beside behind above below") + "|/|@"),
    "reason": re.compile(
        _any_of(
            "because since due_to so_that in_order_to therefore reason cause[sd]? as_a_result thus to_avoid to_prevent for_this"
            " otherwise leads?_to prevents? ensures? so"
        ),
        _LOWER,
    ),
    "way": re.compile(
        _any_of("by using use via through must should first then click run call set press open select enter send with"), _LOWER
    ),
}
_BEHIND_NAME = re.compile(rf"{_NAME},? (?:is |was |as )?(?:\(|the |an? |our )?([a-z]\w+)")
_BEFORE_NAME = re.compile(rf"\b([A-Za-z]\w+)(?: is| was|:|,|)? (?:(?:Mr|Ms|Mrs|Dr)\.? )?{_NAME}")
_DEFINING = re.compile(
    r"\A\W*+(?:an? |the |when )?(.{1,80}?)\W{0,8}(?:\([^()]{1,60}\)\W{0,8})?\s?(?::|[–—]|"
    + _any_of(
        "is are was were shall means? refers? denotes? stands? derives consists? describes defines allows? provides causes? lets"
    )
    + ")",
    _LOWER,
)
_KEY_AND_VALUE = re.compile(r"[^.:]{2,40}: \S")


def fit(question: Question, unit: Unit) -> float:
    """Whether the unit holds the kind of thing that is asked for, beside what the question itself says: 0 to 1."""
    if question.kind == "list":
        return 1.0 if unit.group >= 0 else 0.7 if _ENUMERATION.search(unit.text) else 0.2
    pattern = _EXPECTED.get(question.kind)
    if pattern is None:
        return 0.5
    if any(not _said(found.group(), question) for found in pattern.finditer(unit.text)):
        return 1.0
    in_list = question.kind == "way" and unit.group >= 0
    in_role = question.kind == "person" and any(not _said(found.group(), question) for found in _ROLE.finditer(unit.text))
    return 1.0 if in_list else 0.6 if in_role else 0.0


def defines_subject(question: Question, unit: Unit) -> float:
    """1 where a definition is asked for and the unit begins with what is to be defined, or a person by the side of the role."""
    if question.kind == "person":
        found = _BEHIND_NAME.findall(unit.text) + _BEFORE_NAME.findall(unit.text)
        return 1.0 if any(stem in question.stems for role in found for stem in stems(role)) else 0.0
    if question.kind != "definition":
        return 0.0
    begun = _DEFINING.match(unit.text)
    if begun is None:
        return 0.0
    subject = set(stems(begun[1]))
    return 1.0 if subject and subject <= set(question.stems) | set(question.borrowed) else 0.0


def _said(found: str, question: Question) -> bool:
    return found.lower() in question.text.lower()


def lacks_measure(question: Question, fits: float) -> bool:
    """Whether a number, a time or a name is asked for and there is none."""
    return fits == 0.0 and question.kind in _MEASURED


def is_fragment(unit: Unit) -> bool:
    """Whether it is no whole sentence: a title, a piece of code, a line that goes on elsewhere."""
    return (
        unit.shape in ("sentence", "heading") and _KEY_AND_VALUE.match(unit.text) is None and unit.text[-1] not in '.!:;)"”»。！'
    )


def says_nothing_new(question: Question, unit: Unit) -> bool:
    """Whether it only repeats the words of the question, or is hardly a statement at all."""
    known = set(question.stems) | set(question.borrowed)
    return (len(unit.stems) < 3 and unit.shape == "sentence") or len(unit.stems - known) < (
        1 if unit.shape == "row" or re.search(r"\d", unit.text) else 2
    )


def looks_like_code(text: str) -> float:
    """0 for prose to 1 for code, links and other signs."""
    signs = sum(not (letter.isalnum() or letter.isspace() or letter in ".,;:'’\"“”()-–%€$£") for letter in text)
    return min(1.0, 8.0 * max(0.0, signs / (len(text) or 1) - 0.03))
