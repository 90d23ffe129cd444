"""What is called elsewhere arrives as it was given, and comes back as it was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit import errors
from agentkit.api import wire
from agentkit.api.methods import NAMES, method
from agentkit.api.wire import Method
from agentkit.errors import AgentkitError, RateLimited, StoreError, TagNotFoundError
from agentkit.events import MessageSent, ModelReplied, Recorded, Usage
from agentkit.ledger import RunKey
from agentkit.retrieval import Scope, SearchOptions, Source
from agentkit.retrieval.types import utc_now
from agentkit.settings import Settings
from agentkit.teams import Question

EVERY = [(part, name) for part, names in NAMES.items() for name in names]


def known(part: str, name: str) -> Method:
    found = method(part, name)
    assert found is not None
    return found


@pytest.mark.parametrize(("part", "name"), EVERY, ids=[".".join(one) for one in EVERY])
def test_every_method_can_travel(part: str, name: str) -> None:
    found = known(part, name)
    with pytest.raises(StoreError, match="does not understand nonsense"):
        found.unpack({"nonsense": 1})
    assert found.pack_result(None) is None  # its type is one that can be carried


def carried(part: str, name: str, *given: Any, **named: Any) -> dict[str, Any]:
    found = known(part, name)
    return found.unpack(found.pack(given, named))


def test_values_arrive_as_they_were_given() -> None:
    scope = Scope(tags=["a"], added_from=utc_now(), first_page=2)
    found = carried("library", "retrieve", "me", ["A", "B"], "paid", scope=scope, top_k=3)
    asked = {"owner": "me", "collection": ["A", "B"], "query": "paid", "scope": scope, "top_k": 3}
    assert found == asked
    options = SearchOptions(mode="lexical", min_score=0.25)
    assert carried("library", "set_options", "me", "A", options)["options"] == options


def test_what_was_left_out_stays_left_out() -> None:
    assert carried("workspace", "ask", "me", "Why?", collection="A") == {
        "owner": "me",
        "question": "Why?",
        "collection": "A",
    }


def test_a_question_arrives_whole_and_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, scope = Source("tea.txt", Path("tea.txt"), "upload:tea.txt"), Scope(tags=["mild"])
    there = [replace(file, path=tmp_path / "tea.txt")]
    question = Question(
        "Why?", "A", "plan", "gpt", "c", "", [file], True, scope, 9, "m", go_on=True
    )
    found = carried("workspace", "ask", "me", question)
    assert found == {"owner": "me", "question": replace(question, attachments=there)}
    by_name = carried(
        "workspace", "ask", "me", "Why?", chat_id="c", attachments=[file], scope=scope
    )
    assert by_name == {
        "owner": "me",
        "question": "Why?",
        "chat_id": "c",
        "attachments": there,
        "scope": scope,
    }


def test_paths_hold_everywhere_and_names_need_not_be_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = Source("caf\udce9", Path("caf\udce9.txt"), "upload:caf\udce9")
    (found,) = carried("workspace", "ingest", "me", "A", (source,))["sources"]
    assert found == Source("caf\udce9", tmp_path / "caf\udce9.txt", "upload:caf\udce9")
    sources = (one for one in [source])
    assert len(carried("library", "ingest", "me", "A", sources)["sources"]) == 1
    settings = wire.unpack_settings(wire.pack_settings(Settings(tools="a.py:/b.py", run_tokens=5)))
    assert settings == Settings(tools=f"{tmp_path / 'a.py'}:/b.py", run_tokens=5)


def test_events_arrive_whole() -> None:
    usage = Usage(1, 2, 3, 4, 5, True)
    replied = ModelReplied("c", "a", "p", "m", usage=usage, cost=None, raw_usage={"x": [1.5]})
    said = MessageSent("i", None, "a", "b", "user", "half \ud800 a pair", extra={"n": 1})
    events = [Recorded(1, 2.5, replied), Recorded(2, 3.5, said)]
    key = RunKey("r", "me", None, "m")
    found = carried("ledger", "keep", key, events)
    assert found == {"run": key, "events": events}


def test_wrong_arguments_are_those_of_the_method() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'question'"):
        known("workspace", "ask").pack(("me",), {"collection": "A"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colection'"):
        known("workspace", "ask").pack(("me", "Why?"), {"colection": "A"})
    source = {"name": "n", "path": "/p", "origin": "o", "z": 1}
    sent = {"owner": "m", "collection": "c", "sources": [source]}
    with pytest.raises(StoreError, match=r"sources\.0\.z .*update or restart"):
        known("workspace", "ingest").unpack(sent)
    with pytest.raises(StoreError, match=r"settings\.later"):
        wire.unpack_settings({"later": 1})


@pytest.mark.parametrize(
    "name", [name for name, kind in vars(errors).items() if isinstance(kind, type)]
)
def test_every_error_of_ours_comes_back(name: str) -> None:
    kind: type[AgentkitError] = getattr(errors, name)
    found = wire.unpack_error(wire.pack_error(kind("what to do")), 7)
    assert type(found) is kind
    assert str(found) == "what to do"


def test_what_an_error_carries_comes_back_and_a_mistake_says_where() -> None:
    limited = RateLimited("wait")
    limited.retry_after_s = 1.5
    found = wire.unpack_error(wire.pack_error(limited), 7)
    assert isinstance(found, RateLimited)
    assert found.retry_after_s == 1.5
    tag = wire.unpack_error(wire.pack_error(TagNotFoundError("no tag", "reply", False)), 7)
    assert isinstance(tag, TagNotFoundError)
    assert (tag.raw_response, tag.missing_begin_tag) == ("reply", False)
    mistake = wire.unpack_error(wire.pack_error(ZeroDivisionError("oh\nno")), 7)
    assert type(mistake) is AgentkitError
    assert str(mistake) == "Process 7, which holds the data folder, failed (ZeroDivisionError: oh)."
