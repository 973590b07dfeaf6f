"""From ids to ids: one small interface that every model is decoded through, greedily, by beams or by sampling."""

from regard.decoding.beam import beam
from regard.decoding.beams import Beams
from regard.decoding.cache import KeyValueCache
from regard.decoding.greedy import greedy
from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.recordings import search
from regard.decoding.sampling import Sampling, sample
from regard.decoding.stepper import Stepper, stepper_for

__all__ = [
    "Beams",
    "Hypothesis",
    "KeyValueCache",
    "Limits",
    "Sampling",
    "Stepper",
    "beam",
    "greedy",
    "sample",
    "search",
    "stepper_for",
]
