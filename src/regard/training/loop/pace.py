"""Ending on time: where on the schedule a step is, and how many more steps fit.

A run with a budget begins with as many steps as were measured to fit. When the machine turns out slower or faster, the
rest of the schedule is spread over the steps that do fit: the rate goes on from where it is, and is down at the end.
What was decided stands in the run's position, so that a resumed run follows it too.
"""

from __future__ import annotations

from dataclasses import dataclass

from regard.training.recipe.recipe import Training

LEAST = 10  # steps, even where there is no time at all
CLOSE = 0.02  # of the time, by which the end may lie before or after the limit before anything is changed
LOOKS = 40  # times that the clock is looked at, from the beginning to the end
SAVED = 100.0  # seconds after which a checkpoint is due, whatever the recipe says: two minutes at the latest


@dataclass
class Pace:
    """Which step of the schedule each step is: itself, until the end is moved."""

    steps: int  # of the schedule
    end: int  # the last step there will be
    since: int = 0  # the step at which the end was moved last
    at: float = 0.0  # its position on the schedule

    @classmethod
    def of(cls, steps: int, moved: list[float] | None) -> Pace:
        """As a position holds it."""
        return cls(steps, steps) if moved is None else cls(steps, int(moved[0]), int(moved[1]), moved[2])

    @property
    def moved(self) -> list[float] | None:
        return [self.end, self.since, self.at] if self.since else None

    def schedule_position(self, step: int) -> float:
        """The step of the schedule, exactly `step` as long as nothing was moved."""
        if step >= self.end:
            return float(self.steps)
        return self.at + (self.steps - self.at) * (step - self.since) / (self.end - self.since)

    def move(self, step: int, end: int) -> None:
        """From `step` on, what is left of the schedule is spread over the steps until `end`."""
        self.at, self.since, self.end = self.schedule_position(step), step, max(end, step)


@dataclass
class Deadline:
    """How long a run may train, in its own seconds, validations included; `most` steps are enough in any case."""

    seconds: float
    most: int
    validation: float  # seconds, as far as one can tell; each that is made tells better
    scoring: float  # how many validations the scores at the end cost
    reserved: float = 0.0  # seconds for them that `seconds` already leaves out
    step_seconds: float = 0.0  # of late; 0 while nobody knows
    mark: tuple[float, int] = (0.0, 0)  # seconds spent on steps, and the step, when the clock was looked at last

    @property
    def measured(self) -> list[float]:
        """As a position holds it."""
        return [self.step_seconds, self.validation]

    @measured.setter
    def measured(self, seconds: list[float]) -> None:
        self.step_seconds, self.validation = seconds

    @property
    def limit(self) -> float:
        """When training must end: what the scores at the end turn out to cost more is taken from it."""
        return self.seconds + self.reserved - self.scoring * self.validation

    def saw_validation(self, seconds: float) -> None:
        """Half of what is known of them is the newest: a moment in which the machine was busy is not all."""
        self.validation = (self.validation + seconds) / 2

    def due(self, step: int, seconds: float, how: Training) -> bool:
        """Whether it is time to look at the clock: a few dozen times in all, and when time is up."""
        return step % max(how.steps // LOOKS, 1) == 0 or seconds >= self.limit

    def look(self, step: int, busy: float) -> None:
        """How fast it goes of late: half of it what was measured since the last look."""
        (before, first), self.mark = self.mark, (busy, step)
        if step > first and busy > before:
            latest = (busy - before) / (step - first)
            self.step_seconds = (self.step_seconds + latest) / 2 if self.step_seconds else latest

    def end(self, step: int, seconds: float, pace: Pace, how: Training) -> int:
        """The last step, as it is or moved: only where it would be clearly too late or too early."""
        left, every = self.limit - seconds, how.validate_every
        if left <= 0:
            return max(step, min(LEAST, pace.end))
        if not self.step_seconds:
            return pace.end
        validations = 1 + (pace.end - 1) // every - step // every
        late = (pace.end - step) * self.step_seconds + validations * self.validation - left
        if abs(late) <= CLOSE * self.seconds:
            return pace.end
        # Each step takes its share of the validations that come with it; the last one is not shared.
        fit = (left - self.validation) / (self.step_seconds + self.validation / every)
        return max(min(step + int(fit), self.most), step)
