"""Names in a text: of people, places and products by their capitals; codes such as `S-2217`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import compress, count, pairwise, product
from operator import not_

from agentkit.llm.offline.words import STOP, has_form_of, stem, without_accents
from agentkit.llm.support.dates import MONTHS, WEEKDAYS
from agentkit.llm.support.units import UNITS

_CODE = re.compile(
    r"\b(?:[A-Z][A-Za-z]*-\d[\w-]*|[A-Za-z]+\d[\w-]*|\d+[A-Za-z]+\d\w*|\d+(?:\.\d+){2,})(?![\w%])"
)
_CAPITALS = re.compile(r"[A-Z]\w+(?:(?: of| and| for| the)* [A-Z]\w+)+")
_QUARTER = re.compile("Q[1-4]")
_GLUED = re.compile(r"\d+([A-Za-z]+)")
_INITIAL = re.compile(r"(?<!\S)[A-Z]")
_TOKEN = re.compile(r"[^\W\d_](?:[\w’'.-]*\w)?")
_OPENS = re.compile(r"(?:[.!?:;…]|\n)[\s\"“„‚‘’'«»(\[*_#>•-]*\Z")
_AROUND = 12  # characters before a word that tell whether it begins a sentence
_GAP = re.compile(r"[ \u00a0]+(?:(?:of|de|der|van|von|la|del|da|di|the)[ \u00a0]+)?")
_TITLE_WORDS = "mr mrs ms dr prof sir st herr frau monsieur madame señor señora"
_OTHER_WORDS = "i i'm i'll i'd i've ok eur usd gbp chf uhr co h2o"
_TITLES_BEFORE = "herr herrn frau dr dr. prof prof. firma"
_OPENING_WORDS = (
    "before besides unlike under since although though while whereas despite however therefore"
    " moreover furthermore otherwise instead every many several another such those during within"
    " without until unless upon according given based inside outside between among across around"
    " toward towards through throughout yes after near beyond above below once later earlier today"
    " nach bei seit bis durch gegen ohne unter vor laut gemäß wegen trotz während sowie beide"
    " alle jede jeder jedes nur auch ab ende anfang mitte après avant selon depuis según desde"
    " antes"
)
_BEFORE_NAME = frozenset(_TITLES_BEFORE.split())
_OPENERS = frozenset(_OPENING_WORDS.split())
"""Words that begin a sentence with a capital without belonging to the name behind them."""
_NO_NAMES = STOP.union(_OPENERS, _TITLE_WORDS.split(), _OTHER_WORDS.split(), MONTHS, WEEKDAYS)
_COMMON = STOP.union(_OPENERS, MONTHS)
_LABEL = re.compile(r"\A\W*(?:[\w’'/-]+ ?){1,5}(?:\([^()]*\))?\s?:\s")
_OPENING = re.compile(
    rf"\A[\W\d_]*+({_TOKEN.pattern})"
    r"(?= (?:is|are|was|were|has|had|have|will|would|can|could|may|might|must|shall|should|wrote"
    r"|led|built|won|became|made|found|gave|took|held|drew|ran|began|sold|bought|paid|left"
    r"|\w{3,}(?:ed|[^su\W]s))\b)"
)
"""The first word, with a verb behind it."""
_HEADLINE = 0.6
"""Share of words with a capital from which capitals tell nothing."""
_HEADLINE_WORDS = 4
_SHORTEST = 4
"""Letters of a name that opens a sentence, and of what the forms of a name have in common."""
_LONGEST_ACRONYM = 12
"""Letters of an acronym that is looked for among neighbouring words."""


def normalize(word: str) -> str:
    """Lower case, without accents and without the `'s` of English."""
    bare = without_accents(word.lower().replace("ß", "ss"))
    return bare.removesuffix("'s").removesuffix("’s").strip("’'.-")


def find_codes(text: str) -> list[tuple[int, int]]:
    """The places of codes such as `S-2217`; a number with its unit, as `5km`, is not a code."""
    found = filter(_is_code, _CODE.finditer(text))
    return list(map(re.Match.span, found))


def find_names(text: str, language: str) -> list[str]:
    """Words that are names, in order: capitals within a sentence; in German only beside others."""
    text = _LABEL.sub("", text, count=1)
    tokens = list(_TOKEN.finditer(text))
    if _is_headline(tokens):
        return []

    stands_alone = _STANDS_ALONE.get(language, _is_within_sentence)
    words = [token[0] for token in tokens]
    told = {
        *_find_neighbours(text, tokens),
        *compress(count(), map(_is_acronym, words)),
        *filter(partial(stands_alone, text, tokens), range(1, len(tokens))),
    }
    in_order = (words[each] for each in sorted(told))
    return list(filter(_may_be_name, in_order))


def find_opening_names(text: str, language: str) -> Iterable[str]:
    """The first word when it may be a name, as in `Aspirin reduces fever`; in German none, as every
    noun has a capital.
    """
    if language == "german":
        return []
    return filter(_may_open, _OPENING.findall(text))


def _may_open(word: str) -> bool:
    """Whether a word that opens a sentence may be a name, not a plural such as `Employees`."""
    bare = normalize(word)
    return _may_be_name(word) and len(bare) >= _SHORTEST and not bare.endswith("s")


def is_mentioned(
    name: str, words: AbstractSet[str], stems: AbstractSet[str], acronyms: AbstractSet[str]
) -> bool:
    """Whether a name is in a passage, in whatever form: Germany as German, European Union as EU."""
    word = normalize(name)
    parts = frozenset(filter(None, re.split(r"[-.]", word)))
    if parts and parts <= words:
        return True
    is_known = (word in words, stem(word) in stems, word.replace("-", "") in acronyms)
    return any(is_known) or has_form_of(word, words, _SHORTEST, _count_alike)


def find_acronyms(text: str) -> set[str]:
    """First letters of neighbouring words with capitals, as `ncu` of Northgate Credit Union."""
    found: set[str] = set()
    for run in _CAPITALS.findall(text):
        letters = "".join(_INITIAL.findall(run)).lower()
        places = product(range(len(letters) - 1), range(2, _LONGEST_ACRONYM + 1))
        found |= {letters[start : start + length] for start, length in places}
    return found


def split_words(text: str) -> Iterator[str]:
    """Each word of a text as names are compared."""
    for token in _TOKEN.finditer(text):
        word = normalize(token[0])
        yield word
        yield from filter(None, re.split(r"[-.’']", word))


def _is_code(found: re.Match[str]) -> bool:
    """Whether it is a code, not a quarter such as `Q3` or a number with its unit."""
    if _QUARTER.fullmatch(found[0]):
        return False
    glued = _GLUED.fullmatch(found[0])
    return glued is None or glued[1].lower() not in UNITS


def _count_alike(shorter: int, longer: int) -> int:
    """Letters that two words of these lengths have in common where they are forms of one."""
    return max(shorter - 1, math.ceil(0.55 * longer))


def _is_headline(tokens: Sequence[re.Match[str]]) -> bool:
    """Whether so many words have a capital that capitals show no names."""
    capitals = sum(map(_is_capital, tokens))
    return len(tokens) >= _HEADLINE_WORDS and capitals > _HEADLINE * len(tokens)


def _is_capital(token: re.Match[str]) -> bool:
    return token[0][0].isupper()


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isalpha() and word.isupper()


def _may_be_name(word: str) -> bool:
    """Whether it has a capital and is not a word that often has one, such as a month."""
    return word[0].isupper() and _NO_NAMES.isdisjoint((word.lower(), normalize(word)))


def _is_within_sentence(text: str, tokens: Sequence[re.Match[str]], place: int) -> bool:
    start = tokens[place].start()
    before = text[max(0, start - _AROUND) : start]
    return _OPENS.search(before) is None


def _follows_title(text: str, tokens: Sequence[re.Match[str]], place: int) -> bool:
    return tokens[place - 1][0].lower() in _BEFORE_NAME


_STANDS_ALONE: Mapping[str, Callable[[str, Sequence[re.Match[str]], int], bool]] = {
    "german": _follows_title
}
"""Languages in which a capital within a sentence makes no name, and what does."""


def _find_neighbours(text: str, tokens: Sequence[re.Match[str]]) -> set[int]:
    """Places of words with a capital directly beside another one, as a first name and surname."""
    found: set[int] = set()
    for place, (one, two) in enumerate(pairwise(tokens)):
        if _are_neighbours(text, one, two):
            # Beside a common word a word is not part of a name.
            beside = (_is_common(two[0]), _is_common(one[0]))
            found.update(compress((place, place + 1), map(not_, beside)))
    return found


def _are_neighbours(text: str, one: re.Match[str], two: re.Match[str]) -> bool:
    """Whether both have a capital, with nothing or a word such as `von` between them."""
    has_gap = _GAP.fullmatch(text, one.end(), two.start()) is not None
    return has_gap and all(map(_is_capital, (one, two)))


def _is_common(word: str) -> bool:
    return not _COMMON.isdisjoint((normalize(word), word.lower()))
