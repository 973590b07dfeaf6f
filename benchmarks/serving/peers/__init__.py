"""Peers of `regard serve`, each behind a small server in a process of its own; nothing of them is a dependency."""
