"""ReAct, step by step, on the actions, models and events of ReWOO: the baseline of `bench_plans`.

Source: Yao et al. 2022, arXiv:2210.03629. Every call of the model repeats the task, the examples
    and all that was seen so far.
"""

from __future__ import annotations

import re
from typing import Any

from agentkit.agents.rewoo.calling import ActionCall
from agentkit.agents.rewoo.executor import ActionExecutor
from agentkit.agents.rewoo.model_call import ask

PROMPT = """Answer the question step by step, with tools. Each time write one thought and one \
action, and stop there:
Thought: what you know by now, and what you need next
Action: ToolName[input]
You are then shown what the action gave, as "Observation: ...". As soon as you know the answer, \
write the action Finish[answer].
Use only these tools, with their exact names:
{tools}
"""
_ACTION = re.compile(r"Action:\s*(\w+)\[(.*)\]", re.DOTALL)


class ReAct:
    """Thought, action, observation, until the model finishes; at most `max_turn` actions."""

    def __init__(
        self,
        llm: Any,
        executor: ActionExecutor,
        *,
        examples: str = "",
        max_turn: int = 20,
        name: str = "ReAct",
    ) -> None:
        self.name = name
        self.max_turn = max_turn
        self._llm = llm
        self._call = ActionCall(executor, name)
        self._task = PROMPT.format(tools=executor.get_actions_info()) + examples

    def chat(self, question: str) -> str:
        """The answer; empty when the model does not come to one, or names no action."""
        seen = ""
        for _ in range(self.max_turn + 1):
            told = f"Question: {question}\n{seen}"
            reply = ask(
                self._llm,
                [{"role": "system", "content": self._task}, {"role": "user", "content": told}],
                self.name,
                {},
            ).strip()
            found = _ACTION.search(reply)
            if found is None or found[1] == "Finish":
                return found[2] if found else ""
            given = self._call(found[1], found[2])
            seen += (
                f"{reply}\nObservation:"
                f" {given.format_result() if given.errmsg is None else given.errmsg}\n"
            )
        return ""
