"""Prompt tokens of ReWOO and of ReAct, read from the ledger: `python -m tests.bench.bench_plans
[--picture FILE.svg]`.

What is real: both agents as they are, their prompts, every model call and its row in the ledger.
What is simulated: the model, which follows a script of so many searches and never errs, and the
encyclopedia, whose articles are made of templates. Tokens are counted with the tables of gpt-4o. So
the figures show how prompts grow, and nothing about how well anybody answers.

The shape is HotpotQA's as the paper has it (arXiv:2305.18323): one search after the other, each
giving a paragraph of 108 to 258 tokens, and six worked examples in the prompt, the same six
questions for both: for ReAct with thoughts, actions and (short) observations, for ReWOO with plans.
The same without examples is measured, too.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkit import runs
from agentkit.agents.rewoo import PLANNER_PROMPT_EN, ActionExecutor, ReWOO, ReWOOProtocol
from agentkit.database import Database
from agentkit.ledger import Ledger, queries
from agentkit.llm.calls.scripted import ScriptedClient
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import TokenCounter
from tests.bench.line_chart import Line, svg
from tests.bench.react import ReAct

MODEL = "gpt-4o"
MOST_STEPS, SHAPE_STEPS, LEAST_RATIO = 10, 5, 4.0
SENTENCES = (5, 12, 7, 10, 8)
"""Of the paragraphs, in turn."""
PLACES = (
    "Velmar",
    "Ostrand",
    "Kirrin",
    "Saltholm",
    "Draven",
    "Munsted",
    "Orlay",
    "Pellin",
    "Tarvik",
    "Wexley",
)
QUESTION = (
    "In which year was the bridge built that leads to the town where the composer of the anthem of"
    " Velmar was born?"
)
EXAMPLES = (
    ("Which of the two towns Ardal and Benmore lies further north?", ("Ardal", "Benmore"), "Ardal"),
    (
        "What is the profession that Ida Lorne and Max Weyer share?",
        ("Ida Lorne", "Max Weyer"),
        "geologist",
    ),
    (
        "After whom is the harbour named that the ferry from Skell goes to?",
        ("Skell", "Skell ferry", "Port Amory"),
        "Jean Amory",
    ),
    (
        "Was the magazine The Lantern founded before The Tidings?",
        ("The Lantern", "The Tidings"),
        "yes",
    ),
    (
        "How high is the range that the upper valley of the Morne belongs to?",
        ("Morne", "upper valley of the Morne", "Halden range", "Halden range elevation"),
        "900 to 2,400 m",
    ),
    (
        "Which river flows through the birthplace of the architect of Corby Hall?",
        ("Corby Hall", "Edwin Rusk"),
        "the Wend",
    ),
)


def search(query: str) -> str:
    """Looks up an article in an encyclopedia and gives its first paragraph.

    Args:
        query (str): the title, or words from it.
    """
    number = int(found[0]) if (found := re.search(r"\d+", query)) else 0
    return paragraph(number)


def paragraph(number: int) -> str:
    """The beginning of an article; paragraphs differ in length."""
    here, there = PLACES[number % len(PLACES)], PLACES[(number + 3) % len(PLACES)]
    sentences = [
        f"{here} is a town on the western bank of the river that separates it from {there}.",
        (
            f"It was first mentioned in {1100 + 37 * number}, in a charter about the tolls of its"
            " market."
        ),
        (
            f"The bridge to {there} was opened in {1840 + number} and rebuilt after the flood of"
            f" {1900 + number}."
        ),
        (
            f"The composer of the anthem of {there}, who was born here, taught at the school by the"
            " church for many years."
        ),
        (
            f"In {1950 + number} it had {12_000 + 731 * number:,} inhabitants, most of whom worked"
            " in the paper mills upstream."
        ),
        (
            "Since the mills closed, the largest employers have been the hospital and the depot of"
            " the regional railway."
        ),
        f"A museum of local history has been kept in the former town hall since {1970 + number}.",
    ]
    return " ".join((sentences * 2)[: SENTENCES[number % len(SENTENCES)]])


def thought(step: int) -> str:
    """What a step is for; the same for both."""
    return (
        f"I need to look up the article {step} that the one before leads to, and find the name or"
        " the year that is asked for."
    )


def plan(steps: int) -> str:
    """The planner's reply: each search builds on the one before."""
    return "\n".join(
        f"Plan: {thought(n)}\n#E{n} = search[article {n}]" for n in range(1, steps + 1)
    )


def planned(steps: int) -> Any:
    """The model for ReWOO: a plan first, then the answer."""
    return lambda request: plan(steps) if request["messages"][0]["role"] == "system" else "1843"


def stepwise(steps: int) -> Any:
    """The model for ReAct: the next search, until it has seen all."""

    def reply(request: Mapping[str, Any]) -> str:
        done = request["messages"][-1]["content"].count("Observation:")
        return f"Thought: {thought(done + 1)}\nAction: " + (
            f"search[article {done + 1}]" if done < steps else "Finish[1843]"
        )

    return reply


