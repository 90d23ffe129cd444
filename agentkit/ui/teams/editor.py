"""One team in its form, with its picture beside it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from agentkit.core.given import find_first
from agentkit.errors import AgentkitError, ConfigError, NotFound
from agentkit.ledger.kept_teams import KeptTeam
from agentkit.teams import Team, teams
from agentkit.teams.built.agents import Part
from agentkit.teams.built.document import TeamDocument, check_form
from agentkit.teams.built.flows import (
    CitedAnswer,
    Dialogue,
    FieldTable,
    Group,
    Plan,
    Queue,
    Research,
    RetrieveChat,
    Single,
    TwoAgents,
    Werewolf,
)
from agentkit.teams.built.ready_made import ready_made
from agentkit.ui.composer import address
from agentkit.ui.shared import state
from agentkit.ui.teams import (
    checking,
    drafts,
    picture,
    sharing,
    tools_functions,
    tools_offered,
    trying,
    versions,
    views,
)
from agentkit.ui.teams.checking import Checked
from agentkit.ui.teams.drafts import Draft
from agentkit.ui.teams.fields import list_fields
from agentkit.ui.teams.forms import Field, Form, draw_field, draw_part
from agentkit.ui.teams.overview import copy_ready, open_team
from agentkit.ui.teams.rows import make_row
from agentkit.ui.teams.templates import TEMPLATES
from agentkit.ui.text import figures, markdown

FLOWS: Mapping[str, type[Part]] = {
    "single": Single,
    "two_agents": TwoAgents,
    "group": Group,
    "queue": Queue,
    "retrieve_chat": RetrieveChat,
    "dialogue": Dialogue,
    "plan": Plan,
    "answer": CitedAnswer,
    "research": Research,
    "table": FieldTable,
    "werewolf": Werewolf,
}
_SAVED = "team-saved"
_MOST_PROBLEMS = 12


def draw_editor(team_id: str) -> None:
    """The form at the left; the picture and a place to try it at the right."""
    draw_way_back()
    try:
        draft = drafts.open_draft(team_id)
    except NotFound as error:
        state.page_head("Teams", "The team of this address is not here.")
        st.warning(markdown.literal(str(error)), icon=":material/warning:")
        return
    state.page_head(markdown.literal(draft.name), _describe(draft))
    if problem := find_unreadable(draft):
        _draw_unreadable(draft, problem)
        return
    form = make_form(draft)
    _draw_bar(draft, form.checked)
    draw_sides(form)


def find_unreadable(draft: Draft) -> str:
    """Why there is no form for it, as for a team of a newer agentkit; empty where there is one."""
    try:
        check_form(draft.document)
    except ConfigError as error:
        return str(error)
    kind = draft.flow.get("kind")
    known = ", ".join(FLOWS)
    if kind in FLOWS:
        return ""
    return f"The team cannot be read: the kind of its flow is {kind!r}, not one of {known}."


def _draw_unreadable(draft: Draft, problem: str) -> None:
    """It stays as it is; an older version may be one that can be read."""
    with st.container(horizontal=True, gap="small", key="team-bar"):
        versions.draw_versions(draft, _note)
    st.error(markdown.literal(problem), icon=":material/error:")
    st.caption("It stays as it is. *Versions* has the ones before, and goes back to one.")


def draw_way_back() -> None:
    """The way to the list."""
    st.button(
        "All teams", icon=":material/arrow_back:", type="tertiary", on_click=open_team, args=(None,)
    )


def make_form(draft: Draft, *, fixed: bool = False) -> Form:
    """The form of a draft, checked; a `fixed` one is only looked at."""
    models, tools = _list_models(), tools_offered.find_tools()
    checked = checking.check(draft.document, models, tools)
    offers = _list_offers(models, tools_offered.describe_tools(tools, draft.document))
    below = {"WrittenFunction": tools_functions.draw_below}
    return Form(draft, checked, _list_agents(draft), offers, below, fixed)


def draw_sides(form: Form) -> None:
    """The form at the left; the picture and a place to try it at the right."""
    left, right = st.columns([3, 2], gap="large")
    with left, st.container(key="looked-into" if form.fixed else "team-form"):
        _draw_form(form)
    with right:
        _draw_picture(form.checked)
        trying.draw_trying(form.draft, form.checked, _list_models())


def _list_models() -> dict[str, str]:
    return {model.id: model.label for model in state.workspace().models()}


def _list_agents(draft: Draft) -> list[str]:
    names = [str(agent.get("name", "")) for agent in draft.document.get("agents", [])]
    return list(dict.fromkeys(filter(None, names)))


def _list_offers(
    models: Mapping[str, str], tools: Mapping[str, str]
) -> Mapping[tuple[str, str], Mapping[str, str]]:
    found = state.workspace().library.collections(state.owner())
    collections = {one.name: one.name for one in found}
    return {
        **tools_offered.WORDS,
        ("ModelChoice", "model"): {"": "The chat's model", **models},
        ("ToolUse", "name"): tools,
        ("Documents", "collection"): {"": "The chat's collection", **collections},
    }


def _describe(draft: Draft) -> str:
    if draft.is_new:
        return "Not saved yet; what you change is kept, also when you leave the page."
    changed = "; changed since, not saved yet" if drafts.is_changed(draft) else ""
    return f"Version {draft.base}{changed}."


def _draw_bar(draft: Draft, checked: Checked) -> None:
    """Save, use, take away, versions, discard."""
    is_wrong = bool(checked.problems)
    with st.container(horizontal=True, gap="small", key="team-bar"):
        st.button(
            "Save",
            key="save-team",
            type="primary",
            icon=":material/save:",
            disabled=is_wrong or not drafts.is_changed(draft),
            on_click=_save_it,
            args=(draft,),
        )
        use = st.button(
            "Use in a chat",
            key="use-team",
            icon=":material/forum:",
            disabled=is_wrong,
        )
        sharing.draw_export(checked.document, draft.id)
        if not draft.is_new:
            versions.draw_versions(draft, _note)
        if checked.document is not None:
            views.draw_way(draft)
        if drafts.is_changed(draft):
            st.button(
                "Discard" if draft.is_new else "Discard changes",
                key="discard-team",
                icon=":material/undo:",
                on_click=_discard,
                args=(draft,),
            )
    _tell(draft, checked)
    if use and (kept := _save(draft)):
        st.session_state.pop(_SAVED, None)  # the chat is shown instead
        use_team(kept.key)


def use_team(key: str) -> None:
    """Go to a new chat that asks this team."""
    address.remember(None)  # else the chat that was open last would be shown
    st.switch_page(state.PAGES / "chat.py", query_params={"team": key})


def _tell(draft: Draft, checked: Checked) -> None:
    """What was just done, what another window did, and what is wrong."""
    sharing.draw_remarks(draft.id)
    if saved := st.session_state.pop(_SAVED, ""):
        st.success(saved, icon=":material/check:")
    if not draft.is_new and (newest := _newest(draft)) and newest.version > draft.base:
        st.warning(
            f"Version {newest.version} was saved meanwhile, in another window. Saving makes yours"
            " the newest; that one stays among the versions.",
            icon=":material/warning:",
        )
    wrong = [f"{place}: {text}" for place, texts in checked.problems.items() for text in texts]
    if wrong:
        shown = "".join(f"\n- {markdown.literal(one)}" for one in wrong[:_MOST_PROBLEMS])
        count = figures.count(len(wrong), "problem")
        st.error(f"{count} to put right before it can be saved:{shown}", icon=":material/error:")


def _newest(draft: Draft) -> KeptTeam | None:
    try:
        return state.workspace().kept_teams.find(state.owner(), draft.id)
    except NotFound:
        return None


def _save(draft: Draft) -> KeptTeam | None:
    """Make a version of what stands in the form; a team that was deleted meanwhile is a new one."""
    known = "" if draft.is_new or _newest(draft) is None else draft.id
    try:
        document = drafts.open_draft(draft.id).document
        kept = state.workspace().save_team(state.owner(), document, known)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return None
    drafts.drop(draft.id)
    open_team(kept.id)
    _note(f"Saved as version {kept.version}.")
    return kept


def _save_it(draft: Draft) -> None:
    if not state.is_repeated(draft):
        _save(draft)


def _note(text: str) -> None:
    """Say it once, when the page is drawn next."""
    st.session_state[_SAVED] = text


def _discard(draft: Draft) -> None:
    drafts.drop(draft.id)
    if draft.is_new:
        open_team(None)


def _draw_form(form: Form) -> None:
    """The team itself, how they work together, and its agents."""
    draw_part(form, TeamDocument, (), leave_out=("agents", "flow", "functions"))
    kind = str(form.value(("flow",))["kind"])
    st.subheader("How they work together", anchor=False)
    key = form.draft.key("kind")
    st.selectbox(
        "Way of working",
        list(FLOWS),
        list(FLOWS).index(kind),
        format_func=lambda one: TEMPLATES[one].name,
        key=key,
        on_change=_change_kind,
        args=(form, key),
        disabled=form.fixed,
    )
    st.caption(TEMPLATES[kind].about)
    draw_part(form, FLOWS[kind], ("flow",))
    agents = next(one for one in list_fields(TeamDocument) if one.key == "agents")
    draw_field(Field(form, TeamDocument, agents, ("agents",)))
    tools_functions.draw_functions(form)


def _change_kind(form: Form, key: str) -> None:
    kind = st.session_state[key]
    if kind != form.value(("flow",))["kind"]:
        drafts.put(form.draft.id, ("flow",), make_row(FLOWS[kind], form.agents))
        drafts.renew()


def _draw_picture(checked: Checked) -> None:
    st.subheader("As a picture", anchor=False)
    if checked.document is None:
        st.caption("The picture comes back once the form is right.")
        return
    with st.container(key="team-picture"):
        picture.draw_picture(checked.document)


def find_ready(team_id: str) -> Team | None:
    """The ready-made team of that id."""
    return find_first(teams(), lambda known: known.id == team_id)


def draw_ready(team: Team) -> None:
    """Its form, which only shows; its picture, and a place to try it."""
    draw_way_back()
    draft = Draft(team.id, ready_made(team.id).to_json())
    form = make_form(draft, fixed=True)
    state.page_head(
        markdown.literal(team.title),
        "Comes with agentkit and stays as it is; a copy of it is yours to change.",
    )
    with st.container(horizontal=True, gap="small", key="team-bar"):
        st.button(
            "Copy to change",
            key="copy-team",
            type="primary",
            icon=":material/content_copy:",
            on_click=copy_ready,
            args=(team,),
        )
        use = st.button("Use in a chat", key="use-team", icon=":material/forum:")
        sharing.draw_export(form.checked.document, team.id)
    if use:
        use_team(team.id)
    draw_sides(form)
