"""Before the first step: how fast this machine is, and what fits into the time there is."""
