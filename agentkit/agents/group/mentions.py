"""Which agents a text names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from agentkit.messages import text_of


def mentions(content: str | list[Mapping[str, object]] | None, names: Sequence[str]) -> dict[str, int]:
    """How often each name stands in the content as words of its own, for those that do.

    Upper and lower case count. A name with `_` is also found with spaces or with `\\_` (as some models write it). Where names
    overlap (`Writer` in `Writer_2`, `c` in `c++`), only the longest counts.
    """
    written: dict[str, str] = {}
    for underscore in ("_", " ", r"\_"):
        for name in names:
            written.setdefault(name.replace("_", underscore), name)
    if not written:
        return {}
    longest_first = sorted(written, key=len, reverse=True)
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    return dict(Counter(written[found] for found in re.findall(pattern, text_of(content))))
