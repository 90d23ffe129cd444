"""Tables out of documents: the same fields of each, every value with the words that it stands
in.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
