"""A long chat for tests: question after question to the assistant, with what the ledger would tell
of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentkit import runs
from agentkit.events import Compressed
from agentkit.llm import Model
from agentkit.messages import Message, message
from agentkit.teams import Question, Task, team
from tests.teams.stage import Played, look_up


class LongChat:
    """Earlier turns, to which each question adds two; what was told of shortening them is known to
    the next question.
    """

    def __init__(
        self,
        model: Model,
        history: Sequence[Message] = (),
        told: Sequence[tuple[int, Compressed]] = (),
    ) -> None:
        self.model = model
        self.history = list(history)
        self.told = list(told)

    def ask(self, question: str) -> Played:
        """The run of the assistant that answers; raises what it raised."""
        task = Task(
            Question(question),
            self.model,
            look_up,
            list(self.history),
            "answer",
            "question",
            shortened=lambda: self.told[::-1],
        )
        run = runs.start(
            lambda: team("assistant").work(task), kind="chat", owner="stage", chat_id="chat"
        )
        played = Played([one.event for one in run], result=run.result())
        self.told += [(len(self.history), event) for event in played.of(Compressed)]
        self.history += [message("user", question), message("assistant", played.final.content)]
        return played
