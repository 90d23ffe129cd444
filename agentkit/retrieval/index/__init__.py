"""Caches of the truth that answer fast: vectors, words, and what hits show."""
