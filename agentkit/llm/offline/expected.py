"""What an answer must look like for its question: a number for `how many`, a name for `who`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import filterfalse
from operator import itemgetter

from agentkit.llm.offline.question import Kind, Question
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import stems


def _any_of(words: str) -> str:
    """A pattern for whole words, given with blanks between; `_` stands for a blank inside one."""
    return rf"\b(?:{'|'.join(word.replace('_', ' ') for word in words.split())})\b"


_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Mondays? Tuesdays? Wednesdays? Thursdays? Fridays? Saturdays? Sundays?"
_SHORT_MONTHS = "Jan Feb Mar Apr Jun Jul Aug Sept? Oct Nov Dec"
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty"
    " fifty sixty hundred thousand million half twice once"
)
_PERIODS = (
    "seconds? minutes? hours? days? weeks? months? quarters? years? decades?"
    " annually monthly weekly daily yearly"
)
_LENGTHS = (
    "m km cm mm metres? meters? kilomet(?:er|re)s? feet ft miles? inch(?:es)?"
    " pages? words? characters?"
)
_MOMENTS = "midnight noon morning evening today tomorrow when before after until upon during"
_CLOCK = r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|a\.m\.|p\.m\.)"
_NAME = r"[A-Z][\w’'-]+ [A-Z][\w’'-]+"
_LOWER = re.IGNORECASE
_BORDER = r"\b"

_ENUMERATION = re.compile(rf", .*, |;|{_any_of('and or two three four five following several')}")
_EXPECTED: dict[Kind, re.Pattern[str]] = {
    "person": re.compile(
        rf"(?<![.!?:] )(?<!^)\b(?!{_any_of(_MONTHS + ' ' + _DAYS)})[A-ZÄÖÜ][\w’'-]+|\b{_NAME}|@"
    ),
    "time": re.compile(
        _CLOCK + "|" + _any_of(" ".join((_MONTHS, _SHORT_MONTHS, _DAYS, _MOMENTS, _PERIODS))),
        _LOWER,
    ),
    "duration": re.compile(
        rf"{_any_of(_PERIODS + ' once twice')}|(?:\d|{_any_of(_NUMBERS)}) times\b"
        rf"|\d ?{_any_of(_LENGTHS).removeprefix(_BORDER)}"
        r"|\b(?:permanent|perpetual|indefinite|forever|until|always|every)\w*\b",
        _LOWER,
    ),
    "number": re.compile(
        r"\d|" + _any_of(_NUMBERS + " free no_charge unlimited both single pair"), _LOWER
    ),
    "place": re.compile(
        _any_of("in at on to from near under into within inside beside behind above below") + "|/|@"
    ),
    "reason": re.compile(
        _any_of(
            "because since due_to so_that in_order_to therefore reason cause[sd]? as_a_result thus"
            " to_avoid to_prevent for_this otherwise leads?_to prevents? ensures? so"
        ),
        _LOWER,
    ),
    "way": re.compile(
        _any_of(
            "by using use via through must should first then click run call set press open select"
            " enter send with"
        ),
        _LOWER,
    ),
}
_DEFINING = re.compile(
    r"\A\W*+(?:an? |the |when )?(.{1,80}?)\W{0,8}(?:\([^()]{1,60}\)\W{0,8})?\s?(?::|[–—]|"
    + _any_of(
        "is are was were shall means? refers? denotes? stands? derives consists? describes defines"
        " allows? provides causes? lets"
    )
    + ")",
    _LOWER,
)


_DIGIT = re.compile(r"\d")


def measure_fit(question: Question, unit: Unit) -> float:
    """Whether the unit holds the kind of thing that is asked for, beside what the question says.

    1: it does; 0: it does not; a half: in part, or the question does not tell what it wants.
    """
    return _FITS.get(question.kind, _fit_anything)(question, unit)


def says_nothing_new(question: Question, unit: Unit) -> bool:
    """Whether it only repeats words of the question, or is too short to be a statement.

    A whole sentence that has all of them is a statement: it confirms what is asked.
    """
    said = unit.said
    if unit.shape == "sentence":
        if len(said) < 3:
            return True
        if unit.text.endswith(".") and question.known <= said:
            return False
    new = said - question.known
    if unit.shape == "row" or _DIGIT.search(unit.text):
        return not new
    return len(new) < 2


def _fit_anything(question: Question, unit: Unit) -> float:
    return 0.5


def _fit_list(question: Question, unit: Unit) -> float:
    enumerates = _ENUMERATION.search(unit.text) is not None
    return max(float(unit.is_listed), 0.5 * enumerates)


def _fit_definition(question: Question, unit: Unit) -> float:
    if _defines(question, unit):
        return 1.0
    return 0.5


def _fit_way(question: Question, unit: Unit) -> float:
    if unit.is_listed:
        return 1.0
    return _fit_form(question, unit)


def _fit_form(question: Question, unit: Unit) -> float:
    """1 if the unit has something of the expected form that the question lacks, else 0."""
    told = map(itemgetter(0), _EXPECTED[question.kind].finditer(unit.text))
    return float(any(filterfalse(partial(_stands_in, question), told)))


_FITS: dict[Kind, Callable[[Question, Unit], float]] = {
    **dict.fromkeys(_EXPECTED, _fit_form),
    "way": _fit_way,
    "list": _fit_list,
    "definition": _fit_definition,
}


def _defines(question: Question, unit: Unit) -> bool:
    """Whether the unit begins with the term that is to be defined."""
    subject = frozenset(stems("".join(_DEFINING.findall(unit.text))))
    return bool(subject) and subject <= question.known


def _stands_in(question: Question, found: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(found)}(?!\w)", question.text, _LOWER) is not None
