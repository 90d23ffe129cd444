"""Usage as tables and files, and what models cost today."""
