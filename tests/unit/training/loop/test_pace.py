"""A run that ends on time: the schedule follows the clock, and a resumed run follows what was decided."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from regard.training.loop.pace import CLOSE, LEAST, LOOKS, Deadline, Pace
from regard.training.optim.schedule import rate_at
from regard.training.recipe.recipe import Training


@pytest.mark.parametrize("steps", [1, 3, 10, 997, 100_000])
def test_as_long_as_nothing_moves_every_step_is_itself_exactly(steps: int) -> None:
    pace = Pace(steps, steps)
    assert pace.moved is None
    for step in {1, steps // 3, steps // 2, steps - 1, steps} - {0}:
        assert pace.schedule_position(step) == step
        assert rate_at(pace.schedule_position(step), Training(steps=steps, warmup=0)) == rate_at(
            step, Training(steps=steps, warmup=0)
        )


@pytest.mark.parametrize("end", [50, 80, 300])
def test_a_moved_end_goes_on_from_where_the_rate_is_and_comes_down_with_the_last_step(end: int) -> None:
    how = Training(steps=100, warmup=10)
    pace = Pace(100, 100)
    before = pace.schedule_position(40)
    pace.move(40, end)
    assert pace.schedule_position(40) == before == 40
    places = [pace.schedule_position(step) for step in range(40, end + 1)]
    steps = [second - first for first, second in pairwise(places)]
    assert steps == pytest.approx([60 / (end - 40)] * (end - 40))
    assert rate_at(pace.schedule_position(end), how) == pytest.approx(0.0)


def test_it_may_move_again_and_be_read_again() -> None:
    pace = Pace(100, 100)
    pace.move(40, 60)
    pace.move(50, 90)
    assert pace.schedule_position(50) == pytest.approx(70)
    again = Pace.of(100, pace.moved)
    assert again == pace
    assert [again.schedule_position(step) for step in range(50, 95)] == [
        pace.schedule_position(step) for step in range(50, 95)
    ]
    pace.move(70, 70)  # time is up
    assert (pace.end, pace.schedule_position(70)) == (70, 100.0)


class Machine:
    """Steps and validations that take as long as they are said to; the loop's part of looking at the clock."""

    def __init__(self, how: Training, deadline: Deadline) -> None:
        self.how, self.deadline, self.pace = how, deadline, Pace(how.steps, how.steps)
        self.step, self.busy, self.seconds, self.validated = 0, 0.0, 0.0, 0
        self.moves = 0

    def go(self, step_seconds: float, validation: float, until: int | None = None) -> None:
        while self.step < min(self.pace.end, until or self.pace.end):
            self.step += 1
            self.busy += step_seconds
            self.seconds += step_seconds
            if self.deadline.due(self.step, self.seconds, self.how):
                self.deadline.look(self.step, self.busy)
                end = self.deadline.end(self.step, self.seconds, self.pace, self.how)
                if end != self.pace.end:
                    self.moves += 1
                    self.pace.move(self.step, end)
            if self.step >= self.pace.end or self.step % self.how.validate_every == 0:
                self.seconds += validation
                self.deadline.saw_validation(validation)
                self.validated += 1


HOW = Training(steps=1000, validate_every=125, warmup=100)


def deadline(most: int = 100_000) -> Deadline:
    """For 1,000 steps of half a second and eight validations of five."""
    return Deadline(540.0, most, 5.0, 2.0, reserved=10.0)


def test_a_machine_as_fast_as_measured_changes_nothing() -> None:
    machine = Machine(HOW, deadline())
    machine.go(0.5, 5.0)
    assert (machine.moves, machine.step, machine.seconds) == (0, 1000, 540.0)


@pytest.mark.parametrize("wrong", [0.99, 1.01])
def test_nor_does_one_that_is_nearly_so(wrong: float) -> None:
    machine = Machine(HOW, deadline())
    machine.go(0.5 * wrong, 5.0)
    assert machine.moves == 0
    assert abs(machine.seconds - 540) <= CLOSE * 540


@pytest.mark.parametrize("factor", [0.25, 0.5, 0.8, 1.25, 2.0, 4.0])
@pytest.mark.parametrize("when", [0, 100, 500, 900])
def test_a_machine_that_becomes_faster_or_slower_ends_on_time_all_the_same(factor: float, when: int) -> None:
    machine = Machine(HOW, deadline())
    machine.go(0.5, 5.0, until=when)
    machine.go(0.5 * factor, 5.0)
    look = 1000 / LOOKS * 0.5 * factor  # what passes between two looks
    assert machine.seconds <= 540 * (1 + CLOSE) + look + 5
    assert machine.seconds >= 540 * (1 - CLOSE) - look - 5 - 0.5 * factor
    assert rate_at(machine.pace.schedule_position(machine.step), HOW) == pytest.approx(0.0)


def test_validations_that_take_longer_are_paid_for_with_steps() -> None:
    """Also the scores at the end then take longer: two validations' worth."""
    machine = Machine(HOW, deadline())
    machine.go(0.5, 20.0)
    assert machine.step < 1000
    assert machine.seconds + 2 * 20 <= 550 * (1 + CLOSE) + 25


def test_a_machine_that_stands_still_ends_when_time_is_up() -> None:
    machine = Machine(HOW, deadline())
    machine.go(0.5, 5.0, until=501)
    machine.go(1000.0, 5.0)
    assert machine.step == 502


def test_enough_is_enough() -> None:
    machine = Machine(HOW, deadline(most=1200))
    machine.go(0.1, 5.0)
    assert machine.step == 1200


def test_what_was_measured_is_kept() -> None:
    one, other = deadline(), deadline()
    one.look(10, 8.0)
    one.saw_validation(9.0)
    other.measured = one.measured
    assert (other.step_seconds, other.validation) == (0.8, 7.0)
    assert other.limit == 540 + 10 - 14
    assert math.isclose(one.limit, other.limit)


def test_where_the_time_is_up_at_once_a_few_steps_are_made_all_the_same() -> None:
    how = Training(steps=40, validate_every=10)
    pace = Pace(40, 40)
    deadline = Deadline(seconds=-5.0, most=1000, validation=1.0, scoring=9.0, reserved=9.0)
    assert deadline.end(1, 0.1, pace, how) == LEAST
    assert deadline.end(LEAST + 1, 5.0, pace, how) == LEAST + 1
