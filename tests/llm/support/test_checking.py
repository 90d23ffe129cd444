"""Sentences against the passages they cite: what must be marked as doubtful, and what must not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.llm.support import Doubt, Embed, check, doubt_of
from agentkit.retrieval import FakeEmbedder, MiniLMEmbedder
from tests.bench.bench_support import FALSE_MOST, MARKED_LEAST, outcome, pairs
from tests.conftest import MODELS

TEXT = (
    "Full-time employees have 27 days of paid annual leave. The firmware must be signed by"
    " Larkmoor. Sales grew to 1.2 million units in the 1980s. The shop opens at 9:00 on Mondays."
    " Returns are not accepted after 14 days. It costs 1.450,50 € and was decided on 3 March 2024."
    " The European Union paid a third quarter of it. It loses 5 drops a minute for two weeks."
)


@pytest.fixture(scope="module")
def packaged() -> Embed:
    """One for all these tests: it takes a while to load."""
    return MiniLMEmbedder(MODELS).embed


def test_the_pairs_are_what_they_are_said_to_be() -> None:
    measured = pairs("pairs")
    assert [sum(one.supported is kind for one in measured) for kind in (True, False)] == [30, 30]
    assert sum(one.kind == "paraphrase" for one in measured) == 15
    assert {one.kind for one in measured if not one.supported} == {
        "number",
        "name",
        "date",
        "passage",
    }


@pytest.mark.parametrize("with_vectors", [True, False])
def test_most_of_the_unsupported_are_marked_and_few_of_the_supported(
    packaged: Embed, with_vectors: bool
) -> None:
    found = outcome(pairs("pairs"), packaged if with_vectors else None)
    assert found.marked_share >= MARKED_LEAST
    assert found.false_share <= FALSE_MOST, [one.sentence for one in found.false]


@pytest.mark.parametrize(
    "sentence",
    [
        "However, full-time employees have twenty-seven days of leave.",
        "**Annual leave entitlement:** 27 days for full-time employees",
        "Since Larkmoor signs the firmware, nobody else can.",
        "Sales grew to 1,200,000 units.",
        "Sales reached 1.2m units.",
        "The shop opens at 9 a.m. on Monday.",
        "It costs €1,450.50.",
        "It costs EUR 1 450.50.",
        "It was decided on 2024-03-03.",
        "It was decided on March 3rd, 2024.",
        "It was decided in March 2024.",
        "The EU paid in the third quarter.",
        "It loses five drops a minute for 14 days.",
        "It costs about 1,500 euros.",
    ],
)
def test_the_same_thing_in_another_form_is_not_doubted(packaged: Embed, sentence: str) -> None:
    assert doubt_of(sentence, TEXT, packaged) is None


@pytest.mark.parametrize(
    ("sentence", "doubt"),
    [
        ("Employees have 24 days of paid annual leave.", Doubt("number", "24 days")),
        ("Employees have 27 weeks of paid annual leave.", Doubt("number", "27 weeks")),
        ("Sales grew to 1.2 million units in 1984.", Doubt("date", "1984")),
        ("Sales grew to 1.2 billion units.", Doubt("number", "1.2 billion")),
        ("It was decided on 13 March 2024.", Doubt("date", "13 March 2024")),
        ("The shop opens at 9 pm on Mondays.", Doubt("date", "9 pm")),
        ("The shop opens at 9:00 on Tuesdays.", Doubt("date", "Tuesdays")),
        ("The firmware must be signed by Petra Nowak.", Doubt("name", "Petra Nowak")),
        ("Brightwell signed the firmware that employees have.", Doubt("name", "Brightwell")),
        ("Larkmoor signed the firmware 4.1.0.", Doubt("name", "4.1.0")),
        ("Returns are accepted after 14 days.", Doubt("negation", "not")),
        ("The shop does not open at 9:00 on Mondays.", Doubt("negation", "not")),
        ("Mushrooms grow best in damp and shady woods.", Doubt("passage")),
    ],
)
def test_what_the_passage_does_not_say_is_named(sentence: str, doubt: Doubt) -> None:
    assert doubt_of(sentence, TEXT) == doubt


ENERGY = (
    "The energy of a body at rest is its mass times the speed of light squared: E = mc². It costs 5"
    " $ or 7 $."
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The energy of a body at rest is $E = mc^2$.",
        "The energy of a body at rest is $$E = m c^{2}$$ by its mass.",
        "The mass of a body tells its energy, $E = m \\cdot c^2$.",
        "It costs $5 or $7.",
        "It costs $5 or 7$.",
        "It costs $5$ or $7$.",
    ],
)
def test_a_formula_has_no_prices(sentence: str) -> None:
    assert doubt_of(sentence, ENERGY) is None


@pytest.mark.parametrize(
    ("sentence", "what"),
    [
        ("It costs $5 or 8$.", "8$"),
        ("It costs $6, as $E = mc^2$.", "$6"),
        ("The energy of the body is $E = 9$.", "9"),
    ],
)
def test_beside_a_formula_and_in_it_figures_count(sentence: str, what: str) -> None:
    assert doubt_of(sentence, ENERGY) == Doubt("number", what)


def test_another_language_is_compared_by_its_figures_only() -> None:
    assert doubt_of("Vollzeitbeschäftigte haben 27 Tage Urlaub im Jahr.", TEXT) is None
    assert doubt_of("Die Beschäftigten haben 28 Tage Urlaub im Jahr.", TEXT) == Doubt(
        "number", "28 Tage"
    )


PASSAGES = {
    1: ("The Danube is 2,850 kilometres long.", "rivers.md"),
    2: ("The Volga is the longest river in Europe.", "rivers.md"),
}


def verdicts(answer: str) -> list[tuple[int, str, str, str]]:
    made = check(answer, PASSAGES, FakeEmbedder().embed)
    assert all(answer[one.at] == "[" for one in made)
    return [(one.marker, answer[one.at :][:3], one.verdict, one.what) for one in made]


def test_each_marker_is_judged_where_it_stands() -> None:
    assert verdicts(
        "The Danube is 2,850 km long [1]. The Danube is 2,580 km long [1]. The Rhine is shorter"
        " [7]."
    ) == [
        (1, "[1]", "supported", ""),
        (1, "[1]", "doubtful", "2,580 km"),
        (7, "[7]", "missing", ""),
    ]


def test_a_sentence_with_two_markers_is_cut_between_them() -> None:
    found = verdicts(
        "The Danube is 2,850 km long [1] and the Volga the longest river of Europe [2]."
    )
    assert [one[2] for one in found] == ["supported", "supported"]
    found = verdicts(
        "The Danube is 2,850 km long [2] and the Volga the longest river of Europe [1]."
    )
    assert [one[2] for one in found] == ["doubtful", "doubtful"]


def test_two_passages_together_may_bear_a_sentence_out_and_neither_may_be_idle() -> None:
    both = "The Danube is 2,850 km long, the Volga is the longest river in Europe [1, 2]."
    assert [one[2] for one in verdicts(both)] == ["supported", "supported"]
    assert [one[2] for one in verdicts("The Danube is 2,850 kilometres long [1][2].")] == [
        "supported",
        "doubtful",
    ]


def test_markers_stand_before_or_behind_the_full_stop_or_begin_the_sentence() -> None:
    assert verdicts(
        "The Danube is 2,850 km long. [1] The Volga is the longest river. [2]"
    ) == verdicts("The Danube is 2,850 km long [1]. The Volga is the longest river [2].")
    found = verdicts("The Danube is 2,850 km long [1]. [2] says that the Volga is 4,000 km long.")
    assert [(one[0], one[2]) for one in found] == [(1, "supported"), (2, "doubtful")]


def test_figures_that_were_computed_need_not_stand_in_a_passage() -> None:
    answer = "The Danube is 2,850 kilometres long, which is 1,771 miles [1]."
    assert [one.what for one in check(answer, PASSAGES)] == ["1,771 miles"]
    assert [one.verdict for one in check(answer, PASSAGES, computed=["= 1771"])] == ["supported"]


def test_code_has_no_markers_and_a_list_of_sources_claims_nothing() -> None:
    assert verdicts("```\na[1] = b[9]\n```\nand `c[8]`") == []
    assert verdicts("Sources: [1], [2]") == [
        (1, "[1]", "unchecked", ""),
        (2, "[2]", "unchecked", ""),
    ]


@given(
    st.text(
        st.sampled_from("The Danube 2,850 km. [1][2, 9]\n`*-|€%:½") | st.characters(codec="utf-8"),
        max_size=120,
    )
)
def test_no_text_is_too_odd(text: str) -> None:
    for one in check(text, PASSAGES):
        assert text[one.at] == "["
        assert (one.verdict == "missing") == (one.marker not in PASSAGES)
    assert check(text, PASSAGES) == check(text, PASSAGES)
