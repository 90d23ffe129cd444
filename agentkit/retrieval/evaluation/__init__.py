"""How well a search finds what people judged relevant."""
