"""From text to a model: recipe, data, loop, checkpoints, evaluation. Prints nothing: it tells a listener."""

from regard.training.loop.distributed import first_process
from regard.training.optim.workers import SharedError
from regard.training.run.outcome import Outcome
from regard.training.train import train

__all__ = ["Outcome", "SharedError", "first_process", "train"]
