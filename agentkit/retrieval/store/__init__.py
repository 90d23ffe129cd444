"""The truth: collections, documents, chunks and questions in the database, originals in files."""
