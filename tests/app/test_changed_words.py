"""With every wording changed, teams decide the same, and the pages show and offer the same: nobody
reads sentences.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.cli import words as of_cli
from agentkit.conversation import ends
from agentkit.events import ToolReturned
from agentkit.llm.calls.limits import Limit, limited
from agentkit.llm.calls.scripted import scripted_model
from agentkit.options import OptionKey
from agentkit.reasons import EndReason
from agentkit.teams import answer, assistant
from agentkit.teams.group import ROLES
from agentkit.ui.steps import wording
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page, press, settle, until_asked
from tests.teams.stage import Played, call, play

Ingest = Callable[[str, dict[str, str]], None]
WORDINGS: tuple[ModuleType, ...] = (wording, of_cli, ends, answer)
SEARCH = call("search_documents", query="Danube")
LONG = "The river rises in the Black Forest and flows through ten countries to the sea. " * 60


def tables(module: ModuleType) -> list[dict[Any, str]]:
    """Its tables of words."""
    found = [each for each in vars(module).values() if isinstance(each, dict)]
    return [
        each for each in found if each and all(isinstance(value, str) for value in each.values())
    ]


def change_all_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put nonsense in place of every word in the tables."""
    for number, table in enumerate(table for module in WORDINGS for table in tables(module)):
        for place, key in enumerate(table):
            monkeypatch.setitem(table, key, f"qx{number}.{place}: zzz")


def under(tokens: int, *args: Any, **options: Any) -> Played:
    with limited(run=Limit(tokens=tokens)):
        return play(*args, **options)


def book(place: str) -> str:
    """Book a place."""
    return f"booked for {place}"


SCENES: dict[str, Callable[[], Played]] = {
    "done": lambda: play("assistant", scripted_model([SEARCH, "2,850 km [1].\nTERMINATE"])),
    "steps": lambda: play(
        "assistant", scripted_model([SEARCH] * (assistant.SEARCHES + 1) + ["2,850 km [1]."])
    ),
    "nothing found": lambda: play(
        "assistant",
        scripted_model(
            [call("search_documents", query="-")] * (assistant.SEARCHES + 1) + ["Not there."]
        ),
    ),
    "rounds": lambda: play(
        "group:round_robin", scripted_model(lambda request: "And another thing.")
    ),
    "finished": lambda: play(
        "group:manual", scripted_model(["A draft."]), answers=["Writer", "finish"]
    ),
    "allowance": lambda: under(
        1_600, "assistant", scripted_model([{**SEARCH, "content": LONG}, "2,850 km [1]."])
    ),
    "approved": lambda: play(
        "tools",
        scripted_model([call("book", place="Riga"), "Booked."]),
        answers=["approve"],
        tools=[book],
    ),
    "rejected": lambda: play(
        "tools",
        scripted_model([call("book", place="Riga"), "Then not."]),
        answers=["reject\ntoo far"],
        tools=[book],
    ),
    "plan": lambda: play(
        "plan", scripted_model(["Plan: look\n#E1 = search_documents[Danube]", "2,850 km [1]."])
    ),
}


def facts(played: Played) -> dict[str, Any]:
    """What a run came to, without a word of why."""
    final, result = played.final, played.result
    assert result is not None
    return {
        "status": final.status,
        "sender": final.sender,
        "text": final.content,
        "end": result.end,
        "stored": final.extra.get("end"),
        "citations": [one.marker for one in result.citations],
        "ran": [event.ok for event in played.of(ToolReturned)],
        "kinds": [type(event).__name__ for event in played.events],
    }


