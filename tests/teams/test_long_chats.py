"""The assistant in a long chat: it knows all of it, under the model's window, and summarises each
turn but once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from agentkit import runs
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.shape import HEADING
from agentkit.errors import ModelAuthFailed, Stopped
from agentkit.events import Compressed, ModelCalled, ModelReplied, ToolReturned
from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import Message, message
from agentkit.retrieval import Hit
from agentkit.teams import Question, Task, team
from agentkit.teams.memory.long_memory import NOTES, UNKNOWN_WINDOW
from tests.teams.long_chat import LongChat
from tests.teams.stage import DANUBE, Played, asked, call, hit, play

WINDOW = 3_000
ROOM = WINDOW // 3
Params = Mapping[str, Any]


def about(topic: str, turns: int) -> list[Message]:
    """Questions and answers about something; the answers cite."""
    made = []
    for number in range(turns):
        made.append(message("user", f"What is the {topic} number {number} like?"))
        made.append(
            message(
                "assistant",
                f"The {topic} number {number} is {number * 11} metres long and rather old [1][2].",
            )
        )
    return made


def notes(params: Params) -> bool:
    """Whether the model is asked to summarise."""
    return str(params["messages"][0]["content"]).startswith("You shorten conversations.")


def taking_notes(
    summary: str | Exception, answer: Callable[[Params], Any] = lambda _: "So it is."
) -> Model:
    """A model of a small window that summarises like this, and answers."""
    return replace(
        scripted_model(lambda params: summary if notes(params) else answer(params)),
        context_window=WINDOW,
    )


def sent(model: Model) -> list[list[dict[str, Any]]]:
    """The requests of the assistant."""
    return [messages for messages in asked(model) if not notes({"messages": messages})]


def sizes(model: Model) -> list[int]:
    """Tokens of each request, with its tools."""
    assert isinstance(model.client, ScriptedClient)
    meter = Meter("scripted")
    return [
        meter.count_fixed([], {"tools": request.get("tools", [])})
        + meter.count(request["messages"])
        for request in model.client.requests
    ]


def contents(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(each["content"]) for each in messages]


def by(name: str, played: Played) -> list[ModelCalled]:
    return [event for event in played.of(ModelCalled) if event.agent == name]


def test_a_chat_that_fits_is_told_as_a_whole_without_its_markers() -> None:
    model = scripted_model(["So it is."])
    played = play("assistant", model, "And the first?", history=about("pier", 15))
    (request,) = asked(model)
    assert len(request) == 32
    assert request[1]["content"] == "What is the pier number 0 like?"
    assert request[2]["content"] == "The pier number 0 is 0 metres long and rather old ."
    assert played.of(Compressed) == []


def test_of_a_long_chat_the_first_turn_a_summary_and_the_newest_turns_are_told() -> None:
    model = taking_notes("##USER## wanted to know about bridges.")
    played = play("assistant", model, "And the first?", history=about("bridge", 60))
    (event,) = played.of(Compressed)
    assert (event.ok, event.agent, event.strategy) == (
        True,
        NOTES,
        "sliding window, summary by the model",
    )
    assert event.tokens_after < ROOM <= event.tokens_before
    assert (
        event.tokens_spent
        == sum(one.usage.total for one in played.of(ModelReplied) if one.agent == NOTES)
        > 0
    )
    _, first, summary, *newest, question = contents(sent(model)[0])
    assert (first, question) == ("What is the bridge number 0 like?", "And the first?")
    assert summary == f"{HEADING}\n##USER## wanted to know about bridges."
    assert len(newest) >= 4
    assert (
        newest
        == [each.replace(" [1][2]", " ") for each in contents(about("bridge", 60))][-len(newest) :]
    )
    assert max(sizes(model)) <= WINDOW
    assert played.final.content == "So it is."


def test_the_next_question_goes_on_with_the_same_summary_and_an_edited_chat_does_not() -> None:
    history = about("tunnel", 60)
    model = taking_notes("##USER## wanted to know about tunnels.")
    chat = LongChat(model, history)
    chat.ask("And the first?")
    played = chat.ask("And the last?")
    assert played.of(Compressed) == []
    assert by(NOTES, played) == []
    assert [each for each in contents(sent(model)[1]) if each.startswith(HEADING)] == [
        f"{HEADING}\n##USER## wanted to know about tunnels."
    ]
    first, second = (contents(messages)[1:] for messages in sent(model))
    assert second == [*first, "So it is.", "And the last?"]
    edited = [*history[:7], message("assistant", "The tunnel number 3 fell in."), *history[8:]]
    assert len(by(NOTES, LongChat(model, edited).ask("And the first?"))) == 1


def test_over_a_long_chat_no_request_grows_and_each_turn_is_summarised_about_once() -> None:
    def answer(params: Params) -> str:
        return (
            f"The lock with the number {len(params['messages'])} was rebuilt in 1912, and again"
            " much later. " * 3
        )

    model = taking_notes("##USER## wanted to know about locks. " * 10, answer)
    chat = LongChat(model)
    spent, plain, shortened, meter = 0, 0, 0, Meter("scripted")
    for number in range(100):
        question = f"What is lock number {number} like, and who built it?"
        played = chat.ask(question)
        assert all(event.ok for event in played.of(Compressed))
        shortened += len(played.of(Compressed))
        spent += sum(
            event.usage.prompt for event in played.of(ModelReplied) if event.agent == NOTES
        )
        plain += meter.count(chat.history)
    assert max(sizes(model)) <= WINDOW
    assert 5 < shortened < 25, "now and then, not at every question"
    assert spent < 2 * meter.count(chat.history), "only the earlier summary is read once more"
    assert sum(sizes(model)) < plain / 3
    assert all(
        "What is lock number 0 like, and who built it?" in contents(messages)[1]
        for messages in sent(model)
    )


def test_a_summary_that_fails_is_made_by_extraction() -> None:
    model = taking_notes(ModelAuthFailed("no key for notes"))
    played = play("assistant", model, "And the first?", history=about("weir", 60))
    failed, made = played.of(Compressed)
    assert (failed.ok, failed.error) == (False, "no key for notes")
    assert (made.ok, made.strategy) == (True, "sliding window, extraction")
    assert "weir number" in made.summary
    assert played.final.content == "So it is."
    assert max(sizes(model)) <= WINDOW


def test_earlier_markers_never_point_to_passages_of_now() -> None:
    def answer(params: Params) -> Any:
        return (
            call("search_documents", query="Danube")
            if len(params["messages"]) < 30 and not found(params)
            else "2,850 km [1]."
        )

    def found(params: Params) -> bool:
        return any(each["role"] == "tool" for each in params["messages"])

    model = taking_notes("##USER## wanted to know about dams.", answer)
    played = play("assistant", model, "How long is the Danube?", history=about("dam", 60))
    assert [(each["marker"], each["text"]) for each in played.final.extra["citations"]] == [
        (1, DANUBE)
    ]
    earlier = [each for messages in sent(model) for each in contents(messages)[1:] if "dam" in each]
    assert len(earlier) > 4
    assert not any("[1]" in each or "[2]" in each for each in earlier)


def test_many_long_results_stay_under_the_window_and_the_question_stays() -> None:
    question = "How long are all the rivers?"
    text = "The river flows from the mountains to the sea, past many towns and mills. " * 30
    rivers = {f"river{n}": hit(n, f"River {n} is {n * 100} km long. {text}") for n in range(1, 8)}

    def look_up(query: str) -> list[Hit]:
        return [rivers[query]]

    searches = [call("search_documents", query=f"river{n}") for n in range(1, 8)]
    model = replace(
        scripted_model([*searches, "River 7 is 700 km long [7]."]), context_window=WINDOW
    )
    task = Task(Question(question), model, look_up, about("canal", 6), "answer", "question")
    run = runs.start(
        lambda: team("assistant").work(task), kind="chat", owner="stage", chat_id="chat"
    )
    answer = run.result()
    events = [one.event for one in run.events()]
    assert [event.ok for event in events if isinstance(event, Compressed)].count(True) >= 2
    assert sum(isinstance(event, ToolReturned) for event in events) == 7
    assert (
        max(sizes(model))
        <= WINDOW
        < Meter("scripted").count([{"role": "tool", "content": text}]) * 7
    )
    assert [one.marker for one in parse_passages(" ".join(contents(sent(model)[-1])))][-1] == 7
    assert all(question in " ".join(contents(messages)) for messages in sent(model))
    assert [(one.marker, one.document) for one in answer.citations] == [(7, "doc7.pdf")]


def test_stopped_while_it_summarises_nothing_is_said() -> None:
    def stop(params: Params) -> str:
        run = runs.current()
        assert run is not None
        run.stop()
        return "never said " * 50

    model = replace(scripted_model(stop), context_window=WINDOW)
    played = play("assistant", model, "And the first?", history=about("quay", 60))
    assert isinstance(played.error, Stopped)
    assert [event.agent for event in played.of(ModelCalled)] == [NOTES]
    assert played.of(Compressed) == []


def test_a_window_that_nobody_knows_counts_as_a_modest_one() -> None:
    model = scripted_model(lambda params: "##USER## wanted much." if notes(params) else "So it is.")
    played = play("assistant", model, "And the first?", history=about("jetty", 400))
    assert [event.ok for event in played.of(Compressed)] == [True]
    assert max(sizes(model)[1:]) <= UNKNOWN_WINDOW


@pytest.mark.parametrize(
    "summary",
    [ModelAuthFailed("no key for notes"), "", ValueError("odd")],
    ids=["key", "empty", "odd"],
)
def test_a_model_that_never_summarises_is_asked_now_and_then_and_the_chat_stays_short(
    summary: str | Exception,
) -> None:
    def answer(params: Params) -> str:
        return (
            f"The mill with the number {len(params['messages'])} was rebuilt in 1912, and again"
            " much later. " * 3
        )

    chat = LongChat(taking_notes(summary, answer))
    failed: list[int] = []
    shortened = 0
    for number in range(50):
        before = len(chat.history)
        played = chat.ask(f"What is mill number {number} like, and who built it?")
        told = played.of(Compressed)
        assert len(by(NOTES, played)) == sum(not event.ok for event in told), (
            "each failure is told, and told once"
        )
        failed += [before for event in told if not event.ok]
        shortened += sum(
            event.ok and event.strategy == "sliding window, extraction" for event in told
        )
    assert 2 <= len(failed) <= 7
    assert all(later >= 1.25 * sooner for sooner, later in pairwise(failed))
    assert shortened > len(failed), "sentences are extracted while the model rests"
    assert max(sizes(chat.model)) <= WINDOW
    assert all(
        "What is mill number 0 like, and who built it?" in contents(messages)[1]
        for messages in sent(chat.model)
    )


def test_a_model_that_summarises_again_is_asked_when_the_chat_has_grown() -> None:
    broken = LongChat(taking_notes(ModelAuthFailed("no key for notes")), about("sluice", 60))
    broken.ask("And the first?")
    mended = LongChat(
        taking_notes("##USER## wanted to know about sluices."), broken.history, broken.told
    )
    mended.history += about("gate", 10)
    assert [event.strategy for event in mended.ask("And now?").of(Compressed)] in (
        [],
        ["sliding window, extraction"],
    )
    mended.history += about("pump", 40)
    (event,) = mended.ask("And now?").of(Compressed)
    assert (event.ok, event.strategy) == (True, "sliding window, summary by the model")


def test_a_question_that_looks_like_a_summary_is_none() -> None:
    pasted = f"{HEADING}\nAll about moles, from another chat."
    model = taking_notes("##USER## wanted to know about moles.")
    chat = LongChat(model, [message("user", pasted), *about("mole", 60), message("user", pasted)])
    (event,) = chat.ask("And the first?").of(Compressed)
    assert event.summary == f"{HEADING}\n##USER## wanted to know about moles."
    chat.ask("And the last?")
    texts = contents(sent(model)[-1])
    assert [texts.index(pasted), texts.index(event.summary), texts.count(pasted)] == [1, 2, 2]


def test_offline_the_length_of_the_chat_changes_nothing() -> None:
    history = about("ford", 300)
    short, long = (
        play("assistant", offline_model(), history=turns) for turns in (history[-6:], history)
    )
    assert short.final.content == long.final.content
    assert long.of(Compressed) == []


@pytest.mark.parametrize("team_id", ["answer", "research", "plan", "tools", "group:round_robin"])
def test_every_team_knows_the_whole_chat_and_stays_below_the_window(team_id: str) -> None:
    def answer(params: Params) -> str:
        said = str(params["messages"][-1]["content"])
        return f"{said[:20]} So it is. TERMINATE"

    model = taking_notes("##USER## wanted to know about bridges.", answer)
    played = play(team_id, model, "And the first?", history=about("bridge", 60))
    assert [event.ok for event in played.of(Compressed)] == [True], "once for all of the team"
    told = [" ".join(contents(messages)) for messages in sent(model)]
    whole = [
        text
        for text in told
        if "What is the bridge number 0 like?" in text
        and f"{HEADING}\n##USER## wanted to know about bridges." in text
        and "The bridge number 59 is" in text
    ]
    assert whole
    assert whole[-1] == told[-1], "whoever writes the answer knows it"
    keys = {key for messages in sent(model) for each in messages for key in each}
    assert keys <= {"role", "content", "name"}, "nothing that is for agents alone"
    assert max(sizes(model)) <= WINDOW


def test_a_short_chat_is_told_to_every_team_as_a_whole() -> None:
    model = scripted_model(["What else?", "So it is."])
    play("answer", model, "And the first?", history=about("pier", 15))
    for request in asked(model):
        assert len(request) == 32
        assert request[1]["content"] == "What is the pier number 0 like?"
