"""Strings to ids and back. Knows nothing of models; holds no arithmetic of tensors beyond laying out batches."""
