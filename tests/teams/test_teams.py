"""The teams over a scripted model and offline: what they look up, whom they ask, what they cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentkit.core import bus
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import ModelAuthFailed, NotFound, Stopped
from agentkit.events import Event, MessageSent, ModelReplied, TokenDelta
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.messages import message
from agentkit.retrieval import Hit
from agentkit.teams import Answer, Question, Task, answer, research, team, teams
from agentkit.teams.citing import cite_hits, describe_source, renumber_by_use
from agentkit.teams.findings import Findings
from tests.teams.stage import play

DANUBE = "The Danube is 2,850 kilometres long."
VOLGA = "The Volga is the longest river in Europe."


def hit(number: int, text: str, page: int | None = 1) -> Hit:
    return Hit(
        number,
        1 / number,
        100 + number,
        f"d{number}",
        f"doc{number}.pdf",
        page,
        "Rivers",
        "",
        0,
        len(text),
        text,
        {},
    )


HITS = [hit(1, DANUBE), hit(2, VOLGA, None)]


class Shelf:
    """Stands for a collection: gives the same hits for whatever it is asked, and remembers the
    questions.
    """

    def __init__(self, *hits: Hit) -> None:
        self.hits = list(hits)
        self.asked: list[str] = []

    def __call__(self, query: str) -> list[Hit]:
        self.asked.append(query)
        return self.hits


def worked(work: Callable[[Task], Answer], task: Task) -> tuple[Answer, list[MessageSent]]:
    events: list[Event] = []
    with bus.listening(events.append):
        result = work(task)
    return result, [event for event in events if isinstance(event, MessageSent)]


def system_of(request: Mapping[str, Any]) -> str:
    return str(request["messages"][0]["content"])


def test_the_registry_has_unique_ids_and_names_what_there_is() -> None:
    assert len({known.id for known in teams()}) == len(teams())
    assert team("group") is team("group:auto")
    assert all(known.name and known.description and known.agents for known in teams())
    with pytest.raises(NotFound, match="choose one of: answer, research"):
        team("nobody")


def test_the_answer_goes_out_once_with_its_citations() -> None:
    model = scripted_model(["It is 2,850 km long [1]."])
    task = Task(
        Question("How long is the Danube?"), model, Shelf(*HITS), answer_id="a", parent_id="q"
    )
    result, (sent,) = worked(answer.work, task)
    assert result.text == sent.content == "It is 2,850 km long [1]."
    assert (sent.id, sent.parent_id, sent.sender, sent.recipient, sent.role, sent.status) == (
        "a",
        "q",
        "Assistant",
        "user",
        "assistant",
        "complete",
    )
    (citation,) = result.citations
    assert (citation.marker, citation.document, citation.page, citation.text) == (
        1,
        "doc1.pdf",
        1,
        DANUBE,
    )
    assert sent.extra["citations"] == [citation.to_json()]
    assert sent.extra["inner"] is False
    assert result.stopped_because == "answered"
    assert isinstance(model.client, ScriptedClient)
    assert DANUBE in system_of(model.client.requests[0])
    assert VOLGA in system_of(model.client.requests[0])


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("a [2] b [1] c [2]", [1, 2]),
        ("a [1, 2]", [1, 2]),
        ("a [1][2].", [1, 2]),
        ("none", []),
        ("[3] [0] [99]", []),
        ("[one] [1.5] [ 1 ]", []),
    ],
)
def test_markers_that_name_a_hit_are_cited(text: str, markers: list[int]) -> None:
    assert [citation.marker for citation in cite_hits(text, HITS)] == markers


def test_an_embedding_model_that_fails_leaves_the_check_to_words() -> None:
    def fails(texts: Sequence[str]) -> Any:
        raise ModelAuthFailed("no vectors")

    model = scripted_model(["Rivers carry mud and sand along [1]. It is 2,850 km long [1]."])
    result, (sent,) = worked(
        answer.work, Task(Question("How long?"), model, Shelf(*HITS), embed=fails)
    )
    assert [one.verdict for one in result.checks] == ["doubtful", "supported"]
    assert sent.extra["checks"] == [one.to_json() for one in result.checks]


def test_an_answer_without_a_marker_has_no_evidence() -> None:
    result, _ = worked(
        answer.work,
        Task(Question("Why?"), scripted_model(["The documents do not say."]), Shelf(*HITS)),
    )
    assert (result.stopped_because, result.citations) == ("no evidence", ())


def test_a_source_is_named_by_what_is_known_of_it() -> None:
    assert [describe_source(one) for one in HITS] == ["doc1.pdf, p. 1, Rivers", "doc2.pdf, Rivers"]
    assert (
        describe_source(replace(HITS[1], place="Sales!A2:F4", heading=""))
        == "doc2.pdf, Sales!A2:F4"
    )


HISTORY = [message("user", "How long is the Danube?"), message("assistant", "2,850 km [1].")]


def test_a_follow_up_is_completed_by_the_model_before_it_is_looked_up() -> None:
    shelf = Shelf(*HITS)
    model = scripted_model(["How deep is the Danube?", "Nobody says."])
    worked(answer.work, Task(Question("And how deep is it?"), model, shelf, HISTORY))
    assert shelf.asked == ["How deep is the Danube?"]
    assert isinstance(model.client, ScriptedClient)
    last = model.client.requests[1]["messages"]
    assert [turn["role"] for turn in last] == ["system", "user", "assistant", "user"]
    assert last[-1]["content"] == "And how deep is it?"


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("And how deep is it?", "How long is the Danube? And how deep is it?"),
        ("What about the Volga?", "How long is the Danube? What about the Volga?"),
        ("Which river is the longest in Europe?", "Which river is the longest in Europe?"),
    ],
)
def test_offline_a_follow_up_that_leans_on_the_last_question_is_searched_with_it(
    question: str, searched: str
) -> None:
    shelf = Shelf(*HITS)
    worked(answer.work, Task(Question(question), offline_model(), shelf, HISTORY))
    assert shelf.asked == [searched]


def test_offline_the_sentence_that_answers_is_quoted_and_cited() -> None:
    for work in (answer.work, research.work):
        result, messages = worked(
            work, Task(Question("How long is the Danube?"), offline_model(), Shelf(*HITS))
        )
        assert result.text == f"{DANUBE} [1]"
        assert [citation.text for citation in result.citations] == [DANUBE]
        assert messages[-1].content == result.text


@pytest.mark.parametrize("work", [answer.work, research.work])
def test_offline_citations_are_numbered_in_the_order_of_their_use(
    work: Callable[[Task], Answer],
) -> None:
    shelf = Shelf(hit(3, "A kettle is no river."), hit(2, VOLGA, None), hit(1, DANUBE))
    asked = Question("How long is the Danube, and which is the longest river in Europe?")
    result, messages = worked(work, Task(asked, offline_model(), shelf))
    assert result.text == f"{DANUBE} [1]\n\n{VOLGA} [2]"
    assert [(one.marker, one.text) for one in result.citations] == [(1, DANUBE), (2, VOLGA)]
    assert {(one.marker, one.verdict) for one in result.checks} == {
        (1, "supported"),
        (2, "supported"),
    }
    assert [one["document"] for one in messages[-1].extra["citations"]] == ["doc1.pdf", "doc2.pdf"]


def test_the_numbers_that_a_language_model_wrote_are_left_alone() -> None:
    said = f"{VOLGA} [2] {DANUBE} [1] [7]"
    result, _ = worked(
        answer.work, Task(Question("How long?"), scripted_model([said]), Shelf(*HITS))
    )
    assert result.text == said
    assert [(one.marker, one.text) for one in result.citations] == [(1, DANUBE), (2, VOLGA)]


def test_markers_are_numbered_by_use() -> None:
    hits = [hit(number, f"Text {number}") for number in range(1, 5)]
    text, ordered = renumber_by_use("A [4, 2], b [9] [4]. C [3].", hits)
    assert text == "A [1, 2], b [9] [1]. C [3]."
    assert [one.text for one in ordered] == ["Text 4", "Text 2", "Text 3", "Text 1"]
    assert renumber_by_use("None.", hits) == ("None.", hits)


def test_offline_what_the_documents_do_not_say_is_not_answered() -> None:
    result, _ = worked(
        answer.work, Task(Question("Who invented the bicycle?"), offline_model(), Shelf(*HITS))
    )
    assert (result.citations, result.stopped_because) == ((), "no evidence")


CUT = {"content": f"{DANUBE} [1] And", "finish_reason": "length"}


@pytest.mark.parametrize("name", ["answer", "research", "plan", "assistant", "group"])
def test_an_answer_that_was_cut_carries_the_fact(name: str) -> None:
    def reply(request: Mapping[str, Any]) -> str | Mapping[str, Any]:
        said = system_of(request)
        if "planner" in said or "#E1" in said:
            return "Plan: look\n#E1 = search_documents[Danube]"
        return "Danube" if "Break the" in said else CUT

    played = play(name, scripted_model(reply), "How long is the Danube?")
    assert played.final.content.startswith(DANUBE)
    assert played.final.extra["cut"] == "token_limit"
    assert played.result is not None
    assert played.result.cut == "token_limit"


def test_a_stopped_answer_keeps_its_part() -> None:
    signal = StopSignal()

    def stop_after_two(event: Event) -> None:
        heard.append(event)
        if sum(isinstance(one, TokenDelta) for one in heard) == 2:
            signal.set()

    heard: list[Event] = []
    with bus.listening(stop_after_two), stoppable(signal):
        result = answer.work(
            Task(Question("How?"), scripted_model(["one [1] three four"]), Shelf(*HITS))
        )
    assert result.text.split() == ["one", "[1]"]
    assert result.stopped_because == "stopped"
    (sent,) = [event for event in heard if isinstance(event, MessageSent)]
    assert (sent.status, sent.content) == ("stopped", result.text)
    assert [event.status for event in heard if isinstance(event, ModelReplied)] == ["stopped"]


@pytest.mark.parametrize("work", [answer.work, research.work])
def test_stopped_before_the_answer_nothing_more_is_done(work: Callable[[Task], Answer]) -> None:
    signal, shelf = StopSignal(), Shelf(*HITS)

    def stop(request: Mapping[str, Any]) -> str:
        signal.set()
        return "rewritten"

    with stoppable(signal), pytest.raises(Stopped):
        work(Task(Question("And it?"), scripted_model(stop), shelf, HISTORY))
    assert shelf.asked == []


def test_an_error_of_the_model_comes_through() -> None:
    with pytest.raises(ModelAuthFailed):
        answer.work(Task(Question("Why?"), scripted_model([ModelAuthFailed("no")]), Shelf(*HITS)))


def test_the_researcher_looks_up_each_part_and_hands_over_to_the_writer() -> None:
    model = scripted_model(["1. length of the Danube\n- longest river\n\n", "Both [1][2]."])
    shelf = Shelf(*HITS)
    task = Task(
        Question("How long is the Danube and which river is the longest?"),
        model,
        shelf,
        answer_id="a",
        parent_id="q",
    )
    result, (inner, final) = worked(research.work, task)
    assert shelf.asked == ["length of the Danube", "longest river"]
    assert (inner.sender, inner.recipient, inner.parent_id, inner.extra) == (
        "Researcher",
        "Writer",
        "q",
        {"inner": True},
    )
    assert (final.id, final.sender, final.parent_id) == ("a", "Writer", inner.id)
    assert [citation.marker for citation in result.citations] == [1, 2]


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How long is the Danube?", ["How long is the Danube?"]),
        ("How long is it? Where does it end?", ["How long is it?", "Where does it end?"]),
        ("How long is it, and where does it end?", ["How long is it", "where does it end?"]),
        ("Salt and pepper?", ["Salt and pepper?"]),
        ("a? b? c? d? e? f?", ["a?", "b?", "c?", "d?"]),
        ("?", ["?"]),
    ],
)
def test_questions_are_cut_at_their_parts(question: str, parts: Sequence[str]) -> None:
    assert research.split_question(question) == parts


def test_the_best_of_each_part_come_first_and_every_chunk_once() -> None:
    one, two, three = hit(1, "a"), hit(2, "b"), hit(3, "c")
    assert research.merge([[one, two], [one, three]]) == [one, two, three]
    assert research.merge([[two], [one, two, three]]) == [two, one, three]
    assert research.merge([]) == research.merge([[], []]) == []
    assert len(research.merge([[hit(number, "x") for number in range(1, 40)]])) == research.PASSAGES


@pytest.mark.parametrize("work", [answer.work, research.work])
def test_without_a_passage_the_model_is_told_and_the_offline_one_abstains(
    work: Callable[[Task], Answer],
) -> None:
    parts = ["How long is it?"] if work is research.work else []
    model = scripted_model([*parts, "The documents do not say."])
    result, _ = worked(work, Task(Question("How long is the Danube?"), model, Shelf()))
    assert (result.stopped_because, result.citations) == ("no evidence", ())
    assert isinstance(model.client, ScriptedClient)
    assert answer.NOTHING.strip() in system_of(model.client.requests[-1])
    result, (*_, final) = worked(
        work, Task(Question("How long is the Danube?"), offline_model(), Shelf())
    )
    assert (result.stopped_because, result.citations) == ("no evidence", ())
    assert "no passage was found that fits this question" in result.text
    assert final.extra["citations"] == []


def test_what_stands_in_a_merged_passage_is_no_passage_of_its_own() -> None:
    merged = replace(hit(1, DANUBE + " " + VOLGA), chunk_ids=(101, 102))
    part = replace(merged, chunk_id=102, start=len(DANUBE) + 1, text=VOLGA, chunk_ids=(102,))
    elsewhere = replace(part, document_id="d9")
    assert research.merge([[merged, elsewhere], [part]]) == [merged, elsewhere]
    shelf = {"all": [merged], "part": [part], "other": [elsewhere]}
    found = Findings(Task(Question("?"), offline_model(), shelf.__getitem__))
    assert 'number="1"' in found.search_documents("all")
    assert 'number="1"' in found.search_documents("part"), (
        "its text is in the passage that is cited"
    )
    assert 'number="2"' in found.search_documents("other")
    assert found.hits == [merged, elsewhere]


def test_exact_words_are_found_as_passages_with_the_same_numbers() -> None:
    task = Task(
        Question("?"),
        offline_model(),
        lambda query: [HITS[0]],
        find=lambda text: HITS if text == "2,850" else [],
    )
    found = Findings(task)
    assert 'number="1"' in found.search_documents("how long")
    passages = found.find_exact("2,850")
    assert (passages.count("<passage "), 'number="1"' in passages, 'number="2"' in passages) == (
        2,
        True,
        True,
    )
    assert found.hits == HITS
    assert found.find_exact("2,851").startswith("'2,851' stands nowhere in the documents.")
    assert found.find_exact(" ").startswith("' ' stands nowhere")
    assert "No passage was found" in Findings(
        Task(Question("?"), offline_model(), Shelf())
    ).search_documents("x")
