"""The loop and what keeps it safe: checkpoints, the folder, signals, several processes, validation."""
