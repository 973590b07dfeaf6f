"""What experiments are made of: controls built from the models' blocks, small tasks, and a short training loop."""
