from .built.team import team_from_json
from .question import Question
from .registry import team, teams, variants
from .task import Answer, Task, Team
from .citing import Citation

__all__ = ["Answer", "Citation", "Question", "Task", "Team", "team", "team_from_json", "teams", "variants"]
