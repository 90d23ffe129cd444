"""The documents page: collections, adding, progress, the table, one document."""
