"""Runs found by what they are, in any order, by the page; and what stands in one."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from agentkit.errors import NotFound
from agentkit.events import (
    DocumentDone,
    ModelCalled,
    Recorded,
    RunFailed,
    RunFinished,
    RunStarted,
    Usage,
)
from agentkit.events import Event as AnyEvent
from agentkit.ledger import Chat, Ledger, LedgerWriter, RunKey, run_list
from agentkit.ledger.run_list import RunFilter, RunSort
from tests.ledger.conftest import NOON, OWNER, call, say


def keep(
    ledger: Ledger,
    name: str,
    *events: AnyEvent,
    kind: str = "chat",
    team: str = "",
    day: int = 0,
    chat_id: str | None = None,
) -> str:
    """A run of that name as its id and title, a second for each event."""
    began = (NOON + timedelta(days=day)).timestamp()
    writer = LedgerWriter(ledger, RunKey(name, OWNER, chat_id))
    ends = () if events and isinstance(events[-1], RunFailed) else (RunFinished(),)
    told = [RunStarted(kind, f"about {name}", team=team), *events, *ends]
    for seq, event in enumerate(told, start=1):
        writer.write(Recorded(seq, began + seq, event))
    return name


mine = partial(RunFilter, OWNER)


def found(ledger: Ledger, chosen: RunFilter, sort: RunSort = "newest") -> list[str]:
    runs = run_list.list_runs(ledger, chosen, sort)
    assert run_list.count(ledger, chosen) == len(runs)
    return [run.id for run in runs]


@pytest.fixture
def four(ledger: Ledger, chat: Chat) -> Ledger:
    """A ledger with four runs."""
    keep(
        ledger,
        "Danube",
        say("m", None, "How long is the Danube, all in all?"),
        call(Usage(input=10), cost=0.5),
        team="answer",
        chat_id=chat.id,
    )
    keep(ledger, "Elbe", call(Usage(input=900), model="big"), team="group", day=1)
    done = DocumentDone("d-1", "rivers.md", "indexed")
    keep(ledger, "rivers", done, call(Usage(input=5), cost=2.0), kind="ingest", day=2)
    keep(ledger, "Oder", say("n", None), call(), say("o", None), RunFailed("no", "E"), day=3)
    keep_elsewhere = LedgerWriter(ledger, RunKey("foreign", "someone else"))
    keep_elsewhere.write(Recorded(1, NOON.timestamp(), RunStarted("chat", "about Danube")))
    return ledger


def test_runs_are_found_by_what_they_are(four: Ledger) -> None:
    assert found(four, mine()) == ["Oder", "rivers", "Elbe", "Danube"]
    assert found(four, mine(words="danube ALL")) == ["Danube"]
    assert found(four, mine(words="rivers")) == ["rivers"]
    assert found(four, mine(words="Elbe")) == ["Elbe"]
    assert found(four, mine(words="danube rhine")) == []
    assert found(four, mine(words="danube " * 5_000)) == ["Danube"]
    assert found(four, mine(words=" ".join(map(str, range(5_000))))) == []
    assert found(four, mine(states=["failed"])) == ["Oder"]
    assert found(four, mine(kinds=["ingest"])) == ["rivers"]
    assert found(four, mine(teams=["group", "answer"])) == ["Elbe", "Danube"]
    assert found(four, mine(models=["big"])) == ["Elbe"]
    assert found(four, mine(document_id="d-1")) == ["rivers"]
    began = NOON.replace(tzinfo=None)
    days = mine(since=began + timedelta(days=1), until=began + timedelta(days=3))
    assert found(four, days) == ["rivers", "Elbe"]


def test_runs_stand_in_any_order_by_the_page(four: Ledger) -> None:
    assert found(four, mine(), "oldest")[0] == "Danube"
    assert found(four, mine(), "longest")[0] == "Oder"
    assert found(four, mine(), "dearest") == ["rivers", "Danube", "Elbe", "Oder"]
    assert found(four, mine(), "tokens") == ["Elbe", "Danube", "rivers", "Oder"]
    pages = [
        run_list.list_runs(four, RunFilter(OWNER), sort, 1, offset)[0].id
        for sort in ("newest", "dearest")
        for offset in (0, 3)
    ]
    assert pages == ["Oder", "Danube", "rivers", "Oder"]


def test_a_run_is_told_with_what_it_took(four: Ledger) -> None:
    run = run_list.one(four, OWNER, "Elbe")
    assert run == run_list.list_runs(four, RunFilter(OWNER, words="Elbe"))[0]
    assert (run.team, run.calls, run.tokens, run.cost, run.unpriced) == ("group", 1, 900, None, 1)
    assert run.seconds == 2.0
    with pytest.raises(NotFound, match="no run 'foreign'"):
        run_list.one(four, OWNER, "foreign")
    assert run_list.find_values(four, OWNER, "team") == ["answer", "group"]
    assert run_list.find_values(four, OWNER, "model") == ["big", "small"]


def test_a_text_is_found_in_events_and_in_what_was_sent_for_the_first_time(ledger: Ledger) -> None:
    first = {"role": "system", "content": 'Say "Mañana"\nand no more'}
    second = {"role": "user", "content": "Anything else?"}
    keep(
        ledger,
        "run",
        ModelCalled("a", "Writer", "server", "small", messages=[first]),
        call(),
        ModelCalled("b", "Writer", "server", "small", messages=[first, second]),
        call(),
    )
    assert run_list.find_events(ledger, OWNER, "run", '"mañana"\nAND') == {2}
    assert run_list.find_events(ledger, OWNER, "run", "anything") == {4}
    assert run_list.find_events(ledger, OWNER, "run", "about run") == {1}
    assert run_list.find_events(ledger, "someone else", "run", "anything") == set()
    assert run_list.find_events(ledger, OWNER, "run", "nowhere") == set()


@pytest.mark.parametrize("name", ["İzmir", "ΟΔΟΣ", "STRASSE"])
def test_capitals_of_all_alphabets_are_found(ledger: Ledger, chat: Chat, name: str) -> None:
    asked = {"role": "user", "content": f"To {name}"}
    keep(ledger, name, ModelCalled("a", "Writer", "server", "small", messages=[asked]))
    keep(ledger, "other", say("m", None, f"From {name}!"), chat_id=chat.id)
    assert set(found(ledger, mine(words=name))) == {name, "other"}
    assert run_list.find_events(ledger, OWNER, name, f"About {name}") == {1}
    assert run_list.find_events(ledger, OWNER, name, f"To {name}") == {2}
