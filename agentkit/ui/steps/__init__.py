"""What happens in a run as people see it: a class for each kind of step, by the type of event."""
