"""One file a claim, all of one shape."""
