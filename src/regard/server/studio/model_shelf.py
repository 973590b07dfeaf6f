"""The models in memory, few at a time, in the thread that owns them."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import torch

from regard.lens.alignment.stored_choice import read_choice
from regard.lens.analysis.readers import TaskReader
from regard.lens.analysis.subject import Subject, open_subject
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording_api import Recording
from regard.models import build
from regard.models.checkpoint import fill, own_tensors
from regard.server.refusals import Refusal
from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.run_shelf import START, WEIGHTS, checkpoint_path, seed_of, stamp
from regard.server.studio.schema import AlignmentHeads
from regard.server.studio.stored_look import ModelKey
from regard.training.loop.checkpoint_files import read_state
from regard.training.loop.training_state import below

MOST = 4  # models at once
SMALL = 30_000_000  # parameters, up to which threads wait for each other for longer than they work


class ModelShelf:
    """Opens what it is asked for; what was not used for longest goes first."""

    def __init__(self, catalogue: StudioCatalogue, device: str = "cpu") -> None:
        self.catalogue, self.device = catalogue, device
        self.subjects: OrderedDict[tuple[ModelKey, str], Subject] = OrderedDict()
        self.recordings: OrderedDict[str, list[ForwardCall]] = OrderedDict()

    def subject(self, key: ModelKey) -> Subject:
        """The model of that name, or a run's at a checkpoint; opened again when its files have changed."""
        place, folder, state = self.place(key)
        if place not in self.subjects:
            subject = open_subject(str(folder), self.device)
            if state is not None:
                subject = at_checkpoint(subject, state)
            elif key[1] == START:
                subject = at_start(subject, folder)
            self.subjects[place] = subject
        self.subjects.move_to_end(place)
        while len(self.subjects) > MOST:
            self.subjects.popitem(last=False)
        subject = self.subjects[place]
        if sum(weight.numel() for weight in subject.reader.model.parameters()) < SMALL:
            torch.set_num_threads(1)  # until the next question
        return subject

    def place(self, key: ModelKey) -> tuple[tuple[ModelKey, str], Path, Path | None]:
        """What tells these weights from others, their folder, and the checkpoint's."""
        name, checkpoint = key
        folder = self.catalogue.model(name).folder if checkpoint is None else self.catalogue.run(name)
        state = None if checkpoint is None else checkpoint_path(folder, checkpoint)
        return (key, stamp(folder if state is None else state, *WEIGHTS)), folder, state

    def alignment(self, key: ModelKey, subject: Subject) -> AlignmentHeads | None:
        """Where the links of words are read, if that was chosen for these very weights."""
        _, folder, state = self.place(key)
        if state is not None or not isinstance(subject.reader, TaskReader):
            return None
        choice = read_choice(folder, subject.reader.model)
        if choice is None:
            return None
        reading = choice.reading
        return AlignmentHeads(site=reading.site, heads=list(reading.heads), row=reading.row, how=choice.how)

    def calls(self, name: str) -> list[ForwardCall]:
        """The calls of a recording."""
        path = self.catalogue.recording(name)
        if name not in self.recordings:
            self.recordings[name] = Recording.load(path).calls
        self.recordings.move_to_end(name)
        while len(self.recordings) > MOST:
            self.recordings.popitem(last=False)
        return self.recordings[name]


def at_checkpoint(subject: Subject, path: Path) -> Subject:
    """A run's model with the weights that it was scored with at that step."""
    if not isinstance(subject.reader, TaskReader):
        raise Refusal(400, "Checkpoints are those of models of ours")
    _, tensors = read_state(path)
    weights = below(tensors, "average/") or below(tensors, "model/")
    fill(subject.reader.model, weights, path)
    return subject


def at_start(subject: Subject, folder: Path) -> Subject:
    """A run's model with the weights that it began with: the same seed draws them again, on a CPU as it did."""
    seed = seed_of(folder)
    if seed is None or not isinstance(subject.reader, TaskReader):
        raise Refusal(400, "What this run began with is not known")
    model = subject.reader.model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = build(model.config)
    fill(model, own_tensors(fresh), folder)
    return subject
