from .checking import Embed, check, doubt_of
from .verdicts import Checked, Doubt, DoubtKind, Verdict

__all__ = ["Checked", "Doubt", "DoubtKind", "Embed", "Verdict", "check", "doubt_of"]
