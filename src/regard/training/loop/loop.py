"""The loop: batches to gradients to weights, with validation, checkpoints, and a way to stop at any step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from regard.errors import InputError
from regard.models.checkpoint import Model
from regard.text.batches import ahead
from regard.training.data.task_batches import BatchLoader, TaskBatch
from regard.training.data.transfer import Transfer
from regard.training.loop.checkpoint_files import Position, remember_parts, save_state
from regard.training.loop.clock import Clock
from regard.training.loop.pace import SAVED, Deadline, Pace
from regard.training.loop.selection import Selection
from regard.training.loop.training_state import TrainingState
from regard.training.optim.gradients import OutOfMemory
from regard.training.optim.optimizer import Anchor
from regard.training.optim.schedule import rate_at
from regard.training.optim.updates import SkippedSteps, Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from regard.training.report.events import Listener, Note, Saved, Stepped, Validated, silent

NO_NUMBER = "the loss or a gradient is not a number"
MOST_SKIPPED = 10  # steps in a row whose loss is no number before giving up
MOVED = 0.1  # of the steps, by which their number changes before it is said
REPORT_EVERY = 0.1  # seconds between two reports of where training stands


@dataclass
class TrainingLoop:
    """All that a loop works on. `validate` scores the weights as they are; `save_model` writes them down.

    `gathered` is where the first process puts together weights of which each has a share, to do either.
    """

    model: Model
    how: Training
    loader: BatchLoader
    update: Update
    validate: Callable[[int], Validated]
    folder: Path
    select: Selection
    save_model: Callable[[], None]
    listener: Listener = silent
    workers: Workers = field(default_factory=Workers)
    stopped: Callable[[], str] = lambda: ""  # why to stop now, if anything
    position: Position = field(default_factory=Position)
    interrupted: bool = False  # someone asked one of the processes to stop
    deadline: Deadline | None = None
    gathered: Model | None = None
    pace: Pace = field(init=False)
    state: TrainingState = field(init=False)
    reported_end: int = 0  # the last step, as it was said last

    def __post_init__(self) -> None:
        self.pace = Pace.of(self.how.steps, self.position.moved)
        self.update.schedule_position = lambda step: self.pace.schedule_position(step)
        anchor = Anchor(self.gathered or self.model, self.how.anchor) if self.workers.first else None
        self.state = TrainingState(self.model, self.update, self.workers, self.gathered, anchor)

    # What is kept of it

    def restore(self, position: Position, tensors: dict[str, Tensor]) -> None:
        """Go on where a checkpoint left off."""
        self.position = position
        self.pace = Pace.of(self.how.steps, position.moved)
        self.reported_end = self.pace.end
        if self.deadline is not None and position.measured:
            self.deadline.measured = position.measured
        self.update.gradients.parts = position.micro_batches
        self.update.skipped = SkippedSteps(position.bad, position.skipped)
        self.state.restore(tensors)

    def save(self) -> None:
        states = self.workers.gather(self.state.rng_state())
        tensors = self.state.tensors() | {name: state for own in states for name, state in own.items()}
        if self.workers.first:
            keep = max(self.how.keep, self.how.last if self.how.average == "last" else 0)
            save_state(self.folder / "checkpoints", self.position, tensors, keep, self.planned)
            self.listener(Saved(self.position.step))
        self.workers.wait()

    def planned(self, step: int) -> bool:
        """Is a checkpoint due at this step, whatever happens?"""
        how = self.how
        return step >= self.pace.end or step % how.checkpoint_every == 0 or step % how.validate_every == 0

    # What it does

    def go(self) -> str:
        """Train until all steps are done, nothing gets better, or someone asks to stop; says which."""
        if why := self.done():  # it broke off while it was scored
            return why
        clock = Clock(self.position.seconds)
        if self.deadline is not None:
            self.deadline.mark = (0.0, self.position.step)
        for batch in self.batches():
            loss = self.step(batch)
            self.position.seconds = clock.seconds()
            self.report_step(clock, batch, loss)
            why = self.pause(clock)
            if why:
                return why
        raise InputError("there is nothing to train on", found="no batches", do="give more text")

    def done(self) -> str:
        """Why there is nothing left to train, if so."""
        if self.position.step >= self.pace.end:
            return "all steps done"
        tired = bool(self.how.patience) and self.position.waited >= self.how.patience
        return f"no better for {self.how.patience} validations" if self.workers.agree(tired) else ""

    def batches(self) -> Iterator[TaskBatch]:
        """From where the position says, epoch after epoch. A batch counts when it is worked on, not when ready."""
        transfer = Transfer.to(self.update.gradients.device)
        workers = max(self.how.workers, int(transfer.staged))  # beside a GPU one thread has nothing else to do
        while True:
            specs = self.loader.epoch(self.position.epoch)
            if not specs:
                return
            for batch in transfer(ahead(specs[self.position.batch :], self.loader.build, workers)):
                self.position.batch += 1
                yield batch
            self.position.epoch, self.position.batch = self.position.epoch + 1, 0

    def step(self, batch: TaskBatch) -> Tensor:
        """One update."""
        self.position.step += 1
        try:
            loss = self.update(batch, self.position.step)
        except OutOfMemory as error:
            remember_parts(self.folder / "checkpoints", error.parts)
            raise
        parts = self.update.gradients.parts
        if parts != self.position.micro_batches:
            self.position.micro_batches = parts
            self.listener(Note(f"out of memory: batches now go through in {parts} parts", warning=True))
        if self.update.synchronous:
            self.check_skipped()
        return loss

    def check_skipped(self) -> None:
        """Has an update been skipped? Too many in a row, and something is wrong."""
        before, (in_a_row, total) = self.position.skipped, self.update.skipped
        self.position.bad, self.position.skipped = in_a_row, total
        if total > before:
            self.listener(Note(f"step {self.position.step}: {NO_NUMBER}; skipped ({total} in all)", warning=True))
        if in_a_row >= MOST_SKIPPED:
            raise InputError(
                f"{NO_NUMBER}, {in_a_row} steps in a row",
                found=f"step {self.position.step}, rate {self.rate():.2g}",
                do="lower training.rate to a third, lengthen training.warmup, or set training.precision = 'float32', "
                "in another --out; the last checkpoint here is whole",
            )

    def report_step(self, clock: Clock, batch: TaskBatch, loss: Tensor) -> None:
        step, steps = self.position.step, self.pace.end
        clock.tokens += batch.tokens
        if clock.due(REPORT_EVERY) or step == steps or step % self.how.validate_every == 0:
            self.check_skipped()
            speed, left = clock.speed(step), clock.left(steps - step)
            self.listener(
                Stepped(step, steps, self.position.epoch, float(loss), self.rate(), speed, self.position.seconds, left)
            )

    def rate(self) -> float:
        return rate_at(self.pace.schedule_position(self.position.step), self.how)

    def pause(self, clock: Clock) -> str:
        """Validate and save when it is time; why to stop, if there is a reason."""
        wanted, timed = self.consult(clock)
        step, last = self.position.step, self.position.step >= self.pace.end
        due = last or step % self.how.validate_every == 0
        begun = clock.seconds()
        if due:
            self.validate_model()
            if self.deadline is not None:
                self.deadline.saw_validation(clock.seconds() - begun)
                self.position.measured = self.deadline.measured
        if wanted or timed or self.planned(step):
            self.position.seconds = clock.saved = clock.seconds()
            self.save()
        clock.paused += clock.seconds() - begun
        if wanted:
            self.interrupted = True
            return self.stopped() or "stopped"
        return self.done() if due else ""

    def consult(self, clock: Clock) -> tuple[bool, bool]:
        """Whether to stop, and whether a checkpoint is due by the clock, which the first process reads for all."""
        timed, end = False, 0
        if self.workers.first:
            timed, end = clock.seconds() - clock.saved >= SAVED, self.follow(clock)
        wanted, saving, last = self.workers.total([float(bool(self.stopped())), float(timed), float(end)])
        if last != self.pace.end:
            self.pace.move(self.position.step, int(last))
            self.position.moved = self.pace.moved
            self.report_end()
        return bool(wanted), bool(saving)

    def follow(self, clock: Clock) -> int:
        """The last step, so that training ends on time."""
        step, seconds = self.position.step, clock.seconds()
        if self.deadline is None or not self.deadline.due(step, seconds, self.how):
            return self.pace.end
        self.deadline.look(step, clock.busy())
        self.position.measured = self.deadline.measured
        return self.deadline.end(step, seconds, self.pace, self.how)

    def report_end(self) -> None:
        """When clearly more or fewer steps fit than was said last."""
        end, reported = self.pace.end, self.reported_end or self.how.steps
        if abs(end - reported) > MOVED * reported:
            self.reported_end = end
            pace = "faster" if end > reported else "slower"
            self.listener(Note(f"the machine is {pace} than it was: {end:,} steps fit, not {reported:,}"))

    def validate_model(self) -> None:
        """Validate (the average, where one is kept) and keep the best."""
        position = self.position
        with self.state.evaluated():  # in every process: each may hold a share
            if not self.workers.first:
                return
            validated = self.validate(position.step)
            better, position.best = self.select(validated, position.best)
            if better:
                position.best_step = position.step
                self.save_model()
        position.waited = 0 if better else position.waited + 1
        self.listener(replace(validated, best=better))
