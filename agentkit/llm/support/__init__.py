"""Checks the markers of an answer against the passages they name, offline: what a passage does not say is doubtful."""

from agentkit.llm.support.checking import Checked, Doubt, DoubtKind, Embed, Verdict, check, doubt_of

__all__ = ["Checked", "Doubt", "DoubtKind", "Embed", "Verdict", "check", "doubt_of"]
