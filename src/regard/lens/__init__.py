"""What each head did: watching any model, changing it, and reading what was recorded."""
