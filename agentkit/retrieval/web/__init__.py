"""To the web for a document: which addresses are allowed, the way there, and whole contents."""
