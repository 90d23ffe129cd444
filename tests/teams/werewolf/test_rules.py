"""The rules: who may do what and who has won, with legal and illegal moves."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import WrongArgument
from agentkit.teams.roster import MAX_DAYS, PLAYERS
from agentkit.teams.werewolf.rules import ROLES, Death, Role, Village, deal

ROLE_OF: dict[str, Role] = dict(zip(PLAYERS, ROLES, strict=True))
WOLF, OTHER_WOLF, VILLAGER, OTHER, SEER, WITCH = PLAYERS


def all_for(village: Village, player: str) -> dict[str, str | None]:
    return dict.fromkeys(village.alive, player)


def winner(village: Village) -> str | None:
    return village.winner


def test_roles_are_dealt_by_the_seed() -> None:
    assert deal(PLAYERS, Random(1)) == deal(PLAYERS, Random(1))
    assert len({tuple(deal(PLAYERS, Random(seed)).values()) for seed in range(20)}) > 10
    assert Counter(deal(PLAYERS, Random(3)).values()) == {
        "werewolf": 2,
        "villager": 2,
        "seer": 1,
        "witch": 1,
    }


@pytest.mark.parametrize("names", [PLAYERS[:5], (*PLAYERS[:5], PLAYERS[0]), (*PLAYERS[:5], " ")])
def test_a_game_needs_six_names(names: tuple[str, ...]) -> None:
    with pytest.raises(WrongArgument, match="needs 6 different names"):
        deal(names, Random(1))


def test_a_game_has_a_day() -> None:
    with pytest.raises(WrongArgument, match="at least one day, not 0"):
        Village(ROLE_OF, max_days=0)


def test_the_village_wins_when_both_werewolves_are_out() -> None:
    village = Village(ROLE_OF)
    village.dawn()
    village.vote(all_for(village, WOLF))
    assert winner(village) is None
    village.dawn()
    village.vote(all_for(village, OTHER_WOLF))
    assert village.winner == "village"
    assert village.deaths == [Death(WOLF, 1, "vote"), Death(OTHER_WOLF, 2, "vote")]


def test_the_werewolves_win_as_soon_as_they_are_as_many_as_the_others() -> None:
    village = Village(ROLE_OF)
    village.hunt({WOLF: SEER, OTHER_WOLF: SEER})
    village.dawn()
    assert winner(village) is None
    village.vote(all_for(village, VILLAGER))
    assert village.winner == "werewolves"
    assert village.outcome("werewolves").days == 1


def test_without_a_winner_it_is_a_draw_after_the_last_day() -> None:
    village = Village(ROLE_OF, max_days=2)
    for _ in range(2):
        assert winner(village) is None
        village.hunt({})
        village.dawn()
        village.vote({})
    assert (village.winner, village.outcome("draw").days) == ("draw", 2)


def test_werewolves_that_name_two_kill_nobody_and_never_one_another() -> None:
    village = Village(ROLE_OF)
    assert village.hunt({WOLF: SEER, OTHER_WOLF: WITCH}).chosen is None
    assert village.hunt({WOLF: OTHER_WOLF, OTHER_WOLF: SEER}).chosen == SEER
    assert village.ballots[-1].votes == {WOLF: None, OTHER_WOLF: SEER}
    assert village.hunt({VILLAGER: SEER}).chosen is None  # no werewolf said so


def test_the_witch_saves_the_victim_once_and_then_poisons_nobody() -> None:
    village = Village(ROLE_OF)
    village.hunt({WOLF: WITCH, OTHER_WOLF: WITCH})
    village.heal()  # herself
    with pytest.raises(WrongArgument, match="cannot be poisoned on day 1"):
        village.poison(WOLF)
    assert village.dawn() == []
    village.hunt({WOLF: SEER, OTHER_WOLF: SEER})
    with pytest.raises(WrongArgument, match="no healing potion left"):
        village.heal()
    assert village.may_poison  # it is another night
    assert village.dawn() == [SEER]


def test_without_a_victim_there_is_nobody_to_heal() -> None:
    village = Village(ROLE_OF)
    village.hunt({})
    assert not village.may_heal


def test_two_may_die_in_a_night_and_are_named_in_the_order_of_the_table() -> None:
    village = Village(ROLE_OF)
    village.hunt({WOLF: SEER, OTHER_WOLF: SEER})
    village.poison(OTHER_WOLF)
    assert village.dawn() == [OTHER_WOLF, SEER]
    assert village.deaths == [Death(OTHER_WOLF, 1, "poison"), Death(SEER, 1, "werewolves")]
    assert village.list_living("seer") == []


def test_the_poison_is_there_once_and_for_others_that_live() -> None:
    village = Village(ROLE_OF)
    for impossible in (WITCH, "Player9"):
        with pytest.raises(WrongArgument, match=impossible):
            village.poison(impossible)
    village.poison(VILLAGER)
    with pytest.raises(WrongArgument):
        village.poison(OTHER)
    village.dawn()
    assert not village.may_poison


def test_poison_and_werewolves_may_meet_in_one_player_who_dies_once() -> None:
    village = Village(ROLE_OF)
    village.hunt({WOLF: SEER, OTHER_WOLF: SEER})
    village.poison(SEER)
    assert village.dawn() == [SEER]
    assert village.deaths == [Death(SEER, 1, "werewolves")]


def test_the_seer_looks_at_others_that_live() -> None:
    village = Village(ROLE_OF)
    assert (village.look(WOLF), village.look(WITCH)) == ("werewolf", "witch")
    village.vote(all_for(village, WOLF))
    for impossible in (WOLF, SEER):
        with pytest.raises(WrongArgument, match=impossible):
            village.look(impossible)


def test_a_seer_and_a_witch_who_die_tonight_still_act_but_not_tomorrow() -> None:
    village = Village(ROLE_OF)
    village.hunt({WOLF: WITCH, OTHER_WOLF: WITCH})
    village.poison(WOLF)
    village.dawn()
    assert not village.may_poison
    village.vote(all_for(village, SEER))
    with pytest.raises(WrongArgument, match="it takes a living seer"):
        village.look(OTHER_WOLF)


def test_a_tie_and_no_votes_harm_nobody() -> None:
    village = Village(ROLE_OF)
    assert village.vote({WOLF: SEER, SEER: WOLF}).chosen is None
    assert village.vote({}).chosen is None
    assert village.vote({SEER: WOLF}).chosen == WOLF  # the others abstain


def test_votes_for_the_dead_oneself_and_strangers_are_abstentions() -> None:
    village = Village(ROLE_OF)
    village.vote(all_for(village, VILLAGER))
    ballot = village.vote(
        {WOLF: VILLAGER, SEER: SEER, WITCH: "Nobody", OTHER: WOLF, VILLAGER: SEER, "Stranger": SEER}
    )
    assert ballot.votes == {WOLF: None, OTHER_WOLF: None, OTHER: WOLF, SEER: None, WITCH: None}
    assert ballot.chosen == WOLF


Votes = dict[str, str | None]
NAMES = st.sampled_from([*PLAYERS, "Player7", ""])
VOTES = st.dictionaries(NAMES, st.none() | NAMES)
DAYS = st.lists(st.tuples(VOTES, st.booleans(), NAMES, VOTES), min_size=MAX_DAYS, max_size=MAX_DAYS)


@given(st.integers(0, 1000), DAYS)
def test_every_game_ends_within_the_days_whatever_is_tried(
    seed: int, days: list[tuple[Votes, bool, str, Votes]]
) -> None:
    village = Village(deal(PLAYERS, Random(seed)))
    played = iter(days)
    while village.winner is None:
        hunt, heals, poisoned, vote = next(played)  # StopIteration would be a game without an end
        alive, wolves = village.alive, village.list_living("werewolf")
        night = village.hunt(hunt)
        assert set(night.votes) == set(wolves)
        if heals and village.may_heal:
            village.heal()
        if (
            village.may_poison
            and poisoned in alive
            and poisoned not in village.list_living("witch")
        ):
            village.poison(poisoned)
        died = village.dawn()
        assert len(died) <= 2
        if village.winner is None:
            ballot = village.vote(vote)
            assert list(ballot.votes) == [player for player in alive if player not in died]
            assert set(ballot.votes.values()) <= {*ballot.votes, None}
            assert all(voter != choice for voter, choice in ballot.votes.items())
            died = [*died, *([ballot.chosen] if ballot.chosen else [])]
        assert village.alive == [player for player in alive if player not in died]
    gone = [death.player for death in village.deaths]
    assert len(set(gone)) == len(gone) == len(PLAYERS) - len(village.alive)
    wolves = village.list_living("werewolf")
    expected = (
        "village" if not wolves else "werewolves" if len(wolves) >= len(village.prey) else "draw"
    )
    assert village.winner == expected
    assert village.days <= MAX_DAYS
