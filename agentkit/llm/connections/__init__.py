"""Which model servers there are, and whether they work."""
