"""Triton kernels for what PyTorch's fused attention does not say: every row's statistics, columns, and pooled tiles.

`choose` decides whether they serve, `launches` launches them; each means what the blockwise pass in torch means, which
serves wherever they do not: on other devices, in float64, for gradients, with dropout. A head's dim may be up to 256.
"""
