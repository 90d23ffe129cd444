"""What is told of usage beside sums: tables of the page, prices and budgets."""
