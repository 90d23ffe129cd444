"""Checks the markers of an answer against the passages they name: what is not said is doubtful."""

from agentkit.llm.support.checking import Checked, Doubt, DoubtKind, Embed, Verdict, check, doubt_of

__all__ = ["Checked", "Doubt", "DoubtKind", "Embed", "Verdict", "check", "doubt_of"]
