"""What the lexical index knows of a text: stems of its words, parts of German ones, and pairs of
characters.

Text is brought to one form first (Unicode NFKC: full and half width, ligatures). What is written
without spaces is indexed by single characters and overlapping pairs, which need no dictionary (Nie,
Gao, Zhang and Zhou 2000, "On the use of words and n-grams for Chinese information retrieval").
Words are stemmed in their language, and the four-letter parts of German ones find what stands in
compounds (McNamee and Mayfield 2004, "Character n-gram tokenization for European language text
retrieval").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from agentkit.core.normal import to_normal_form
from agentkit.retrieval.index.languages import WITHOUT_STOP_WORDS

PART = 4
"""Letters of a part of a German word."""

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30ff"
_OTHERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uac00-\ud7af"
"""Thai, Lao, Burmese, Khmer and Hangul."""
_UNSPACED = re.compile(f"[{_HAN}{_HIRAGANA}{_KATAKANA}{_OTHERS}]+")
_SCRIPTS = re.compile(f"[{_HAN}]+|[{_KATAKANA}]+|[{_HIRAGANA}]+|[{_OTHERS}]+")
_LONG_MARK = re.compile(f"(?<=[{_KATAKANA}]{{3}})ー(?![{_KATAKANA}])")
_ASKING = re.compile(
    "请问|請問|是什么|是什麼|有多少|有几|是多少|有哪些|为什么|為什麼|什么|什麼|怎么样|怎麼樣|怎么|怎麼|怎样|怎樣|如何|多少"
    "|哪些|哪个|哪個"
    "|哪里|哪裡|是否|可以|吗|嗎|呢|(?<!目)的(?!确|確)"
    "|何(?:日|時|人|個|回|年|月|円|歳|度|分|週|時間|ヶ月)?|誰|幾"
)
"""Chinese and Japanese words that make a question but say nothing of what it is about."""
_PARTICLES = frozenset(
    [
        "でしょう",
        "ください",
        "について",
        "において",
        "ときに",
        "とき",
        "から",
        "まで",
        "など",
        "だけ",
        "より",
        "いくら",
        "いつ",
        "どこ",
        "どの",
        "どれ",
        "どう",
        "どんな",
        "なぜ",
        "だれ",
        "なに",
        "どのくらい",
        "されて",
        "される",
        "できる",
        "できます",
        "します",
        "ました",
        "ません",
        "ている",
        "です",
        "ます",
        "する",
        "した",
        "して",
        "され",
        "いる",
        "ある",
        "あり",
        "こと",
        "もの",
        "とは",
        "には",
        "では",
        "のは",
        "いて",
        "って",
        "は",
        "が",
        "を",
        "に",
        "の",
        "と",
        "で",
        "も",
        "へ",
        "か",
        "や",
        "ね",
        "よ",
        "な",
        "い",
        "う",
        "く",
        "る",
        "た",
        "て",
        "り",
        "し",
        "す",
    ]
)
"""Japanese particles, question words and endings of verbs, several of which may end a run of
hiragana.
"""
_PARTICLE = max(map(len, _PARTICLES))


def normalise(text: str) -> str:
    """The text in the form that is analysed."""
    if text.isascii():
        return text
    return _LONG_MARK.sub("", to_normal_form("NFKC", text))


def drop_unspaced(text: str) -> str:
    """Normal text without what is written without spaces, so that a sentence of it does not count
    as one word.
    """
    if text.isascii():
        return text
    if _UNSPACED.search(text):
        return _UNSPACED.sub(" ", text)
    return text


def pairs(text: str) -> Iterator[str]:
    """Pairs of neighbouring characters in normal text that is written without spaces, and the
    single ones.
    """
    if text.isascii():
        return
    for match in _UNSPACED.finditer(text):
        run = match.group()
        yield from _couples(run)
        yield from run


def query_pairs(query: str) -> list[str]:
    """The pairs to look for: within one script, without particles and question words unless there
    is nothing else.
    """
    if query.isascii():
        return []
    runs = list(_content(_ASKING.sub(" ", query))) or _SCRIPTS.findall(query)
    found: list[str] = []
    for run in runs:
        found += _couples(run) if len(run) > 1 else run
    return list(dict.fromkeys(found))


def parts(words: Iterable[str]) -> Iterator[str]:
    """Overlapping parts of `PART` letters of each word; a shorter word has none."""
    for word in words:
        yield from (word[place : place + PART] for place in range(len(word) - PART + 1))


def stems(language: str, words: str) -> list[str]:
    """Of each word its stem; but for English and German with the language, as `muse` is a stem in
    five of them.
    """
    found: list[str] = analyzer(language).analyze(words)
    if language in ("english", "german"):
        return found
    return [f"{language}:{stem}" for stem in found]


@cache
def analyzer(language: str = "", stop: bool = False) -> Any:
    """Tantivy's analysis of the words of a language, or only lower case; `stop` leaves out words
    without content.

    Accents go before the stem is taken, so that words typed without them have the same one.
    """
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(64))
        .filter(Filter.lowercase())
    )
    if stop and language not in WITHOUT_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
    if language:
        builder = builder.filter(Filter.ascii_fold()).filter(Filter.stemmer(language))
    return builder.build()


def _couples(run: str) -> Iterator[str]:
    return (run[place : place + 2] for place in range(len(run) - 1))


def _content(query: str) -> Iterator[str]:
    for run in _SCRIPTS.findall(query):
        found = _strip_particles(run)
        # A single kana that is left is the ending of a verb.
        if len(found) > 1 or not "\u3041" <= run[0] <= "\u309f":
            yield found


def _strip_particles(run: str) -> str:
    """The run up to where nothing but particles follows; a regular expression would try all ways to
    part what follows.
    """
    ends = {len(run)}
    for place in reversed(range(len(run))):
        sizes = range(1, _PARTICLE + 1)
        if any(place + size in ends and run[place : place + size] in _PARTICLES for size in sizes):
            ends.add(place)
    return run[: min(ends)]
