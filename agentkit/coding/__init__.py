"""Code execution: blocks are found in messages and run by an executor, in isolation or on this
machine.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
