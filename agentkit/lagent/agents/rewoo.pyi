"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import PLANNER_PROMPT_CN as PLANNER_PROMPT_CN
from agentkit.agents.rewoo import PLANNER_PROMPT_EN as PLANNER_PROMPT_EN
from agentkit.agents.rewoo import REFORMAT_PROMPT_CN as REFORMAT_PROMPT_CN
from agentkit.agents.rewoo import REFORMAT_PROMPT_EN as REFORMAT_PROMPT_EN
from agentkit.agents.rewoo import ReWOO as ReWOO
from agentkit.agents.rewoo import ReWOOProtocol as ReWOOProtocol
from agentkit.agents.rewoo import SOLVER_PROMPT_CN as SOLVER_PROMPT_CN
from agentkit.agents.rewoo import SOLVER_PROMPT_EN as SOLVER_PROMPT_EN
from agentkit.agents.rewoo import WORKER_PROMPT_CN as WORKER_PROMPT_CN
from agentkit.agents.rewoo import WORKER_PROMPT_EN as WORKER_PROMPT_EN

__all__: list[str]
