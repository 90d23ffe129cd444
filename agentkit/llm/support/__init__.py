"""Checks the markers of an answer against the passages they name: what is not said is doubtful."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
