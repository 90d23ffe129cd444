"""What is to be paid: own prices, calls that are priced anew, and budgets."""
