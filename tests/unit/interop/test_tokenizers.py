"""Tokenizers of Hugging Face folders give the ids and the texts that transformers gives."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
import sentencepiece
import transformers
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, trainers

from benchmarks import peers
from regard.errors import FileError
from regard.interop.tokenizers import load_tokenizer, mask_token

SYLLABLES = ["ba", "lo", "ki", "ré", "tu", "sha", "nœ", "mi", "ß", "zo"]
TEXTS = [
    "balo kiré tusha.", "", "  two   spaces ", "unknown ☃ 漢字 pieces", "“Quotes” — and dashes…", ">>fr<< balo kiré",
    "balo >>fr<< kiré", ">>xx<< nœmi", "balo</s> kiré", "<pad>balo <unk> kiré", "ｆｕｌｌ width ﬁ", "tab\tand\nline",
    "▁under score", ">>open balo", "<< shut",
]  # fmt: skip


def made_up(seed: int) -> list[str]:
    draw = random.Random(seed)
    return [
        " ".join("".join(draw.choices(SYLLABLES, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 8))) + "."
        for _ in range(400)
    ]


@pytest.fixture(scope="module")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sentencepiece models trained here, and one vocabulary numbered in another order."""
    folder = tmp_path_factory.mktemp("marian")
    pieces: set[str] = set()
    for seed, name in enumerate(("source", "target")):
        with (folder / f"{name}.spm").open("wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(made_up(seed)), model_writer=file, vocab_size=60, minloglevel=2
            )
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        pieces |= {model.id_to_piece(number) for number in range(0, len(model), 1 + seed)}
    known = sorted(pieces - {"<s>", "</s>", "<unk>"})
    names = ["</s>", "<unk>", ">>fr<<", *known, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: n for n, name in enumerate(names)}), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer"}', encoding="utf-8")
    return folder


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_marian_pieces(marian_folder: Path) -> None:
    theirs = transformers.MarianTokenizer.from_pretrained(marian_folder)
    ours = load_tokenizer(marian_folder)
    assert (ours.kind, ours.size, ours.id_of("</s>")) == ("sentencepiece", theirs.vocab_size, theirs.eos_token_id)
    for text in [*TEXTS, *made_up(7)[:100]]:
        assert ours.encode([text])[0] == theirs(text).input_ids, text
    draw = random.Random(3)
    for _ in range(100):
        ids = [draw.randrange(theirs.vocab_size) for _ in range(draw.randint(0, 12))]
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_marian_with_two_vocabularies(marian_folder: Path, tmp_path: Path) -> None:
    for path in marian_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    other = dict(reversed(json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8")).items()))
    numbered = {token: number for number, token in enumerate(other)}
    (tmp_path / "target_vocab.json").write_text(json.dumps(numbered), encoding="utf-8")
    settings = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    theirs, ours = transformers.MarianTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    ids = list(range(5, 30))
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    assert ours.encode(["balo kiré"])[0] == theirs("balo kiré").input_ids


def test_sentencepiece_is_asked_for_when_needed(marian_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(FileError, match=r"pip install regard\[hf\]"):
        load_tokenizer(marian_folder)


def test_marian_files_that_are_not_whole(marian_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "source.spm").write_bytes(b"no")
    with pytest.raises(FileError, match=r"vocab.json is missing"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocab.json").write_bytes((marian_folder / "vocab.json").read_bytes())
    with pytest.raises(FileError, match=r"cannot read .*source.spm"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("kind", ["seq2seq", "gpt2", "bert"])
def test_tokenizer_json(kind: str, tmp_path: Path) -> None:
    theirs = peers.tokenizer(kind)
    theirs.save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    texts = ["w1 w2", "", "w3 nobody </s> w4", "[MASK] w5"]
    assert ours.encode(texts) == theirs(texts).input_ids
    ids = [0, 7, 1, 2, 9, 3, 8, 4]
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    assert mask_token(tmp_path) == "[MASK]"


def test_bytes_as_gpt2_has_them(tmp_path: Path) -> None:
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    engine.train_from_iterator(made_up(1), trainer)
    theirs = transformers.GPT2TokenizerFast(tokenizer_object=engine)
    theirs.save_pretrained(tmp_path)
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    for text in TEXTS:
        ids = ours.encode([text])[0]
        assert ids == theirs(text).input_ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no tokenizer that can be read"):
        load_tokenizer(tmp_path)
