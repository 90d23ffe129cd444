"""The conversation engine: agents that send, receive and reply, and everything that makes a
reply.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # of __init__.pyi
