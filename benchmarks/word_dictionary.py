"""A dictionary learned from pairs, and translation word for word by it: what any translator must be better than.

IBM model 1 (Brown et al. 1993): which word stands for which follows from how often they occur in the same pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)*")
NOBODY = ""  # the source word of target words that stand for none
SELDOM = 2  # pairs in which a word occurs before it is believed


def learn_dictionary(pairs: Iterable[tuple[str, str]], iterations: int = 5) -> dict[str, str]:
    """Each source word, in small letters, with the target word that most likely stands for it."""
    sentences = [(words(source), words(target)) for source, target in pairs]
    ours = numbered([NOBODY, *(word for source, _ in sentences for word in source)])
    theirs = numbered(word for _, target in sentences for word in target)
    if not theirs:
        return {}
    chances = train(*cells(sentences, ours, theirs), len(theirs), iterations)
    names, counts = list(theirs), Counter(word for source, _ in sentences for word in set(source))
    best: dict[int, tuple[float, int]] = {}
    for code, chance in zip(*chances, strict=True):
        word, other = divmod(int(code), len(theirs))
        best[word] = max(best.get(word, (0.0, 0)), (float(chance), other))
    return {word: names[best[number][1]] for word, number in ours.items() if number in best and counts[word] >= SELDOM}


def cells(
    sentences: list[tuple[list[str], list[str]]], ours: dict[str, int], theirs: dict[str, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every source word beside every target word of its pair: both in one number, and which target word it was."""
    codes: list[NDArray[Any]] = []
    targets: list[NDArray[Any]] = []
    count = 0
    for source, target in sentences:
        sides = np.array([0, *(ours[word] for word in source)]), np.array([theirs[word] for word in target], dtype=int)
        codes.append((sides[0][None, :] * len(theirs) + sides[1][:, None]).ravel())
        targets.append(np.repeat(np.arange(count, count + len(target)), len(sides[0])))
        count += len(target)
    return np.concatenate(codes), np.concatenate(targets)


def train(codes: NDArray[Any], targets: NDArray[Any], size: int, iterations: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Expectation and maximisation: the pairs of words there are, and the chance of the second, given the first."""
    pairs, cell_pairs = np.unique(codes, return_inverse=True)
    _, rows = np.unique(pairs // size, return_inverse=True)
    chances = np.ones(len(pairs))
    for _ in range(iterations):
        shares = chances[cell_pairs]
        shares /= np.bincount(targets, shares)[targets]
        counts = np.bincount(cell_pairs, shares)
        chances = counts / np.bincount(rows, counts)[rows]
    return pairs, chances


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Names by the order in which they come."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def translate(text: str, dictionary: dict[str, str]) -> str:
    """One word after the other, with capitals as they were; what the dictionary lacks stays as it is."""
    return WORD.sub(lambda match: like(match.group(), dictionary.get(match.group().lower(), match.group())), text)


def like(word: str, translation: str) -> str:
    """A translation with the capital that the word has."""
    return translation[:1].upper() + translation[1:] if word[:1].isupper() else translation


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]
