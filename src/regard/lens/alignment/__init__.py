"""Word alignment from attention: which tokens are a word, where to read it, and many pairs at a time."""
