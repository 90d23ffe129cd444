"""Teams in a workspace: kept, found with the models that speak for them, and asked the questions of
a set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.ledger.evaluations.results import AT_ONCE, Evaluation, Evaluations, Expected
from agentkit.ledger.kept_teams import KeptTeam, KeptTeams
from agentkit.llm import Model, available_models, model_by_id
from agentkit.retrieval import Library
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Team, built
from agentkit.workspace.team_shelf import TeamShelf


class TeamRuns:
    """The teams that can be asked, and what they score."""

    settings: Settings
    ledger: Ledger
    library: Library
    kept_teams: KeptTeams
    evaluations: Evaluations
    bill: Bill

    def models(self) -> list[Model]:
        """The models that can be chosen; the offline one is always there."""
        return available_models(self.settings, self.library.similarity)

    def model(self, model_id: str = "") -> Model:
        """The model of that id, else the chosen or first configured one; raises NotFound."""
        return model_by_id(self.settings, model_id, self.library.similarity)

    @property
    def team_shelf(self) -> TeamShelf:
        """The teams that can be asked here, and the versions of those that people built."""
        return TeamShelf(self.kept_teams)

    def team(self, owner: str, team_id: str) -> Team:
        """The team of that id; raises NotFound, and ConfigError for one that cannot work."""
        return self.team_shelf.find(owner, team_id)

    def teams(self, owner: str) -> list[Team]:
        """Those that come with the app, then the person's own that can work."""
        return self.team_shelf.all(owner)

    def save_team(
        self, owner: str, document: built.TeamDocument | Mapping[str, Any] | str, team_id: str = ""
    ) -> KeptTeam:
        """Keep a team, or a new version of the one with this id, whose `key` a question is asked
        of as its `team_id`; raises ConfigError that names every problem, and NotFound.
        """
        return self.team_shelf.save(owner, document, team_id)

    def evaluate_team(
        self,
        owner: str,
        team_id: str,
        set_name: str,
        *,
        collection: str = "",
        model_id: str = "",
        at_once: int = AT_ONCE,
    ) -> Run[Evaluation]:
        """Put the questions of a set to a team, each in a run of its own, `at_once` at a time.

        The collection is by default the one that the set was made for. A question that fails is
        told in its result. Raises NotFound, ConfigError and WrongArgument at once.
        """
        from agentkit.workspace import evaluating  # loads the agents, which a search does not need

        setting = evaluating.prepare(
            self,
            owner,
            team_id,
            set_name,
            collection=collection,
            model_id=model_id,
            at_once=at_once,
        )
        return evaluating.evaluate(self, owner, setting)

    def resume_evaluation(self, owner: str, run_id: str) -> Run[Evaluation]:
        """Go on with an evaluation that broke off or was stopped: with the questions that are not
        answered yet, and of those that were being answered with what was not done yet.

        What was done is neither done nor paid for again, and the new evaluation takes the place of
        the other. Raises NotFound, and ConfigError for what cannot be gone on with.
        """
        from agentkit.workspace import evaluating

        setting = evaluating.prepare_rest(self, owner, run_id)
        return evaluating.evaluate(self, owner, setting)

    def forecast_evaluation(
        self, owner: str, team_id: str, set_name: str, model_id: str = ""
    ) -> Expected:
        """How many calls of models `evaluate_team` will probably take; raises NotFound."""
        from agentkit.workspace import evaluating

        questions = self.library.questions.named(owner, set_name).questions
        return evaluating.forecast(self, owner, team_id, self.model(model_id).id, questions)
