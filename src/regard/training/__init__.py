"""From text to a model: recipe, data, loop, checkpoints, evaluation. Prints nothing: it tells a listener."""

from regard.training.run.outcome import Outcome
from regard.training.train import train

__all__ = ["Outcome", "train"]
