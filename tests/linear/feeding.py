"""What eats text, what it is fed with, and how the processor time for it is limited.

Each meal is eaten in a process of its own with a limit of processor time, which does not depend on
how busy the machine is. The limit is far above what linear time takes for so many characters, and
far below what the square of it would take.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.soak import TIMES

SIZE = 150_000 * TIMES
"""Characters of a text."""
LIMIT_S = 8 * TIMES
"""Of processor time."""
_COMMON = [*"a \n\t1é中.,:-()[]'\"\\\x00", "\u0301", "\u0301\u0327"]
"""Signs that mean something nearly everywhere."""


@dataclass(frozen=True, slots=True)
class Worst:
    """A text of any length: `before`, then `piece` over and over, then `after`."""

    piece: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        around = [_named(self.before), f"{_named(self.piece)}*n", _named(self.after)]
        return " + ".join(part for part in around if part != "''")

    def text(self, size: int) -> str:
        """It, of about so many characters."""
        return self.before + self.piece * max(1, size // len(self.piece)) + self.after


def _named(text: str) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 40 else f"{shown[:25]}...({len(text):,})'"


@dataclass(frozen=True)
class Eater:
    """A function that reads what a model, a document, a page or a tool wrote."""

    name: str
    eat: Callable[[str], object]
    signs: Sequence[str] = ()
    """What means something to it, beside the common signs."""
    worst: Sequence[Worst | str] = ()
    """Texts that are known to be bad; a string alone is repeated."""
    mixed: int = 1
    """How many texts of its signs it is fed with."""

    @cached_property
    def meals(self) -> list[Worst]:
        """The known bad texts, and mixtures of the signs."""
        known = [each if isinstance(each, Worst) else Worst(each) for each in self.worst]
        return [*known, *self.mixtures(self.mixed)]

    def mixtures(self, count: int) -> Iterator[Worst]:
        """Texts of its own signs, the same in every run."""
        chance = random.Random(self.name)
        own, every = [*self.signs] or [*_COMMON], [*self.signs, *_COMMON]
        for _ in range(count):
            piece = "".join(chance.choices(own, k=chance.choice((1, 1, 2, 2, 3))))
            piece += "".join(chance.choices(every, k=chance.choice((0, 0, 1, 2))))
            before, after = ("".join(chance.choices(["", *every], k=2)) for _ in range(2))
            yield Worst(piece, before, after)


def eaten(eater: Eater, meal: Worst) -> str:
    """What goes wrong when it eats; empty when all is well, as a refusal in our own words is."""
    text = meal.text(SIZE)
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        _eat(eater, text, writes)
    os.close(writes)
    with os.fdopen(reads, "rb") as told:
        said = told.read().decode(errors="replace")
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)} after {seconds:.1f} s of processor time"
    return said


def _eat(eater: Eater, text: str, writes: int) -> None:
    """In the child: eat, tell what went wrong, end."""
    from agentkit.errors import AgentkitError

    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 1))
    said = ""
    try:
        eater.eat(text)
    except AgentkitError:
        pass  # a refusal
    except BaseException:  # noqa: BLE001 (also what a library panics with)
        said = traceback.format_exc(limit=-3)
    finally:
        os.write(writes, said.encode("utf-8", "replace")[-4_000:])
        os._exit(0)


def serve(eaters: Sequence[Eater]) -> None:
    """Answer each line of stdin, the numbers of an eater and of a meal, with what went wrong."""
    for line in sys.stdin:
        which, course = map(int, line.split())
        sys.stdout.write(repr(eaten(eaters[which], eaters[which].meals[course])) + "\n")
        sys.stdout.flush()
