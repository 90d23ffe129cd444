"""Each kind of event has its class, what is told is taken from facts, and what older versions
stored is still shown.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from agentkit.conversation.compression.rendering import said
from agentkit.conversation.compression.shape import HEADING, is_summary, summary_message
from agentkit.event_json import from_json, to_json
from agentkit.events import (
    KINDS,
    ChatEnded,
    DocumentProgress,
    EmbedderAwaited,
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    Noted,
    PlanMade,
    Recorded,
    Retrieved,
    RunFinished,
    StepDone,
    ToolCalled,
    ToolReturned,
    Unknown,
    WantedCall,
)
from agentkit.ledger import comparing, trace
from agentkit.reasons import EndReason
from agentkit.ui.runs import detail
from agentkit.ui.steps import draw, registry, stepping
from agentkit.ui.steps.kind import Kind
from agentkit.ui.steps.step import Found, Planned, Step, ToolUse
from agentkit.ui.steps.turns import steps

TEA: dict[str, Any] = {
    "document_id": "d",
    "document": "tea.txt",
    "page": 2,
    "place": "",
    "heading": "Green",
    "start": 0,
    "end": 10,
    "text": "80 degrees",
}
GIVEN = {"marker": 3, "document_id": "d", "start": 0, "end": 10}


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(seq, float(seq), event) for seq, event in enumerate(events, start=1)]


def test_every_kind_of_event_has_its_class() -> None:
    missing = {*KINDS.values(), Unknown} - registry._OF.keys()
    assert not missing, f"give them a class in agentkit/ui/steps: {missing}"
    assert all(isinstance(kind, Kind) for kind in registry._OF.values())


PARTS = {"TokenDelta", "ThinkingDelta", "CodeOutput", "DocumentProgress", "EmbedderAwaited"}
"""Pieces of what another kind tells whole, or what is waited for until it comes."""
MEASURED = {"EvaluationBegan", "QuestionBegan", "QuestionTried", "QuestionDrafted"}
ENDS = {"RunFinished", "RunStopped", "ChatEnded"}


@pytest.mark.parametrize(
    ("table", "left_out"),
    [
        (trace._READ, {*PARTS, "ParameterRefused"}),
        (detail._DRAW, {*PARTS, *MEASURED, *ENDS, "LimitTold", "ParameterRefused"}),
        (
            comparing._TOLD,
            {*PARTS, *MEASURED, "RunStarted", "RunFinished", "RunFailed", "RunStopped"}
            | {"ParameterRefused"},
        ),
        (
            stepping._MOMENTS,
            {*PARTS, *MEASURED, "RunStarted", "ModelCalled", "ToolCalled", "CodeBegan"}
            | {"DocumentDone", "ReplyParsed", "ChatEnded", "LimitTold", "ParameterRefused"},
        ),
    ],
    ids=["trace", "its detail", "compared", "stepped through"],
)
def test_every_kind_of_event_is_in_each_table_or_left_out_on_purpose(
    table: Collection[type], left_out: set[str]
) -> None:
    assert {name for name, kind in KINDS.items() if kind not in table} == left_out


def test_passages_come_with_the_result_and_not_out_of_its_text() -> None:
    called = ToolCalled("t", "Library", "search_documents", "{}")
    found = Retrieved("tea", "Kitchen", "hybrid", [TEA], 0.1)
    returned = ToolReturned(
        "t", "Library", "search_documents", True, "in whatever form", passages=[GIVEN]
    )
    assert steps(recorded(called, found, returned)) == [ToolUse(called, returned, (Found(3, TEA),))]
    older = ToolReturned(
        "t",
        "Library",
        "search_documents",
        True,
        '<passage number="3" source="tea.txt">\n80\n</passage>',
    )
    assert steps(recorded(called, found, older)) == [ToolUse(called, older)], (
        "its text is shown as it stands"
    )


def question(options: list[str], answer: str, draft: str = "{}") -> Step:
    """A question with its answer, both read from what is stored."""
    asked = HumanInputRequested("r", "Runner", "May it run?", options, draft, "json")
    events = [from_json(to_json(event)) for event in (asked, HumanAnswered("r", answer))]
    (step,) = steps(recorded(*events))
    return step


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("approve", "Approve"),
        ("approve_all", "Approve all"),
        ("always", "Always allow"),
        ("edit\n{}", "Edit\n{}"),
        ("reject\ntoo far", "Reject\ntoo far"),
        ("reject", "Reject"),
        ("maybe", "maybe"),
    ],
)
def test_what_was_chosen_is_told_alike_where_an_older_version_stored_labels(
    key: str, label: str
) -> None:
    now = question(["approve", "approve_all", "always", "edit", "reject"], key)
    older = question(["Approve", "Approve all", "Always allow", "Edit", "Reject"], label)
    assert draw.describe(now) == draw.describe(older)
    assert draw.describe(question(["Writer", "finish"], "finish", "")) == draw.describe(
        question(["Writer", "Finish here"], "Finish here", "")
    )


@pytest.mark.parametrize(
    ("wants", "draft", "told"),
    [
        (None, "{}", "Runner asked: May it run?"),
        (WantedCall("Writer", "shout"), "{}", "Writer asked: May I use `shout`?"),
        (
            WantedCall("Writer", "stock", "shop"),
            '{"product": "tea"}',
            "Writer asked: May I use `stock` of the MCP server `shop` with these arguments?",
        ),
        (
            WantedCall("Writer", "stock", "shop", again=True),
            "{}",
            "it is not known whether it was done. May I use it again?",
        ),
    ],
)
def test_who_wants_which_tool_is_told_where_it_is_known(
    wants: WantedCall | None, draft: str, told: str
) -> None:
    asked = HumanInputRequested("r", "Runner", "May it run?", [], draft, "json", wants=wants)
    (step,) = steps(recorded(from_json(to_json(asked))))
    assert told in draw.describe(step)
    stored = to_json(asked)
    del stored["wants"]  # as an older version wrote it
    (older,) = steps(recorded(from_json(stored)))
    assert "Runner asked: May it run?" in draw.describe(older)


def test_what_the_person_said_is_told() -> None:
    assert draw.describe(question(["approve", "reject"], "reject\ntoo far")).endswith(
        r"**You:** no\: too far"
    )
    assert draw.describe(question(["Writer", "finish"], "Writer", "")).endswith("**You:** Writer")
    assert draw.describe(question(["Writer", "finish"], "finish", "")).endswith(
        "**You:** Finish here"
    )
    assert draw.describe(question([], "edit", "")).endswith("**You:** edit"), "words of their own"


def test_a_plans_step_has_its_passages_and_the_reason_of_its_failure() -> None:
    looks_up = {
        "label": "#E1",
        "thought": "",
        "tool": "search_documents",
        "arguments": "tea",
        "needs": [],
    }
    computes = {"label": "#E2", "thought": "", "tool": "calculate", "arguments": "1/0", "needs": []}
    done = StepDone(
        "Planner", "p", "#E1", "search_documents", "tea", True, "in whatever form", passages=[GIVEN]
    )
    failed = StepDone(
        "Planner",
        "p",
        "#E2",
        "calculate",
        "1/0",
        False,
        "in whatever form",
        error="division by zero",
    )
    found = Retrieved("tea", "Kitchen", "hybrid", [TEA], 0.1)
    (plan,) = steps(
        recorded(PlanMade("Planner", "p", 1, [looks_up, computes]), found, done, failed)
    )
    assert isinstance(plan, Planned)
    assert plan.found == {"#E1": (Found(3, TEA),), "#E2": ()}
    assert plan.done["#E2"].error == "division by zero"


def test_a_group_says_once_why_it_is_over_in_whatever_words() -> None:
    end = EndReason("rounds", limit=16)
    over = ChatEnded("User", "Group", "qwertz", end=end)
    assert steps(recorded(Noted("Group", "asdf", end), over)) == [over]
    other = Noted("Group", "asdf", EndReason("finished"))
    assert steps(recorded(other, over)) == [other, over]
    assert draw.describe(over).endswith("the limit of 16 messages was reached")


def test_what_older_versions_stored_is_shown_in_their_words() -> None:
    over = ChatEnded("User", "Group", "max_round reached (16)")
    assert (
        draw.describe(over) == r":material/flag: User and Group are done: max\_round reached \(16\)"
    )
    reading, read = (
        DocumentProgress("a", "a.txt", "parse"),
        Noted("Extractor", "a.txt: 1 of 2 fields"),
    )
    assert steps(recorded(reading, read)) == [reading, read]
    assert steps(recorded(reading, read, RunFinished())) == [read], (
        "the run is over: nothing is being read"
    )


def test_metadata_of_others_is_no_phase_of_a_game() -> None:
    for metadata in (True, "night", {"begins": 7}, {"begins": {"phase": "noon"}}):
        message = MessageSent(
            "m", None, "A", "B", "assistant", "Hello.", extra={"inner": True, "metadata": metadata}
        )
        assert steps(recorded(message)) == [message]


def test_a_summary_is_known_by_its_mark() -> None:
    made = summary_message("They spoke of tea.")
    assert is_summary({**made, "content": "In short:\nThey spoke of tea."})
    assert list(said({**made, "content": "In short:\nThey spoke of tea."})) == [
        ("SUMMARY", "They spoke of tea.")
    ]
    pasted = {"role": "user", "content": f"{HEADING}\nThey spoke of tea."}
    assert not is_summary(pasted)
    assert [label for label, _ in said(pasted)] == ["USER"]


def test_a_wait_for_the_embedding_model_is_told_while_it_lasts() -> None:
    [step] = steps(recorded(EmbedderAwaited("bge")))
    assert draw.describe_doing(step).startswith("Getting the embedding model ready")
    assert draw.describe(step).endswith("Waited for bge to be ready")
    assert registry.kind_of(step).is_small_print(step)
