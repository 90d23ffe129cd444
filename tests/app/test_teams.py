"""The Teams page: teams built by forms, told what is wrong, tried, saved, and chosen in chats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.teams import Question, Team, teams
from agentkit.teams.built.agents import Part, WrittenFunction
from agentkit.teams.built.document import TeamDocument, read_document
from agentkit.teams.built.flows import Plan
from agentkit.teams.built.planning import choose_prompts
from agentkit.teams.built.ready_made import ready_made
from agentkit.ui.teams import drafts as forms_drafts
from agentkit.ui.teams.consequences import Path
from agentkit.ui.teams.editor import FLOWS
from agentkit.ui.teams.fields import Known, list_fields
from agentkit.ui.teams.rows import make_default, make_row
from agentkit.ui.teams.templates import TEMPLATES, begin
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, ROOT, open_page, settle, texts
from tests.app.test_prompts import choose, click
from tests.teams.built import drafts

Place = tuple[Path, Known]
_OTHER: dict[str, Any] = {
    "text": "Other",
    "long text": "Other words",
    "number": 1,
    "number or word": "3",
    "lines": "one\ntwo",
    "values": '{"a": 1}',
}
"""What is typed into a field of each kind; others are chosen."""


def open_form(document: dict[str, Any]) -> tuple[AppTest, str]:
    """The form of a new team with this document."""
    team_id = forms_drafts.begin(read_document(document).to_json())
    app = open_page("teams")
    app.query_params["team"] = team_id
    return run(app), team_id


def run(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def unfold(app: AppTest, team_id: str, agent: int) -> None:
    app.session_state[f"team-{team_id}-row-agents-{agent}"] = True
    run(app)


def document_of(workspace: ScriptableWorkspace, team_id: str) -> Any:
    return workspace.ledger.settings(OWNER, "")["teams"][team_id]["document"]


def fill_up(part: type[Part], row: dict[str, Any]) -> dict[str, Any]:
    """The part with all that may be left out in it, so that each field has its place."""
    for known in list_fields(part):
        inner = known.shape.part
        if known.shape.kind == "parts" and inner is not None:
            rows = row[known.key] or [make_row(inner, ["Ann", "Bob"])]
            row[known.key] = [fill_up(inner, rows[0])]
        elif inner is not None:
            row[known.key] = fill_up(inner, row[known.key] or make_default(inner))
    return row


def list_places(part: type[Part], row: dict[str, Any], path: Path = ()) -> Iterator[Place]:
    """Every field with its path."""
    for known in list_fields(part):
        here = (*path, known.key)
        inner = known.shape.part
        yield here, known
        if known.shape.kind == "parts" and inner is not None:
            yield from list_places(inner, row[known.key][0], (*here, 0))
        elif inner is not None:
            yield from list_places(inner, row[known.key], here)


def whole_team(kind: str) -> dict[str, Any]:
    """A team in which nothing is left out."""
    agents = [make_row(FORM_AGENT, [])]
    fill_up(FORM_AGENT, agents[0])
    second = make_row(FORM_AGENT, [], ["Agent1"])
    agents[0]["compress_config"]["mode"] = "CUSTOMIZED"  # else it has no strategy
    flow = fill_up(FLOWS[kind], make_row(FLOWS[kind], ["Agent1", "Agent2"]))
    if kind == "plan":  # else there is no place for prompts
        flow["prompts"] = "own"
    functions = [make_row(WrittenFunction, [])]
    return {
        "name": "Whole",
        "agents": [agents[0], second],
        "flow": flow,
        "functions": functions,
    }


FORM_AGENT: Any = next(one for one in list_fields(TeamDocument) if one.key == "agents").shape.part


@pytest.mark.parametrize("kind", FLOWS)
def test_every_field_can_be_set(workspace: ScriptableWorkspace, kind: str) -> None:
    document = whole_team(kind)
    team_id = forms_drafts.begin(document)
    app = open_page("teams")
    app.query_params["team"] = team_id
    parts = [
        ((), TeamDocument, document),
        (("agents", 0), FORM_AGENT, document["agents"][0]),
        (("flow",), FLOWS[kind], document["flow"]),
    ]
    places = [
        place
        for path, part, row in parts
        for place in list_places(part, row, path)
        if place[1].shape.kind not in ("fixed", "flow", "parts", "part")
        and not (part is TeamDocument and place[0][0] == "agents")
        and place[0] != ("flow", "stages", 0, "counted")  # of a vote alone
    ]
    for path, _ in places:
        for end in range(len(path) + 1):
            app.session_state["-".join(map(str, ("team", team_id, "more", *path[:end])))] = True
            app.session_state["-".join(map(str, ("team", team_id, "row", *path[:end])))] = True
    run(app)
    missing = []
    for path, known in places:
        key = "-".join(map(str, ("team", team_id, 0, *path)))
        try:
            app.get_by_key(key)
        except KeyError:
            missing.append((path, known.label))
    assert missing == []
    for path, known in places:
        if known.shape.kind not in _OTHER or known.key in ("name", "model", "collection"):
            continue
        key = "-".join(map(str, ("team", team_id, 0, *path)))
        widget: Any = app.get_by_key(key)
        least = known.shape.least or 0
        value = max(1, least) if known.shape.kind == "number" else _OTHER[known.shape.kind]
        widget.set_value(value)
    run(app)
    now = document_of(workspace, team_id)
    for path, known in places:
        at = now
        for part in path:
            at = at[part]
        if known.shape.kind == "long text":
            assert at == "Other words", path


def test_a_vote_has_other_fields_than_a_talk(workspace: ScriptableWorkspace) -> None:
    app, team_id = open_form(drafts.discussion())
    for place in (0, 1):
        app.session_state[f"team-{team_id}-row-flow-stages-{place}"] = True
    run(app)
    labels = [one.label for one in (*app.text_input, *app.number_input)]
    assert [labels.count(name) for name in ("Ends when", "Rounds", "Counted")] == [1, 1, 1]


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_team_begins_with_a_template_that_is_right(
    workspace: ScriptableWorkspace, kind: str
) -> None:
    app = open_page("teams")
    click(app, f"template-{kind}")
    assert "problem" not in texts(app)
    [team_id] = workspace.ledger.settings(OWNER, "")["teams"]
    assert document_of(workspace, team_id) == begin(kind, TEMPLATES[kind].name)
    assert app.get("graphviz_chart")


def test_what_is_wrong_is_told_beside_the_field_and_nothing_is_saved(
    workspace: ScriptableWorkspace,
) -> None:
    app, team_id = open_form(drafts.group())
    key = f"team-{team_id}-0-flow"
    app.selectbox(key=f"{key}-speaker_selection_method").set_value("round_robin")
    app.multiselect(key=f"{key}-agents").set_value(["Ann"])
    run(app)
    assert "Cid is not in the group" in texts(app)
    assert app.button(key="save-team").disabled
    assert app.button(key="use-team").disabled
    app.multiselect(key=f"{key}-agents").set_value(["Ann", "Cid"])
    run(app)
    click(app, "save-team")
    [kept] = workspace.kept_teams.newest(OWNER)
    assert kept.document["flow"]["agents"] == ["Ann", "Cid"]
    assert "Saved as version 1." in texts(app)


def test_what_is_saved_for_a_chat_is_not_told_in_another_form(
    workspace: ScriptableWorkspace,
) -> None:
    app, _ = open_form(drafts.group())
    app.button(key="use-team").click().run()
    (kept,) = workspace.kept_teams.newest(OWNER)
    assert app.query_params["team"] == kept.key
    app.switch_page(str(ROOT / "pages/teams.py"))
    app.query_params["team"] = kept.id
    assert "Saved as version" not in texts(run(app))


def test_agents_are_renamed_added_moved_and_taken_out(workspace: ScriptableWorkspace) -> None:
    app, team_id = open_form(drafts.group())
    unfold(app, team_id, 0)
    app.text_input(key=f"team-{team_id}-0-agents-0-name").set_value("Zoe")
    run(app)
    assert document_of(workspace, team_id)["flow"]["agents"] == ["Zoe", "Bob", "Cid"]
    shown = app.multiselect(key=f"team-{team_id}-1-flow-agents").value
    assert shown == ["Zoe", "Bob", "Cid"]
    click(app, f"team-{team_id}-1-add-agents")
    unfold(app, team_id, 0)
    click(app, f"team-{team_id}-2-move-down-agents-0")
    names = [one["name"] for one in document_of(workspace, team_id)["agents"]]
    assert names == ["Bob", "Zoe", "Cid", "Agent4"]
    unfold(app, team_id, 3)
    click(app, f"team-{team_id}-3-move-drop-agents-3")
    assert len(document_of(workspace, team_id)["agents"]) == 3


def test_what_follows_from_a_change_is_changed_with_it(workspace: ScriptableWorkspace) -> None:
    app, team_id = open_form(drafts.group())
    click(app, f"team-{team_id}-0-add-agents")
    assert document_of(workspace, team_id)["flow"]["agents"] == ["Ann", "Bob", "Cid", "Agent4"]
    click(app, f"team-{team_id}-1-add-flow-transitions")
    click(app, f"team-{team_id}-2-add-flow-transitions")
    first, second = document_of(workspace, team_id)["flow"]["transitions"]
    assert first == {"after": "Ann", "speakers": ["Bob", "Cid", "Agent4"]}
    assert second == {"after": "Bob", "speakers": ["Ann", "Cid", "Agent4"]}
    unfold(app, team_id, 3)
    app.selectbox(key=f"team-{team_id}-3-agents-3-role").set_value("person")
    run(app)
    person = document_of(workspace, team_id)["agents"][3]
    assert (person["llm"], person["human_input_mode"]) == (None, "ALWAYS")
    app.selectbox(key=f"team-{team_id}-4-agents-3-role").set_value("assistant")
    run(app)
    assistant = document_of(workspace, team_id)["agents"][3]
    assert assistant["llm"] == document_of(workspace, team_id)["agents"][0]["llm"]
    assert assistant["human_input_mode"] == "NEVER"


@pytest.mark.parametrize("before", ["ours", "english", "chinese"])
def test_own_prompts_begin_as_those_that_were_chosen(
    workspace: ScriptableWorkspace, before: str
) -> None:
    app, team_id = open_form(drafts.plan(prompts=before, worker_prompt="{thought} {action_resp}"))
    labels = [one.label for one in app.text_area]
    assert "Planner prompt" not in labels
    app.selectbox(key=f"team-{team_id}-0-flow-prompts").set_value("own")
    run(app)
    flow = document_of(workspace, team_id)["flow"]
    known = choose_prompts(Plan.model_validate({"prompts": before}), "")
    assert flow["planner_prompt"] == known.planner
    assert flow["solver_prompt"] == known.solver
    assert flow["worker_prompt"] == "{thought} {action_resp}"
    assert app.text_area(key=f"team-{team_id}-1-flow-planner_prompt").value == known.planner
    assert not app.button(key="save-team").disabled


@pytest.mark.parametrize("known", teams(), ids=lambda known: known.id)
def test_a_ready_made_team_is_looked_into_and_copied(
    workspace: ScriptableWorkspace, known: Team
) -> None:
    app = open_page("teams")
    click(app, f"open-{known.id}")
    assert app.title[0].value.replace("\\", "") == known.title
    assert "problem" not in texts(app)
    assert app.get("graphviz_chart")
    fields = [*app.text_input, *app.number_input, *app.multiselect, *app.toggle]
    form = [one for one in fields if "-try-" not in str(one.key)]
    assert form
    assert all(one.disabled for one in form)
    assert [one.label for one in app.button if one.label.startswith(("Add", "Move", "Take"))] == []
    assert workspace.ledger.settings(OWNER, "").get("teams") is None
    click(app, "copy-team")
    [team_id] = workspace.ledger.settings(OWNER, "")["teams"]
    document = ready_made(known.id).to_json()
    assert document_of(workspace, team_id) == {**document, "name": f"{known.name} (2)"}
    assert not app.button(key="save-team").disabled
    click(app, "save-team")
    assert workspace.kept_teams.newest(OWNER)[0].document["flow"] == document["flow"]


def test_a_draft_survives_a_reload_and_is_changed_in_two_tabs(
    workspace: ScriptableWorkspace,
) -> None:
    app, team_id = open_form(drafts.single())
    app.text_input(key=f"team-{team_id}-0-name").set_value("First <b>tab</b>")
    run(app)
    other = open_page("teams")
    label = other.button(key=f"open-{team_id}").label
    assert label.replace("\\", "") == "**First <b>tab</b>**"
    other.query_params["team"] = team_id
    run(other)
    other.text_area(key=f"team-{team_id}-0-description").set_value("Second tab")
    run(other)
    now = document_of(workspace, team_id)
    assert (now["name"], now["description"]) == ("First <b>tab</b>", "Second tab")


def test_a_team_is_saved_changed_rolled_back_duplicated_deleted_and_brought_back(
    workspace: ScriptableWorkspace,
) -> None:
    kept = workspace.save_team(OWNER, drafts.single(system_message="one"))
    app = open_page("teams")
    click(app, f"open-{kept.id}")
    app.text_input(key=f"team-{kept.id}-0-name").set_value("Renamed")
    run(app)
    click(app, "save-team")
    assert "name: One → Renamed" in texts(app)
    click(app, "roll-back-1")
    assert "Version 1 is the newest again, as version 3." in texts(app)
    app.query_params.clear()
    run(app)
    choose(app, f"team-menu-{kept.id}", "Duplicate")
    assert [one.name for one in workspace.kept_teams.newest(OWNER)] == ["One", "One (2)"]
    choose(app, f"team-menu-{kept.id}", "Delete")
    assert [one.name for one in workspace.kept_teams.newest(OWNER)] == ["One (2)"]
    click(app, "restore-team")
    assert [one.name for one in workspace.kept_teams.newest(OWNER)] == ["One", "One (2)"]


def test_what_came_of_a_function_is_not_told_of_the_one_that_comes_to_its_place(
    workspace: ScriptableWorkspace,
) -> None:
    code = 'def {0}(of: int) -> int:\n    """{0}."""\n    return of'
    written = [{"name": name, "code": code.format(name)} for name in ("one", "two")]
    app, team_id = open_form({**drafts.single(), "functions": written})
    app.session_state[f"team-{team_id}-row-functions-0"] = True
    run(app)
    call = f"team-{team_id}-call-functions-0"
    app.text_area(key=f"{call}-given").set_value("no JSON")
    click(app, f"{call}-go")
    assert "not valid JSON" in app.error[0].value
    click(app, f"team-{team_id}-0-move-down-functions-0")
    assert not app.error


def test_a_team_is_tried_dry_and_with_a_model(kitchen: ScriptableWorkspace) -> None:
    kitchen.script("Green tea is steeped at 80 degrees [1].")
    app, team_id = open_form(drafts.retrieve_chat())
    go = f"team-{team_id}-try"
    click(app, f"{go}-go")
    settle(app)
    assert "(dry run) Here Reader would answer." in texts(app)
    app.selectbox(key=f"{go}-model").set_value("scripted")
    app.text_area(key=f"{go}-question").set_value("How hot is green tea?")
    click(app, f"{go}-go")
    settle(app)
    assert "Green tea is steeped at 80 degrees" in texts(app)
    assert kitchen.ledger.chats(OWNER) == []
    assert kitchen.kept_teams.newest(OWNER) == []


def test_a_chat_keeps_its_version_and_is_offered_the_newer_one(
    kitchen: ScriptableWorkspace,
) -> None:
    kitchen.script("Green tea is steeped at 80 degrees [1].")
    first = kitchen.save_team(OWNER, drafts.retrieve_chat())
    made = kitchen.ask(OWNER, Question("How hot?", "Kitchen", first.key, "scripted"))
    made.wait(120)
    second = kitchen.save_team(OWNER, {**drafts.retrieve_chat(), "name": "Newer"}, first.id)
    app = open_page("chat", chat=str(made.chat_id))
    assert "This chat uses version 1 of the team; there is version 2." in texts(app)
    click(app, "newer-team")
    assert kitchen.ledger.chat(OWNER, str(made.chat_id)).team == second.key
    kitchen.kept_teams.delete(OWNER, first.id)
    run(app)
    assert "of this chat is no longer there" in texts(app)


def test_a_hostile_name_is_drawn_as_it_is(workspace: ScriptableWorkspace) -> None:
    hostile = '<img src=x onerror=alert(1)>"]; a -> b [label="'
    document = {
        "name": hostile[:60],
        "agents": [drafts.agent(hostile)],
        "flow": {"kind": "single", "agent": hostile},
    }
    app, _ = open_form(document)
    [chart] = app.get("graphviz_chart")
    assert r"\"]; a -> b [label=\"" in chart.proto.spec


def test_a_setting_that_nobody_reads_is_told_and_keeps_nobody_from_saving(
    workspace: ScriptableWorkspace,
) -> None:
    draft = drafts.discussion()
    draft["agents"][0] |= {"human_input_mode": "ALWAYS"}
    app, team_id = open_form(draft)
    app.session_state[f"team-{team_id}-more-agents-0"] = True
    unfold(app, team_id, 0)
    assert "Nobody reads this, as they work together now." in texts(app)
    assert not app.button(key="save-team").disabled
