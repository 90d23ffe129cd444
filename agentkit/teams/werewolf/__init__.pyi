from .game import play
from .rules import Ballot, Death, Outcome, Village

__all__ = ["Ballot", "Death", "Outcome", "Village", "play"]
