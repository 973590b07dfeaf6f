"""From text to a model: recipe, data, loop, checkpoints, evaluation. Prints nothing: it tells a listener."""

from regard.training.train import Outcome, train

__all__ = ["Outcome", "train"]
