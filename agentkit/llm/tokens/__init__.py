"""Counting tokens of texts, messages, tools and pictures."""

from agentkit.llm.tokens.counting import register_token_counter

__all__ = ["register_token_counter"]
