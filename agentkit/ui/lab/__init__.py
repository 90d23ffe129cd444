"""The retrieval lab: a query tried, exact search, measurements, index versions."""
