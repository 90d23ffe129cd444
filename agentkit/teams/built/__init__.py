"""Teams that people build: a team as one document, and the agents that are made of it."""
