"""How a claim is to be tried: quickly or in full, with which seeds, on which text, on which device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import torch

from regard.errors import InputError

OnProgress = Callable[[int, int], None]
T = TypeVar("T")
R = TypeVar("R")


# Of each folder of real text, the files that are read.
FILES = {
    "multi30k": tuple(f"{part}.{side}.xz" for part in ("train", "val", "test_2016_flickr") for side in ("en", "fr")),
    "sst2": ("train.tsv.xz", "train_heldout.tsv.xz"),
    "wikitext-2": ("train.txt.xz", "valid.txt.xz"),
    "tatoeba-en-fr": ("pairs.tsv.xz",),
}
MOST = 2**32 - 1  # as a seed: scikit-learn takes no larger one


def no_progress(done: int, total: int) -> None:
    """Nobody listens."""


def seeds_that_differ(seeds: Sequence[int]) -> tuple[int, ...]:
    """Seeds as somebody gave them, if runs can be made with them."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("seeds must differ", found=f"{list(seeds)}", do="give each once")
    for seed in seeds:
        if not 0 <= seed <= MOST:
            raise InputError("a seed is a number from 0 on", found=str(seed), do=f"at most {MOST}")
    return tuple(seeds)


@dataclass(frozen=True)
class Setting:
    """What an experiment is given; it asks `quick_or_full` for its sizes, and has its runs made by `each`."""

    seeds: tuple[int, ...] = (0,)
    full: bool = False
    data: Path | None = None
    device: str = "cpu"
    processes: int = 1
    on_progress: OnProgress = no_progress

    def quick_or_full(self, quick: T, full: T) -> T:
        """A size of the experiment."""
        return full if self.full else quick

    def each(self, run: Callable[[Setting, T], R], cases: Sequence[T]) -> list[R]:
        """What a function of a module gives for every case, in order.

        On a CPU every run has one thread, and several run at a time: the same numbers however many processes there are.
        """
        alone = replace(self, on_progress=no_progress, processes=1)
        results: list[R] = []
        if self.processes == 1 or self.device != "cpu" or len(cases) == 1:
            self.on_progress(0, len(cases))
            for case in cases:
                results.append(one_run(alone, run, case))
                self.on_progress(len(results), len(cases))
            return results
        with ProcessPoolExecutor(min(self.processes, len(cases)), get_context("spawn")) as pool:
            self.on_progress(0, len(cases))
            for result in pool.map(partial(one_run, alone, run), cases):
                results.append(result)
                self.on_progress(len(results), len(cases))
        return results

    def folder(self, name: str) -> Path:
        """A folder of real text, in the full form."""
        assert self.data is not None, "check_folders comes first"
        return self.data / name


def check_folders(data: Path | None, names: Sequence[str]) -> None:
    """That all the text that a full form reads is there: asked before anything is measured."""
    wanted = " and ".join(f"{name}/" for name in names)
    if not names:
        return
    if data is None:
        raise InputError("the full form reads real text", found="no --data", do=f"--data DIR, which holds {wanted}")
    for name in names:
        if not (data / name).is_dir():
            raise InputError(f"there is no {name} in {data}", do=f"give the folder that holds {wanted}")
        missing = [file for file in FILES[name] if not (data / name / file).is_file()]
        if missing:
            raise InputError(f"there is no {missing[0]} in {data / name}", do=f"it must hold {', '.join(FILES[name])}")


def one_run(setting: Setting, run: Callable[[Setting, T], R], case: T) -> R:
    """With one thread on a CPU; the caller's number of threads is put back."""
    threads = torch.get_num_threads()
    if setting.device == "cpu":
        torch.set_num_threads(1)
    try:
        return run(setting, case)
    finally:
        torch.set_num_threads(threads)
