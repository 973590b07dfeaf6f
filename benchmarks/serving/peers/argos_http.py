"""argostranslate behind a threaded server: `python argos_http.py FOLDER en fr`, by an interpreter that has it.

    python3 -m venv PEER; PEER/bin/pip install --no-deps argostranslate
    PEER/bin/pip install ctranslate2 sentencepiece "sacremoses<0.2" minisbd packaging spacy tokenizers flask waitress

FOLDER is what `regard export --to ctranslate2` wrote: it becomes a package of argostranslate's with the tokenizer that
belongs to the weights. Its sentences are parted by its own spaCy class with spaCy's rules, since its other ways fetch
models from the network; so stanza, which it imports and which needs torch, may be missing. Flask and waitress serve it,
as LibreTranslate does.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

THREADS = 4  # as LibreTranslate has by default


class ModelTokenizer:
    """What argostranslate asks of a tokenizer, by the one of the model."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self.source = Tokenizer.from_file(str(folder / "tokenizer.json"))
        target = folder / "tokenizer.target.json"
        self.target = Tokenizer.from_file(str(target)) if target.is_file() else self.source

    def encode(self, sentence: str) -> list[str]:
        tokens: list[str] = self.source.encode(sentence).tokens
        return tokens

    def decode(self, tokens: list[str]) -> str:
        ids: list[Any] = [self.target.token_to_id(token) for token in tokens]
        text: str = self.target.decode(ids)
        return text


def write_package(folder: Path, place: Path, languages: tuple[str, str]) -> None:
    """A package of argostranslate's: metadata, the model, and spaCy without a trained pipeline."""
    import spacy

    place.mkdir(parents=True)
    names = dict(zip(("from_code", "to_code"), languages, strict=True))
    metadata = {"package_version": "1.0", "argos_version": "1.9", "type": "translate", **names}
    (place / "metadata.json").write_text(json.dumps(metadata))
    (place / "model").symlink_to(folder.resolve(), target_is_directory=True)
    spacy.blank(languages[0]).to_disk(place / "spacy")


def installed_translation(folder: Path, languages: tuple[str, str], home: Path) -> Any:
    """argostranslate's own translation of that package."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "ARGOS_PACKAGES_DIR"):
        os.environ[name] = str(home / name.lower())
    write_package(folder, home / "argos_packages_dir" / "model", languages)
    if importlib.util.find_spec("stanza") is None:
        sys.modules["stanza"] = ModuleType("stanza")  # imported, and never called
    from argostranslate import sbd, translate

    translation: Any = translate.get_translation_from_codes(*languages)
    translation.underlying.pkg.tokenizer = ModelTokenizer(folder)
    translation.underlying.sentencizer = sbd.SpacySentencizerSmall(translation.underlying.pkg)
    return translate


def serve(translate: Any, listener: socket.socket) -> None:
    from flask import Flask, jsonify, request
    from waitress import serve as serve_threads

    app = Flask(__name__)

    @app.post("/translate")
    def answer() -> Any:
        asked = request.get_json()
        return jsonify(translatedText=translate.translate(asked["q"], asked["source"], asked["target"]))

    serve_threads(app, sockets=[listener], threads=THREADS, connection_limit=4096, backlog=2048, _quiet=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("languages", nargs=2)
    given = parser.parse_args()
    source, target = given.languages
    with tempfile.TemporaryDirectory() as home:
        translate = installed_translation(given.folder, (source, target), Path(home))
        translate.translate("The cat sleeps.", source, target)
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(f"listening at http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        serve(translate, listener)


if __name__ == "__main__":
    main()
