"""What is told of a run: events, curves, boards."""
