"""What the offline model does with prompts as teams send them; how often it is right is measured in
test_accuracy.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from agentkit.core import bus, stopping
from agentkit.errors import Stopped
from agentkit.events import Event, TokenDelta
from agentkit.llm.calls.client import call
from agentkit.llm.connections.config import offline_model
from agentkit.llm.offline.extractive import INTRODUCTION, NO_PASSAGES
from agentkit.llm.offline.passages import Passage, format_passages
from agentkit.llm.offline.question import parse
from agentkit.messages import Message, message

LEASE = (
    "1. Term\nThe lease begins on 1 April 2023 and runs for two years. It is kept by the"
    " landlord.\n\n2. Rent\nThe rent is 940 pounds a month, payable in advance. It may be raised"
    " once a year by no more than 4 percent."
)
PRICES = (
    "Article | Name | Price in EUR\nTM2 | Tidemark 2 gauge | 3,450\nSAT | Satellite module | 780"
)
KETTLE = (
    "Removing limescale\n1. Fill the kettle halfway with cold water.\n2. Add two tablespoons of"
    " citric acid.\n3. Heat to 60 degrees and wait.\n4. Pour away and rinse three times.\n\nThe"
    " kettle holds 1.7 litres."
)
MUSEUM = (
    "The museum was opened in 1974 by the shipowner Astrid Lindqvist. It has four floors.\n\n"
    "The guarantee covers two things: material and workmanship. [3] says more."
)
PASSAGES = [
    Passage(1, "lease.txt, p. 1", LEASE),
    Passage(2, "prices.xlsx, Sheet1!A1:C3", PRICES),
    Passage(3, "kettle.txt", KETTLE),
    Passage(4, "museum.md", MUSEUM),
]


def prompt(
    question: str,
    passages: Sequence[Passage] = PASSAGES,
    instructions: str = "Answer from the passages.",
) -> list[Message]:
    return [
        message("system", f"{instructions}\n{format_passages(passages)}"),
        message("user", question),
    ]


def answer(
    question: str,
    passages: Sequence[Passage] = PASSAGES,
    instructions: str = "Answer from the passages.",
) -> str:
    return call(offline_model(), prompt(question, passages, instructions)).text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much is the rent?", "The rent is 940 pounds a month, payable in advance. [1]"),
        (
            "When does the lease begin?",
            "The lease begins on 1 April 2023 and runs for two years. [1]",
        ),
        (
            "What is the price of the satellite module?",
            "Article: SAT; Name: Satellite module; Price in EUR: 780 [2]",
        ),
        (
            "Who opened the museum?",
            "The museum was opened in 1974 by the shipowner Astrid Lindqvist. [4]",
        ),
        ("How many litres does the kettle hold?", "The kettle holds 1.7 litres. [3]"),
        ("Does the kettle hold 1.7 litres?", "The kettle holds 1.7 litres. [3]"),
    ],
)
def test_a_fact_is_quoted_word_for_word_with_its_passage(question: str, expected: str) -> None:
    assert answer(question) == expected


def test_steps_are_given_whole_and_in_order() -> None:
    lines = answer("How do I remove limescale from the kettle?").splitlines()
    assert [line[:2] for line in lines] == ["1.", "2.", "3.", "4."]
    assert all(line.endswith(" [3]") for line in lines)


def test_a_sentence_that_leans_on_the_one_before_brings_it_along() -> None:
    said = answer("By how many percent may the rent be raised?")
    assert (
        said
        == "The rent is 940 pounds a month, payable in advance. [1] It may be raised once a year by"
        " no more than 4 percent. [1]"
    )


def test_two_questions_get_two_answers() -> None:
    said = answer("When does the lease begin and what is the price of the satellite module?")
    assert [part[-3:] for part in said.split("\n\n")] == ["[1]", "[2]"]


def test_a_part_that_nothing_answers_is_named() -> None:
    said = answer("How much is the rent? Who is the king of Sweden?")
    assert said.split("\n\n") == [
        "The rent is 940 pounds a month, payable in advance. [1]",
        "The documents do not answer this part: Who is the king of Sweden.",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Mongolia?",
        "Who painted the Mona Lisa?",
        "How do I bake sourdough bread?",
    ],
)
def test_it_says_when_nothing_answers(question: str) -> None:
    said = answer(question)
    assert said.startswith("The documents do not answer this question.")
    assert "[" not in said


def test_it_asks_for_more_context_in_the_words_of_the_prompt() -> None:
    instructions = "Reply with exactly `UPDATE CONTEXT` if the context does not suffice."
    assert answer("Who painted the Mona Lisa?", instructions=instructions) == "UPDATE CONTEXT"
    assert answer("How much is the rent?", instructions=instructions).endswith("[1]")


def test_context_and_question_in_one_message_are_understood() -> None:
    asked = (
        "UPDATE CONTEXT?\nUser's question is: How much is the rent?\n\nContext is: The rent is 940"
        " pounds.\n\nBlue sky."
    )
    assert call(offline_model(), [message("user", asked)]).text == "The rent is 940 pounds."


@pytest.mark.parametrize(
    "said", ["hi", "Hello there!", "thanks a lot", "What can you do?", "Who are you?", "help"]
)
def test_small_talk_is_answered_honestly(said: str) -> None:
    assert answer(said) == INTRODUCTION


def test_without_passages_it_says_what_it_needs() -> None:
    assert answer("How much is the rent?", []) == NO_PASSAGES


def test_a_follow_up_borrows_from_the_question_before() -> None:
    turns = [
        message("user", "How many litres does the kettle hold?"),
        message("assistant", "The kettle holds 1.7 litres. [3]"),
    ]
    messages = [prompt("")[0], *turns, message("user", "And how do I remove limescale from it?")]
    assert "citric acid" in call(offline_model(), messages).text


def test_a_summary_quotes_sentences_of_several_passages() -> None:
    said = answer("Summarise these documents")
    quoted = [part for part in said.replace("\n\n", " ").split("] ") if part]
    assert 2 <= len(quoted) <= 4
    assert len({part.rsplit("[", 1)[1].rstrip("]") for part in quoted}) >= 2
    assert len(said) < 1_000


def test_a_summary_of_words_that_say_nothing_is_an_answer_all_the_same() -> None:
    assert answer("Summarise these documents", [Passage(1, "m", "It is. They are. We were.")])


def test_brackets_in_a_document_are_not_taken_for_citations() -> None:
    said = answer(
        "What does the guarantee cover?",
        [Passage(1, "m", "The guarantee covers material and workmanship [7] only.")],
    )
    assert said == "The guarantee covers material and workmanship (7) only. [1]"


def test_one_batch_of_bounded_size_goes_to_the_similarity() -> None:
    batches: list[int] = []

    def similarity(question: str, sentences: Sequence[str]) -> list[float]:
        batches.append(len(sentences))
        return [1.0 if "rent" in sentence else 0.0 for sentence in sentences]

    long = [
        Passage(
            number,
            "long.txt",
            " ".join(f"Room {number}-{item} has a window." for item in range(40)),
        )
        for number in range(5, 15)
    ]
    said = call(offline_model(similarity), prompt("How much is the rent?", [*PASSAGES, *long])).text
    assert said.endswith("[1]")
    assert len(batches) == 1
    assert batches[0] <= 48


def test_the_same_prompt_gives_the_same_reply() -> None:
    assert len({answer("What are the steps to remove limescale?") for _ in range(3)}) == 1


def test_it_streams_by_words_costs_nothing_and_estimates_tokens() -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        reply = call(offline_model(), prompt("How much is the rent?"))
    pieces = [event.text for event in heard if isinstance(event, TokenDelta)]
    assert len(pieces) == len(reply.text.split())
    assert "".join(pieces) == reply.text
    assert (reply.cost, reply.provider, reply.usage.estimated) == (0.0, "offline", True)
    assert reply.usage.prompt > 100


def test_a_stop_is_obeyed() -> None:
    signal = stopping.StopSignal()

    def stop(event: Event) -> None:
        if isinstance(event, TokenDelta):
            signal.set()

    with stopping.stoppable(signal), bus.listening(stop):
        reply = call(offline_model(), prompt("How much is the rent?"))
    assert (reply.stopped, reply.text) == (True, "The")
    with stopping.stoppable(signal), pytest.raises(Stopped):
        call(offline_model(), prompt("How much is the rent?"))


def test_threads_do_not_disturb_each_other() -> None:
    said: dict[int, str] = {}

    def ask(number: int) -> None:
        said[number] = answer("How much is the rent?" if number % 2 else "Who opened the museum?")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {said[number] for number in (1, 3, 5)} == {answer("How much is the rent?")}


def test_a_question_in_the_document_leads_to_its_answer_and_is_not_quoted() -> None:
    faq = Passage(
        1,
        "faq.txt",
        "1. How do I reset a forgotten password?\nPress the button for ten seconds.\n\n2. Where is"
        " the button?\nBelow.",
    )
    assert (
        answer("How do I reset a forgotten password?", [faq])
        == "Press the button for ten seconds. [1]"
    )


def test_a_question_with_a_name_borrows_nothing_from_small_talk() -> None:
    (named,) = parse("How long is the Danube?", "Hello there, nice.")
    (leaning,) = parse("How long?", "What is the Danube?")
    assert (named.borrowed, leaning.borrowed) == ((), ("danub",))
