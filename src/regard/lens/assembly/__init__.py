"""From single attention calls to one map a site: steps concatenated, masks and biases as patterns, logsumexp."""
