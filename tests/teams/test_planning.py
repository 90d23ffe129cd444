"""The team that plans first: what it asks for, what it does when plans and steps go wrong, and what
it cites.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import runs
from agentkit.core.tools import effects
from agentkit.errors import AgentkitError, ModelAuthFailed, Stopped, WrongArgument
from agentkit.events import (
    Event,
    ModelCalled,
    Noted,
    PlanMade,
    StepDone,
    TokenDelta,
    ToolCalled,
    ToolReturned,
)
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import message, text_of
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer, Question, Task
from agentkit.teams.findings import Findings
from agentkit.teams.planning import team as planning
from agentkit.teams.planning.calculator import calculate
from agentkit.workspace import SAMPLES, Workspace
from tests.conftest import MODELS
from tests.teams.stage import DANUBE, VOLGA, Played, asked, hit, look_up, play

TWO = (
    "Plan: the Danube\n#E1 = search_documents[Danube]\nPlan: the Volga\n#E2 ="
    " search_documents[Volga]"
)
UNKNOWN = "Plan: ask around\n#E1 = web_search[Danube]"
QUESTION = "How long is the Danube, and what is the longest river?"


def solve(request: Mapping[str, Any]) -> str:
    """An answer of all passages in the prompt, each with its number."""
    told = "\n".join(text_of(said["content"]) for said in request["messages"])
    return " ".join(f"{found.text} [{found.marker}]" for found in parse_passages(told))


def evidence(played: Played) -> dict[str, tuple[bool, str]]:
    return {step.label: (step.ok, step.evidence) for step in played.of(StepDone)}


def test_two_calls_answer_a_question_of_two_parts_with_citations_for_both() -> None:
    model = scripted_model([TWO, solve])
    played = play("plan", model, QUESTION)
    assert {cited["text"] for cited in played.final.extra["citations"]} == {DANUBE, VOLGA}
    assert all(
        f"{cited['text']} [{cited['marker']}]" in played.final.content
        for cited in played.final.extra["citations"]
    )
    (made,) = played.of(PlanMade)
    assert [(step["label"], step["tool"], step["arguments"]) for step in made.steps] == [
        ("#E1", "search_documents", "Danube"),
        ("#E2", "search_documents", "Volga"),
    ]
    assert {step.plan_id for step in played.of(StepDone)} == {made.plan_id}
    assert [called.agent for called in played.of(ModelCalled)] == ["Planner", "Solver"]
    assert played.final.sender == "Solver"
    assert (played.final.status, played.inner) == ("complete", [])
    assert played.result is not None
    assert played.result.stopped_because == "answered"
    assert QUESTION in asked(model)[1][-1]["content"]


def test_earlier_turns_go_along_without_their_markers() -> None:
    model = scripted_model([TWO, "Long [1]."])
    play(
        "plan",
        model,
        QUESTION,
        history=[message("user", "Hello"), message("assistant", "The Rhine is long [1].")],
    )
    for request in asked(model):
        assert {"role": "assistant", "content": "The Rhine is long ."} in [
            {"role": said["role"], "content": said["content"]} for said in request
        ]


def test_a_wrong_plan_goes_back_to_the_planner() -> None:
    model = scripted_model([UNKNOWN, TWO, solve])
    played = play("plan", model, QUESTION)
    wrong, right = played.of(PlanMade)
    assert "unknown tool 'web_search'" in wrong.error
    assert (wrong.attempt, wrong.steps, right.attempt, right.error, right.plan_id) == (
        1,
        [],
        2,
        "",
        wrong.plan_id,
    )
    assert wrong.error in asked(model)[1][-1]["content"]
    assert len(played.final.extra["citations"]) == 2


def test_without_any_plan_the_question_is_looked_up_as_it_stands_and_the_person_is_told() -> None:
    played = play(
        "plan", scripted_model(["The Danube is long.", UNKNOWN, solve]), "How long is the Danube?"
    )
    assert evidence(played)["#E1"][0]
    assert [cited["text"] for cited in played.final.extra["citations"]] == [DANUBE]
    (note,) = played.final.extra["notes"]
    assert note["text"] == "No plan could be made, so the question was looked up as it stands."
    assert "web_search" in note["detail"]
    assert note in [{"text": noted.text, "detail": noted.detail} for noted in played.of(Noted)]


def test_a_step_reads_a_value_and_the_next_one_computes_with_it() -> None:
    plan = (
        "Plan: find it\n#E1 = search_documents[Danube]\n"
        "Plan: the number\n#E2 = read_result[How many kilometres? #E1]\n"
        "Plan: half\n#E3 = calculate[#E2 / 2]"
    )
    model = scripted_model([plan, "2850", "1425 km [1]."])
    played = play("plan", model)
    assert evidence(played)["#E3"] == (True, "1425")
    assert [called.agent for called in played.of(ModelCalled)] == ["Planner", "Reader", "Solver"]
    assert DANUBE in asked(model)[1][-1]["content"]
    assert [cited["marker"] for cited in played.final.extra["citations"]] == [1]


def test_failed_steps_are_planned_anew_once_with_what_is_known() -> None:
    plan = "Plan: find it\n#E1 = search_documents[Danube]\nPlan: half\n#E2 = calculate[half of it]"
    again = "Plan: half\n#E3 = calculate[2850 / 2]"
    model = scripted_model([plan, again, "1425 km [1]."])
    played = play("plan", model)
    assert evidence(played)["#E2"][0] is False
    assert evidence(played)["#E3"] == (True, "1425")
    assert [
        returned.ok for returned in played.of(ToolReturned) if returned.name == "calculate"
    ] == [False, True]
    assert "is not arithmetic" in asked(model)[1][-1]["content"]
    assert DANUBE in asked(model)[2][-1]["content"]
    assert len(played.of(PlanMade)) == 2


def test_a_step_that_fails_again_is_told_to_the_solver() -> None:
    model = scripted_model(
        [f"Plan: sum\n#E{number} = calculate[x]" for number in (1, 2)]
        + ["The documents do not tell."]
    )
    played = play("plan", model)
    assert len(played.of(PlanMade)) == 2
    assert "[failed: 'x' cannot be computed" in asked(model)[2][-1]["content"]
    assert played.final.content == "The documents do not tell."


def test_tools_of_the_user() -> None:
    @effects("none")
    def tide(place: str) -> str:
        """The tide at a place."""
        return f"high at {place}"

    model = scripted_model(["Plan: tide\n#E1 = tide[Skarholm]", "High."])
    planning.work(Task(Question("How is the tide?"), model, look_up, tools=[tide]))
    assert "high at Skarholm" in asked(model)[1][-1]["content"]
    assert "The tide at a place." in asked(model)[0][0]["content"]


def book(place: str) -> str:
    """Book a ferry to a place."""
    if place == "nowhere":
        raise LookupError("no such place")
    return f"booked for {place}"


BOOKING = "Plan: book\n#E1 = book[Riga]"


def test_what_may_change_something_runs_when_it_is_approved() -> None:
    model = scripted_model([BOOKING, "Booked."])
    played = play("plan", model, answers=["approve"], tools=[book])
    (question,) = played.questions
    assert (question.agent, question.draft, question.language) == ("Planner", "Riga", "text")
    assert evidence(played)["#E1"] == (True, "booked for Riga")


def test_changed_input_is_what_a_step_runs_with() -> None:
    for plan, edit in (
        (BOOKING, "Oslo"),
        ('Plan: book\n#E1 = book[{"place": "Riga"}]', '{"place": "Oslo"}'),
    ):
        played = play(
            "plan", scripted_model([plan, "Booked."]), answers=[f"edit\n{edit}"], tools=[book]
        )
        assert evidence(played)["#E1"] == (True, "booked for Oslo")


def test_a_rejected_step_does_not_run_and_the_solver_is_told_why() -> None:
    model = scripted_model([BOOKING, BOOKING, "Not booked."])
    played = play("plan", model, answers=["reject\ntoo far", "reject"], tools=[book])
    assert [event for event in played.of(ToolCalled) if event.name == "book"] == []
    assert "too far" in asked(model)[1][-1]["content"]
    assert "rejected this call" in asked(model)[2][-1]["content"]


def test_steps_at_once_are_asked_about_one_by_one() -> None:
    plan = "\n".join(
        f"Plan: book\n#E{number} = book[{place}]"
        for number, place in enumerate(("Riga", "Oslo", "Bergen"), 1)
    )
    played = play(
        "plan", scripted_model([plan, "Booked."]), answers=["approve", "approve_all"], tools=[book]
    )
    assert len(played.questions) == 2
    assert [ok for ok, _ in evidence(played).values()] == [True, True, True]


def test_find_exact_is_there_when_something_is_behind_it() -> None:
    plan = "Plan: find it\n#E1 = find_exact[Volga]"
    played = play("plan", scripted_model([plan, solve]), find=look_up)
    assert [cited["text"] for cited in played.final.extra["citations"]] == [VOLGA]
    played = play("plan", scripted_model([plan, TWO, solve]))
    assert "unknown tool 'find_exact'" in played.of(PlanMade)[0].error


def test_what_the_solver_had_written_when_it_was_stopped_is_kept() -> None:
    def stop(event: Event, run: Run[Answer]) -> None:
        if isinstance(event, TokenDelta) and "kilometres" in event.text:
            run.stop()

    model = scripted_model(
        [TWO, "It is 2,850 kilometres [1] long, and then it flows on and on and on."], delay_s=0.03
    )
    played = play("plan", model, QUESTION, on_event=stop)
    assert played.final.status == "stopped"
    assert played.final.content.startswith("It is 2,850 kilometres")
    assert not played.final.content.endswith("on.")


def test_stopped_in_a_step_nothing_is_said() -> None:
    began = threading.Event()

    def slow(query: str) -> list[Any]:
        began.set()
        runs_on.wait(120)
        return []

    runs_on = threading.Event()
    task = Task(Question(QUESTION), scripted_model([TWO, "never said"]), slow)
    run = runs.start(lambda: planning.work(task), kind="chat", owner="stage")
    assert began.wait(60)
    run.stop()
    assert run.wait(60)
    runs_on.set()
    with pytest.raises(Stopped):
        run.result()


@pytest.mark.parametrize(
    "replies", [[ModelAuthFailed("wrong key")], [TWO, ModelAuthFailed("wrong key")]]
)
def test_what_the_model_raises_ends_the_work(replies: list[Any]) -> None:
    played = play("plan", scripted_model(replies), QUESTION)
    assert isinstance(played.error, ModelAuthFailed)


def test_offline_each_part_is_looked_up_and_quoted() -> None:
    played = play(
        "plan",
        offline_model(),
        "How long is the Danube? What is the longest river in Europe, the Volga?",
    )
    (made,) = played.of(PlanMade)
    assert [step["tool"] for step in made.steps] == ["search_documents"] * 2
    assert [step.label for step in played.of(StepDone)] == ["#E1", "#E2"]
    assert [(cited["marker"], cited["text"]) for cited in played.final.extra["citations"]] == [
        (1, DANUBE),
        (2, VOLGA),
    ]
    assert played.final.sender == "Solver"


def test_offline_a_part_that_leans_on_the_one_before_is_looked_up_with_it() -> None:
    steps = planning.plan_lookups("How long is the [old] Danube and where does it end?").steps
    assert [step.arguments for step in steps] == [
        '{"query": "How long is the [old] Danube"}',
        '{"query": "How long is the [old] Danube where does it end?"}',
    ]


def test_a_question_may_contain_what_looks_like_the_result_of_a_step() -> None:
    for model in (offline_model(), scripted_model(["no", "no", solve])):
        played = play("plan", model, "Is #E2 the Danube?")
        assert evidence(played)["#E1"][0]
        assert '"query": "Is #E2 the Danube?"' in played.of(ToolCalled)[0].arguments


def test_offline_an_error_in_every_step_is_the_result() -> None:
    def broken(query: str) -> list[Any]:
        raise AgentkitError("the index is damaged")

    with pytest.raises(AgentkitError, match="Nothing could be looked up: the index is damaged"):
        planning.work(Task(Question("How long is the Danube?"), offline_model(), broken))


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The sample documents behind the embedding model that ships with the project."""
    workspace = Workspace(
        Settings(data=tmp_path_factory.mktemp("samples") / "data", model_folder=MODELS)
    )
    assert len(workspace.ingest_samples("owner").result()) == 8
    yield workspace
    workspace.close()


