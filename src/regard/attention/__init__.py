"""The equation: softmax(Q Kᵀ / √d) V, in one place, at three depths, with nothing of size N x N that was not asked for.

The letters at the end of a tensor's name are its dims, in this order:

    B  batch: any number of leading dims, also none       Q  queries
    H  query heads, H = J x G                             K  keys
    J  key (and value) heads                              D  dim of query and key
    G  query heads served by one key head                 V  dim of value

`steps` is the whole mechanism on one page; `attend` is the door to all of it.
"""

from regard.attention.attend import attend
from regard.attention.received import received
from regard.attention.rollout import Layer, rollout
from regard.attention.statistics import Statistics
from regard.attention.steps import Steps
from regard.attention.tiles import tile

__all__ = ["Layer", "Statistics", "Steps", "attend", "received", "rollout", "tile"]