def react_examples() -> str:
    """The six questions worked step by step, with observations of one sentence."""
    made = []
    for question, queries_, answer in EXAMPLES:
        lines = [f"Question: {question}"]
        for query in queries_:
            lines.append(
                f"Thought: I need to look up {query} and find what the question asks about it."
            )
            lines.append(f"Action: search[{query}]")
            lines.append(
                f"Observation: {query} is known for what the article tells of it, the years, the"
                " places and people."
            )
        made.append(
            "\n".join([*lines, f"Thought: So the answer is {answer}.", f"Action: Finish[{answer}]"])
        )
    return "Here are some examples.\n\n" + "\n\n".join(made) + "\n"


def plan_examples() -> str:
    """The same questions with their plans."""
    made = []
    for question, queries_, _ in EXAMPLES:
        steps = [
            f"Plan: Look up {query} and find what the question asks about it.\n#E{n} ="
            f" search[{query}]"
            for n, query in enumerate(queries_, start=1)
        ]
        made.append("\n".join([f"Question: {question}", *steps]))
    return "\nHere are some examples.\n\n" + "\n\n".join(made) + "\n"


@dataclass(frozen=True, slots=True)
class Figures:
    """What a question took, from the ledger."""

    calls: int
    prompt_tokens: int


def measured(ledger: Ledger, kind: str, steps: int, examples: bool) -> Figures:
    """Answer a question in so many steps, in a run with an owner of its own."""
    tools = ActionExecutor(search)
    if kind == "ReAct":
        llm = Model("simulated", "Simulated", ScriptedClient(stepwise(steps)), MODEL, "simulated")
        agent: Any = ReAct(llm, tools, examples=react_examples() if examples else "")
    else:
        llm = Model("simulated", "Simulated", ScriptedClient(planned(steps)), MODEL, "simulated")
        prompt = PLANNER_PROMPT_EN + plan_examples() if examples else PLANNER_PROMPT_EN
        agent = ReWOO(llm, tools, ReWOOProtocol(planner_prompt=prompt))
    owner = f"{kind} {steps} {examples}"
    answer = runs.start(
        lambda: agent.chat(QUESTION), kind="bench", owner=owner, ledger=ledger
    ).result()
    if (answer if kind == "ReAct" else answer.response) != "1843":
        raise SystemExit(f"{kind} did not come to the answer in {steps} steps: {answer}")
    sums = queries.totals(ledger, queries.CallFilter(owner))
    return Figures(sums.calls, sums.prompt_tokens)


def table(ledger: Ledger) -> dict[tuple[str, bool], list[Figures]]:
    """The figures of both, with and without examples, for 1 to 10 steps."""
    return {
        (kind, examples): [
            measured(ledger, kind, steps, examples) for steps in range(1, MOST_STEPS + 1)
        ]
        for examples in (True, False)
        for kind in ("ReAct", "ReWOO")
    }


def tokens(text: str) -> int:
    """As the model's own table counts them."""
    return TokenCounter(MODEL).text(text)[0]


def show(found: Mapping[tuple[str, bool], list[Figures]]) -> None:
    """Print a table for each of the two settings."""
    for examples in (True, False):
        print(f"\n{'six examples' if examples else 'no examples'} in the prompts\n")
        print(
            "| steps | calls ReAct | calls ReWOO | prompt tokens ReAct | prompt tokens ReWOO |"
            " times fewer |"
        )
        print("|--:|--:|--:|--:|--:|--:|")
        for steps, (one, other) in enumerate(
            zip(found["ReAct", examples], found["ReWOO", examples], strict=True), start=1
        ):
            ratio = one.prompt_tokens / other.prompt_tokens
            print(
                f"| {steps} | {one.calls} | {other.calls} | {one.prompt_tokens:,} |"
                f" {other.prompt_tokens:,} | {ratio:.1f} |"
            )


def picture(found: Mapping[tuple[str, bool], list[Figures]]) -> str:
    """The figures as an SVG."""
    lines = [
        Line(
            f"{kind}, {'six examples' if examples else 'no examples'}",
            [each.prompt_tokens for each in figures],
            accent=kind == "ReWOO",
            dashed=not examples,
        )
        for (kind, examples), figures in found.items()
    ]
    return svg(
        "Prompt tokens of one question", "steps (searches) that the question takes", "tokens", lines
    )


def main() -> int:
    """Print the figures; 1 when ReWOO does not save as much as is promised."""
    parser = argparse.ArgumentParser(description="Prompt tokens of ReWOO and of ReAct.")
    parser.add_argument("--picture", type=Path, help="where to write the chart, an SVG")
    chosen = parser.parse_args()
    sizes = [tokens(paragraph(number)) for number in range(1, MOST_STEPS + 1)]
    print(
        f"paragraphs: {min(sizes)} to {max(sizes)} tokens, {sum(sizes) / len(sizes):.0f} on average"
    )
    print(
        f"examples: {tokens(react_examples()):,} tokens for ReAct, {tokens(plan_examples()):,} for"
        " ReWOO"
    )
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "bench.duckdb")
        found = table(Ledger(database))
        database.close()
    show(found)
    if chosen.picture:
        chosen.picture.write_text(picture(found), encoding="utf-8")
    one, other = (found[kind, True][SHAPE_STEPS - 1].prompt_tokens for kind in ("ReAct", "ReWOO"))
    print(
        f"\n{SHAPE_STEPS} steps of HotpotQA's shape: {one / other:.1f} times fewer (at least"
        f" {LEAST_RATIO:g})"
    )
    return int(one / other < LEAST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
