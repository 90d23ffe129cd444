"""Words that are longer than any: broken where they are drawn, so that no browser is busy with one
for minutes.
"""

from __future__ import annotations

import re

LONGEST = 1_000
"""Characters without white space that are drawn as one; real words and nearly all addresses are
shorter.
"""
_LONG = re.compile(rf"\S{{{LONGEST}}}(?=\S)")


def breakable(text: str) -> str:
    """The text with a zero-width space after every so many characters of a word.

    A browser's parser of Markdown looks for addresses from each letter to the end of its word: for
    a word of 200,000 letters that takes half a minute, for 200 words of 1,000 one second. What is
    to be copied letter by letter, such as code, must not come here.
    """
    return _LONG.sub(lambda match: f"{match[0]}\u200b", text)
