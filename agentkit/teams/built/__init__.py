"""Teams that people build: a team as one document, and the agents that are made of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
