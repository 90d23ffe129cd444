"""Werewolf, the game of lies for six: rules, one parser per phase, and the play between agents."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
