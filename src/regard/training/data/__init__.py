"""From files to batches of ids."""
