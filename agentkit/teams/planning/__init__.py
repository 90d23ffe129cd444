"""Plans first (ReWOO): the team, and what the person sees of its plan before it runs."""
