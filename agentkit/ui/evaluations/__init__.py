"""Teams beside each other: one question to two of them, and question sets to any."""
