"""Translation and text for other programs, over HTTP, as the clients they already have ask for it."""
