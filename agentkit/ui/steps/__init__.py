"""What happens in a run as people see it: one class for each kind of step, found by the type of the event."""
