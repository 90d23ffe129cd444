"""The runs: found among all of them, and each looked into step by step."""
