"""How many texts a second does `regard serve` translate, beside its peers? `python -m benchmarks.serving`

Each server runs in a process of its own on 127.0.0.1 and is asked for a text at a time over HTTP, by 1, 2, 4, ...
clients that each ask again as soon as they are answered, until more of them bring nothing. The clients are one light
process. All get the same texts and the same weights: ours, CTranslate2 behind a small server, and argostranslate (what
LibreTranslate runs) where `--argos-python` names an interpreter that has it (see peers/argos_http.py).

`--soak MINUTES` finds the capacity of one server of ours in the same way, then sends it twice as many requests a second
whether answers come or not, and asks that none is wrong, lost or swapped, and that its memory stays where it was.
`--write` puts the tables into RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import provenance, write_section
from benchmarks.serving.comparison import Levels, exported, levels_of, offline_rate, tables
from benchmarks.serving.figures import capacity_of
from benchmarks.serving.sentences import answers_of, english_texts
from benchmarks.serving.servers import ServerCommand, argos_servers, ctranslate2_servers, our_servers
from benchmarks.serving.soak import soak
from regard.interop.folders import shipped

TITLE = "How many texts does the server translate?"
SOAK_TITLE = "Does the server hold minutes at twice its capacity?"
LANGUAGES = ("en", "fr")
QUEUE = 4096  # tokens that may wait in a soak: some seconds of work, so that there is something to refuse


def main() -> None:
    given = arguments()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    texts = english_texts(given.texts, given.data)
    origin = "Tatoeba and newstest2012" if given.data else "the built-in language"
    about = f"{len(texts)} texts of {origin}"
    about += f" ({sum(map(len, texts)) / len(texts):.0f} characters on average), four beams, model `{given.model}`."
    run = run_soak if given.soak else run_comparison
    title, lines, well = run(given, texts)
    lines = [provenance("cpu"), "", about, "", *lines]
    print("\n".join(lines))
    if given.write:
        write_section(title, lines)
    if not well:
        raise SystemExit(1)


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-fr" if "en-fr" in shipped() else "grammar")
    parser.add_argument("--data", type=Path, help="where tatoeba-en-fr and wmt-news lie; else the built-in language")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=3, help="for each number of clients")
    parser.add_argument("--argos-python", metavar="FILE", help="an interpreter that has argostranslate")
    parser.add_argument("--only", nargs="+", metavar="WORDS", help="servers with any of these in their name")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    parser.add_argument("--serve", nargs="*", default=[], metavar="OPTION", help="for ours, without --: wait=8")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def serve_options(given: Any) -> list[str]:
    return [part for one in given.serve for part in f"--{one}".split("=")]


def run_comparison(given: Any, texts: list[str]) -> tuple[str, list[str], bool]:
    """Two tables, and whether every answer of ours was right."""
    ours = chosen(our_servers(given.model, serve_options(given)), given.only)
    levels: Levels = {}
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        place = exported(sys.executable, given.model, Path(folder))
        peers = ctranslate2_servers(place)
        for command in (peers[1].command, peers[2].command):
            rate = offline_rate(command, texts, given.seconds)
            kind = "int8" if "int8" in command else "float32"
            notes.append(f"CTranslate2 without a server, all texts in one call, {kind}: {rate:,.0f} texts a second.")
        if given.argos_python:
            peers += argos_servers(place, given.argos_python, LANGUAGES)
        else:
            notes.append("argostranslate was not run: no --argos-python was given.")
        plain: dict[str, str] = {}
        for server in ours:
            truth = answers_of(server, given.model, texts)
            plain = plain or truth
            notes.append(f"{server.name}: {len(texts) - len(truth)} texts hang on rounding, and were left out.")
            levels[server.name] = levels_of(server, truth, given.seconds, LANGUAGES)
        for server in chosen(peers, given.only):
            levels[server.name] = levels_of(server, plain or dict.fromkeys(texts, ""), given.seconds, LANGUAGES)
    right = all(level.right == 1 and not level.faults for server in ours for level in levels[server.name])
    return TITLE, [*tables(levels), "", *notes], right


def chosen(servers: Sequence[ServerCommand], words: Sequence[str] | None) -> list[ServerCommand]:
    return [server for server in servers if not words or any(word in server.name for word in words)]


def run_soak(given: Any, texts: list[str]) -> tuple[str, list[str], bool]:
    """Of the first server of ours that is chosen."""
    server = chosen(our_servers(given.model, [*serve_options(given), "--queue-tokens", str(QUEUE)]), given.only)[0]
    truth = answers_of(server, given.model, texts)
    levels = levels_of(server, truth, given.seconds, LANGUAGES)
    result = soak(server, truth, capacity_of(levels), given.soak, LANGUAGES)
    return SOAK_TITLE, [f"`{server.name}`.", *result.lines()], result.well


if __name__ == "__main__":
    main()
