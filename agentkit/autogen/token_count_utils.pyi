"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.tokens.tools import num_tokens_from_functions as num_tokens_from_functions
from agentkit.llm.tokens.windows import count_token as count_token
from agentkit.llm.tokens.windows import get_max_token_limit as get_max_token_limit
from agentkit.llm.tokens.windows import percentile_used as percentile_used
from agentkit.llm.tokens.windows import token_left as token_left

__all__: list[str]
