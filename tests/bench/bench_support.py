"""How well doubtful citations are told from good ones: `python -m tests.bench.bench_support`.

Sixty pairs of a sentence and a passage (`support/pairs.json`), by which the settings were chosen;
forty held out (`held_out.json`): when they were first measured, 20 of 20 unsupported and 3 of 20
supported ones were marked, after which the faults were mended; forty more, written then
(`second_held_out.json`), of which again 20 of 20 and 3 of 20 were marked at first; and some in
German and French (`other_languages.json`). It also takes the time.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from agentkit.llm.support import Embed, check, doubt_of
from agentkit.retrieval import MiniLMEmbedder

FOLDER = Path(__file__).with_name("support")
SETS = ("pairs", "held_out", "second_held_out", "other_languages")
MARKED_LEAST, FALSE_MOST = 0.85, 0.10
SENTENCES = 20
LIMIT_S = 0.3
ROUNDS = 7


@dataclass(frozen=True)
class Pair:
    """A sentence with the passage that it cites."""

    sentence: str
    passage: str
    kind: str
    supported: bool


@dataclass(frozen=True)
class Outcome:
    """How many pairs were marked as doubtful: those that should be, by their kind, and those that
    should not.
    """

    marked: Counter[str]
    unsupported: Counter[str]
    false: list[Pair]
    supported: int

    @property
    def marked_share(self) -> float:
        return self.marked.total() / self.unsupported.total()

    @property
    def false_share(self) -> float:
        return len(self.false) / self.supported


def pairs(name: str) -> list[Pair]:
    """The pairs of one file."""
    read = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    passages = {key: one["text"] for key, one in read["passages"].items()}
    return [
        Pair(one["sentence"], passages[one["passage"]], one["kind"], one["supported"])
        for one in read["pairs"]
    ]


def outcome(measured: list[Pair], embed: Embed | None) -> Outcome:
    """Check each pair."""
    doubtful = [one for one in measured if doubt_of(one.sentence, one.passage, embed) is not None]
    return Outcome(
        Counter(one.kind for one in doubtful if not one.supported),
        Counter(one.kind for one in measured if not one.supported),
        [one for one in doubtful if one.supported],
        sum(one.supported for one in measured),
    )


def answer_of(measured: list[Pair], passages: list[str]) -> str:
    """One answer that cites a passage behind each sentence."""
    return " ".join(
        f"{one.sentence.rstrip('.')} [{passages.index(one.passage) + 1}]." for one in measured
    )


def processor() -> str:
    """Its name, as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def timed(embed: Embed | None) -> tuple[float, float]:
    """Seconds of the processor and of the clock for an answer of so many cited sentences, passages
    never seen before.
    """
    measured = [one for one in pairs("pairs") if one.supported][:SENTENCES]
    spent = []
    for turn in range(ROUNDS):
        passages = list(dict.fromkeys(one.passage for one in measured))
        numbered = {number: (f"{text} {turn}", "") for number, text in enumerate(passages, 1)}
        cpu, clock = time.process_time(), time.perf_counter()
        check(answer_of(measured, passages), numbered, embed)
        spent.append((time.process_time() - cpu, time.perf_counter() - clock))
    cpu_s, clock_s = zip(*spent, strict=True)
    return statistics.median(cpu_s), statistics.median(clock_s)


def show(name: str, how: str, found: Outcome) -> None:
    """The table of one set."""
    unsupported, supported = found.unsupported.total(), found.supported
    print(f"\n{name}, {how}              marked   not marked")
    print(
        f"  not supported ({unsupported:2})   {found.marked.total():6}  "
        f" {unsupported - found.marked.total():6}"
    )
    print(
        f"  supported     ({supported:2})   {len(found.false):6}   {supported - len(found.false):6}"
    )
    kinds = ", ".join(
        f"{kind} {found.marked[kind]}/{count}" for kind, count in found.unsupported.items()
    )
    print(f"  {found.marked_share:.0%} marked, {found.false_share:.0%} marked wrongly ({kinds})")
    for one in found.false:
        print(f"  wrongly: {one.sentence}")


def main() -> None:
    embed = MiniLMEmbedder()
    embed.warm()
    print(f"{processor()}, packaged model in {embed.precision}")
    for name in SETS:
        show(name, "words and meaning", outcome(pairs(name), embed.embed))
        show(name, "words alone", outcome(pairs(name), None))
    for how, near in (("words and meaning", embed.embed), ("words alone", None)):
        cpu, clock = timed(near)
        print(
            f"\nan answer of {SENTENCES} cited sentences, {how}: {cpu * 1e3:.0f} ms of the"
            f" processor, {clock * 1e3:.0f} ms; {cpu * 1e3 / SENTENCES:.1f} ms a sentence"
        )
        if cpu > LIMIT_S:
            print(f"  longer than {LIMIT_S} s")


if __name__ == "__main__":
    main()
