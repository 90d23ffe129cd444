"""Plans first (ReWOO): the team, and what the person sees of its plan before it runs."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
