"""Chunks to answers: embedding, the store, its indexes, taking documents in and finding passages in
them.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
