"""From a batch to better weights: loss, gradients, optimizer, schedule."""
