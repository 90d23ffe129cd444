"""Teams that people built, kept in versions, beside those that come with the app."""

from __future__ import annotations

import pytest

from agentkit.errors import ConfigError, NotFound
from agentkit.ledger import Ledger
from agentkit.ledger.kept_teams import KeptTeams
from agentkit.workspace.team_shelf import TeamShelf
from tests.teams.built import drafts

ME, OTHER = "me", "other"


@pytest.fixture
def shelf(ledger: Ledger) -> TeamShelf:
    return TeamShelf(KeptTeams(ledger.database))


def test_a_chat_keeps_the_version_that_it_used(shelf: TeamShelf) -> None:
    first = shelf.save(ME, drafts.single(system_message="one"))
    second = shelf.save(ME, drafts.single(system_message="two") | {"name": "Renamed"}, first.id)
    assert (second.id, second.version) == (first.id, 2)
    assert shelf.find(ME, first.key).name == "One"
    assert shelf.find(ME, first.id).name == "Renamed"
    assert shelf.find(ME, second.key).kind == shelf.find(ME, first.key).kind
    assert [one.version for one in shelf.kept.versions(ME, first.id)] == [2, 1]


def test_saving_what_is_there_makes_no_version(shelf: TeamShelf) -> None:
    first = shelf.save(ME, drafts.group())
    assert shelf.save(ME, drafts.group(), first.id) == first


def test_an_old_version_comes_back(shelf: TeamShelf) -> None:
    first = shelf.save(ME, drafts.single(system_message="one"))
    shelf.save(ME, drafts.single(system_message="two"), first.id)
    back = shelf.roll_back(ME, first.id, 1)
    assert (back.version, back.document) == (3, first.document)


def test_a_copy_has_a_name_of_its_own(shelf: TeamShelf) -> None:
    first = shelf.save(ME, drafts.single())
    names = [shelf.duplicate(ME, first.id).name, shelf.duplicate(ME, first.id).name]
    assert names == ["One (2)", "One (3)"]


def test_a_deleted_team_is_gone_and_can_come_back(shelf: TeamShelf) -> None:
    first = shelf.save(ME, drafts.single())
    shelf.kept.delete(ME, first.id)
    with pytest.raises(NotFound, match="may have been deleted"):
        shelf.find(ME, first.key)
    assert "One" not in [team.name for team in shelf.all(ME)]
    shelf.kept.restore(ME, first.id)
    assert shelf.find(ME, first.key).name == "One"


def test_nobody_sees_the_teams_of_others(shelf: TeamShelf) -> None:
    first = shelf.save(ME, drafts.single())
    with pytest.raises(NotFound):
        shelf.find(OTHER, first.key)
    with pytest.raises(NotFound):
        shelf.save(OTHER, drafts.single(), first.id)
    assert shelf.kept.newest(OTHER) == []


def test_teams_that_come_with_the_app_are_found_and_named_first(shelf: TeamShelf) -> None:
    shelf.save(ME, drafts.single())
    names = [team.name for team in shelf.all(ME)]
    assert (names[0], names[-1]) == ("Answer with citations", "One")
    assert shelf.find(ME, "answer").name == names[0]


def test_a_team_that_cannot_work_is_not_kept(shelf: TeamShelf) -> None:
    with pytest.raises(ConfigError, match="there is no agent 'Nobody'"):
        shelf.save(ME, drafts.single() | {"flow": {"kind": "single", "agent": "Nobody"}})
    assert shelf.kept.newest(ME) == []


@pytest.mark.parametrize("team_id", ["my-gone", "my-gone:1", "my-gone:x", "gone"])
def test_what_is_not_there_is_told(shelf: TeamShelf, team_id: str) -> None:
    with pytest.raises(NotFound):
        shelf.find(ME, team_id)


@pytest.mark.parametrize("version", ["one", "²", "9" * 5_000], ids=["word", "square", "long"])
def test_a_version_that_is_not_a_number_is_not_there(shelf: TeamShelf, version: str) -> None:
    first = shelf.save(ME, drafts.single())
    with pytest.raises(NotFound, match=f"no version {version[:40]} of a team"):
        shelf.find(ME, f"{first.id}:{version}")
