"""How good searches and teams are: measured again, and warned of."""
