"""Going to the web for a document: which addresses are allowed, the way there, and a content that is whole."""