@pytest.mark.parametrize("scene", SCENES)
def test_teams_come_to_the_same(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = facts(SCENES[scene]())
    change_all_words(monkeypatch)
    assert facts(SCENES[scene]()) == before


def test_the_scenes_end_for_different_reasons() -> None:
    kinds = [facts(scene())["end"].kind for scene in SCENES.values()]
    told = ["answered", "replies", "replies", "rounds", "finished", "allowance"]
    assert kinds == [*told, "answered", "answered", "answered"]


def shown(app: AppTest) -> dict[str, Any]:
    """What is on the page, without its words: marks, offers, folds and counts."""
    icons = [re.findall(r"^:material/(\w+):", text.value) for text in [*app.caption, *app.markdown]]
    return {
        "buttons": [button.key for button in app.button],
        "marks": icons,
        "folds": [(fold.icon, len(fold.children)) for fold in app.expander],
        "boxes": [
            (box.type, box.icon) for box in [*app.warning, *app.error, *app.info, *app.success]
        ],
        "said": [message.name for message in app.chat_message],
    }


def drawn(app: AppTest, run_ids: Sequence[str]) -> dict[str, Any]:
    for run_id in run_ids:
        app.session_state[f"steps-{run_id}"] = True  # what a click on the expander does
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return shown(app)


def test_a_chat_shows_and_offers_the_same(
    workspace: ScriptableWorkspace, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    looked_up = call("search_documents", query="green tea")
    workspace.added.insert(
        0, scripted_model([looked_up] * (assistant.SEARCHES + 1) + ["80 degrees [1]."])
    )
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("assistant").run()
    settle(app.chat_input[0].set_value("How hot is green tea?").run())
    app.session_state["level-choice"] = "everything"
    chat_id = app.query_params["chat"]
    (used_up,) = [run.id for run in runs._registry.values() if run.chat_id == chat_id]
    workspace.breaking("It is ", "It is 80 degrees [1].")
    settle(app.chat_input[0].set_value("And black tea?").run())
    ids = [run.id for run in runs._registry.values() if run.chat_id == chat_id]
    before = drawn(app, ids)
    assert used_up in ids
    assert any("flag" in marks for marks in before["marks"]), "why the first answer ended"
    assert any(key.startswith("go-on-") for key in before["buttons"]), "the second one broke off"
    change_all_words(monkeypatch)
    assert drawn(app, ids) == before


def test_a_run_that_waits_goes_on_by_its_buttons(
    workspace: ScriptableWorkspace, ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    source = f"from __future__ import annotations\n\n{inspect.getsource(book)}"
    (tmp_path / "tools.py").write_text(source)
    workspace.settings = dataclasses.replace(workspace.settings, tools=str(tmp_path / "tools.py"))
    change_all_words(monkeypatch)
    riga, oslo = call("book", place="Riga"), call("book", place="Oslo")
    workspace.added.insert(0, scripted_model([riga, oslo, oslo, oslo, "Booked [1]."]))
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("tools").run()
    app.chat_input[0].set_value("Book something.").run()
    (run,) = [run for run in runs._registry.values() if run.chat_id == app.query_params["chat"]]
    request = until_asked(app, run)
    labels = [app.button(key=f"option-{number}-{request}").label for number in range(5)]
    assert all(re.match(r"qx\d+\.\d: zzz", label.replace("\\", "")) for label in labels), labels
    press(app, "option-0", request)  # approves
    request = until_asked(app, run, request)
    press(app, "option-4", request)  # opens what rejects
    press(app, "no", request)
    request = until_asked(app, run, request)
    press(app, "option-3", request)  # opens what changes
    app.text_area(key=f"draft-{request}").set_value('{"place": "Bergen"}')
    press(app, "run", request)
    press(app, "option-1", until_asked(app, run, request))  # approves all
    settle(app)
    ran = [
        recorded.event.content
        for recorded in run.events()
        if isinstance(recorded.event, ToolReturned)
    ]
    assert [one.rpartition("\n")[2] for one in ran] == [
        f"booked for {to}" for to in ("Riga", "Bergen", "Oslo")
    ]


def test_a_person_ends_a_discussion_by_its_button(
    workspace: ScriptableWorkspace, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    change_all_words(monkeypatch)
    workspace.added.insert(0, scripted_model(["80 degrees."]))
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("group:auto").run()
    app.selectbox(key="variant-new").set_value("group:manual").run()
    app.chat_input[0].set_value("How hot?").run()
    (run,) = [run for run in runs._registry.values() if run.chat_id == app.query_params["chat"]]
    request = until_asked(app, run)
    assert [app.button(key=f"option-{number}-{request}").label for number in range(3)] == list(
        ROLES
    )
    press(app, "option-2", request)
    press(app, "option-2", until_asked(app, run, request))  # two are left, then what ends it
    settle(app)
    assert run.result().end == EndReason("finished")


@pytest.mark.parametrize("words", [wording.OPTIONS, of_cli.OPTIONS], ids=["ui", "cli"])
def test_every_option_has_its_words(words: dict[str, str]) -> None:
    left_out = (
        {"edit"} if words is of_cli.OPTIONS else set()
    )  # more than a line, so not at the terminal
    assert set(words) == set(get_args(OptionKey)) - left_out


def test_an_end_that_an_older_version_stored_in_words_is_shown(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    workspace.script("It is 80 degrees [1].")
    app = settle(open_page("chat").chat_input[0].set_value("How hot?").run())
    with workspace.database.transaction():
        workspace.database.execute(
            "update messages set extra = json_merge_patch(extra, ?) where role = 'assistant'",
            [json.dumps({"ended": "the limit of 12 steps was reached"})],
        )
    app.run()
    assert ":material/flag: Ended: the limit of 12 steps was reached." in [
        text.value for text in app.caption
    ]


@pytest.mark.parametrize(
    "note",
    [
        {"text": "No code was run.", "detail": "Install bubblewrap:\nit isolates."},
        "No code was run.\nInstall bubblewrap:\nit isolates.",
    ],
    ids=["now", "older version"],
)
def test_a_note_is_shown_with_its_detail_folded(
    note: object, workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    workspace.script("It is 80 degrees [1].")
    app = settle(open_page("chat").chat_input[0].set_value("How hot?").run())
    with workspace.database.transaction():
        workspace.database.execute(
            "update messages set extra = json_merge_patch(extra, ?) where role = 'assistant'",
            [json.dumps({"notes": [note]})],
        )
    app.run()
    (fold,) = [fold for fold in app.expander if fold.icon == ":material/info:"]
    assert fold.label.replace("\\", "") == "No code was run."
    assert [code.value for code in fold.code] == ["Install bubblewrap:\nit isolates."]


def test_scripts_get_the_reason_as_a_value_whatever_the_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = EndReason("rounds", limit=16)
    assert of_cli.describe_end(end) == "the limit of 16 messages was reached"
    change_all_words(monkeypatch)
    assert of_cli.describe_end(end).startswith("qx")
    assert end.to_json() == {"kind": "rounds", "limit": 16}
