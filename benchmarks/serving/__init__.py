"""The load benchmark of `regard serve`, its peers beside it."""
