"""What happens in a run, told step by step, live and stored."""