def test_a_question_of_two_parts_over_the_samples_has_citations_for_both(
    samples: Workspace,
) -> None:
    question = (
        "How long does the warranty on a Tidemark 2 last, and how many days of annual leave do"
        " employees have?"
    )
    run = samples.ask("owner", question, collection=SAMPLES, team_id="plan")
    answer = run.result()
    made = [recorded.event for recorded in run.events() if isinstance(recorded.event, PlanMade)]
    assert [step["thought"] for step in made[0].steps] == question.split(", and ")
    first, second = answer.text.split("\n\n")
    for part, words in ((first, "3 years"), (second, "days")):
        markers = [cited for cited in answer.citations if f"[{cited.marker}]" in part]
        assert words in part
        assert any(words in cited.text for cited in markers)
    assert {"employee-handbook.pdf"} < {cited.document for cited in answer.citations}


def test_passages_keep_their_numbers_when_steps_find_at_the_same_time() -> None:
    hits = [hit(number, f"text {number}") for number in range(1, 41)]
    found = Findings(
        Task(Question("?"), scripted_model([]), lambda query: hits[int(query) : int(query) + 20])
    )
    shown: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: shown.append(found.search_documents(str(n))))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for passage in (passage for text in shown for passage in parse_passages(text)):
        assert found.hits[passage.marker - 1].text == passage.text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * -3", "-9"),
        ("7 / 2", "3.5"),
        ("0.1 + 0.2", "0.3"),
        ("7 // 2 + 7 % 2", "4"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("12 × 3 ÷ 4 − 1", "8"),
        ("round(29 * 12 / 7, 2)", "49.71"),
        ("sqrt(2)", "1.41421356237"),
        ("max(1, 2.5) + min(3, 4) + sum(1, 2)", "8.5"),
        ("floor(-1.5) + ceil(1.2) + abs(-3)", "3"),
        ("1e300", "1e+300"),
    ],
)
def test_the_calculator_computes(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "1 to 300 characters"),
        ("1+" * 200 + "1", "1 to 300 characters"),
        ("12 km * 3", "without units"),
        ("1 / 0", "divides by zero"),
        ("1,200 * 2", "is not allowed"),
        ("2 ^ 3", r"written with \*\*"),
        ("__import__('os').getpid()", "is not allowed"),
        ("(1).__class__", "is not allowed"),
        ("9 ** 9 ** 9", "too large"),
        ("10.0 ** 400", "too large"),
        ("(-1) ** 0.5", "no real number"),
        ("round(5, -1000000000)", "round takes"),
        ("sqrt(-1)", "cannot be computed"),
        ("max()", "cannot be computed"),
        ("True + 1", "is not allowed"),
        ("[1] * 10 ** 9", "is not allowed"),
        ("(" * 299, "not arithmetic"),
        ("-" * 299 + "1", ""),
    ],
)
def test_the_calculator_refuses_the_rest_and_says_why(expression: str, problem: str) -> None:
    if problem:
        with pytest.raises(WrongArgument, match=problem):
            calculate(expression)
    else:
        assert calculate(expression) == "-1"


@given(st.text(alphabet="0123456789.+-*/%() ,eround", max_size=60))
def test_the_calculator_answers_or_refuses_whatever_is_written(expression: str) -> None:
    try:
        value = calculate(expression)
    except WrongArgument:
        return
    assert len(value) < 1300
    float(value) if len(value) < 300 else int(value)


@given(st.integers(-999, 999), st.integers(-999, 999), st.integers(1, 99))
def test_the_calculator_agrees_with_python(a: int, b: int, c: int) -> None:
    assert calculate(f"({a} - {b}) * {c} % {c + 1} // {c}") == str((a - b) * c % (c + 1) // c)
