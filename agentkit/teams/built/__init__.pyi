from .document import TeamDocument, read_document
from .problems import check_document
from .team import build_team

__all__ = ["TeamDocument", "build_team", "check_document", "read_document"]
