"""From a query to passages."""
