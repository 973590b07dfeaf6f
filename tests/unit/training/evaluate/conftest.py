"""Small random models of every kind, as others save them."""

from __future__ import annotations

import pytest

from benchmarks import peers
from tests.evaluation_cases import Folders


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1, 1.6), root / "marian", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.marian(2, 1.6), root / "other", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.gpt2(1, 1.6, n_positions=16), root / "gpt2", "gpt2", max_length=16)
    peers.save(peers.bert(gain=1.6, max_position_embeddings=16), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM", gain=1.6, max_position_embeddings=16), root / "masks", "bert")
    return {path.name: path for path in root.iterdir()}
