"""Counting tokens of texts, messages, tools and pictures."""
