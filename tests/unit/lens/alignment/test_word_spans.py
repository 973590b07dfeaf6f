"""Which tokens belong to which word, by tokenizers of every kind."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from regard.errors import InputError
from regard.interop.tokenizers import MarianTokenizer
from regard.lens.alignment.word_spans import WordTokens, decoded, joined, spans_of, words_of, written
from regard.lens.recording.tokens import Text
from regard.text import grammar
from regard.text.bpe import train_tokenizer
from regard.text.tokenizer import Tokenizer

TEXTS = [
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "The animal didn't cross the street,  because it was too tired.",
    "Où est l’été 😀 ? 漢字 here",
]
OURS = train_tokenizer(TEXTS[:2] * 3, 300)


def marian(tmp_path: Path) -> MarianTokenizer:
    """A folder whose vocabulary has every piece of the two texts, and no character of the third."""
    for name in ("source", "target"):
        file = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS[:2] * 20), model_writer=file, vocab_size=60, minloglevel=2,
            hard_vocab_limit=False,
        )  # fmt: skip
        (tmp_path / f"{name}.spm").write_bytes(file.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "source.spm"))
    pieces = [model.id_to_piece(number) for number in range(len(model))]
    names = ["</s>", "<unk>", *(piece for piece in pieces if piece not in ("<s>", "</s>", "<unk>")), "<pad>"]
    (tmp_path / "vocab.json").write_text(json.dumps({name: n for n, name in enumerate(names)}), encoding="utf-8")
    return MarianTokenizer(tmp_path, {})


def wordpieces() -> Tokenizer:
    """Lower-cased words in pieces, as BERT's."""
    engine = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    engine.normalizer, engine.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    engine.train_from_iterator(TEXTS[:2], trainers.WordPieceTrainer(vocab_size=90, special_tokens=["[UNK]", "[SEP]"]))
    return Tokenizer(engine)


def tokens_of(words: WordTokens) -> dict[str, int]:
    """How many tokens each word has."""
    return {word: words.owners.count(number) for number, word in enumerate(words.words)}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("split", [None, grammar.words])
def test_every_token_of_a_text_has_its_word(text: str, split: Any) -> None:
    """The characters of a word are those of its tokens, whether the text is known or only the ids are."""
    ids, spans = OURS.encode([text])[0], OURS.spans(text)
    known, found = words_of(spans, text, split), words_of(*reversed(decoded(OURS, ids)), split)
    assert known == found
    assert known.owners[-1] == -1  # the end
    assert set(known.owners) == set(range(len(known.words))) | {-1}
    for number, word in enumerate(known.words):
        mine = [one for one, owner in zip(ids, known.owners, strict=True) if owner == number]
        assert OURS.decode(mine).strip() == word


@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=6), max_size=6))
def test_any_words_of_ours(words: list[str]) -> None:
    """Bytes of characters never seen are tokens of their own; all belong to the word."""
    words = " ".join(words).split()
    text = " ".join(words)
    found = words_of(*reversed(decoded(OURS, OURS.encode([text])[0])))
    assert found.words == tuple(words)
    assert words_of(OURS.spans(text), text) == found
    assert set(found.owners) - {-1} == set(range(len(words)))


@pytest.mark.parametrize("text", TEXTS)
def test_sentencepiece(tmp_path: Path, text: str) -> None:
    tokenizer = marian(tmp_path)
    ids, found = tokenizer.encode([text])[0], words_of(tokenizer.spans(text), text)
    assert len(found.owners) == len(ids)
    assert found.words == tuple(text.split())
    assert list(found.owners[:-1]) == sorted(found.owners[:-1])
    assert set(found.owners) == set(range(len(found.words))) | {-1}
    if "<unk>" not in {tokenizer.token_of(number) for number in ids}:
        assert words_of(*reversed(decoded(tokenizer.source, ids))).words == found.words


def test_sentencepiece_says_what_is_unknown(tmp_path: Path) -> None:
    """From ids alone nobody knows what the word was; it stands there all the same."""
    tokenizer = marian(tmp_path)
    ids = tokenizer.encode(["the 漢字 animal"])[0]
    assert words_of(*reversed(decoded(tokenizer, ids))).words == ("the", "<unk>", "animal")
    assert words_of(tokenizer.spans("the 漢字 animal"), "the 漢字 animal").words == ("the", "漢字", "animal")


def test_both_sides_of_a_marian_folder(tmp_path: Path) -> None:
    tokenizer = marian(tmp_path)
    assert tokenizer.target.encode(TEXTS[:1]) == tokenizer.encode(TEXTS[:1])  # the same pieces on both sides
    assert tokenizer.source.decode(tokenizer.encode(TEXTS[:1])[0]) == TEXTS[0]
    assert tokenizer.spans(">>fr<< the rue </s>")[0] == (0, 6)


def test_word_pieces_lower_case_and_drop_accents() -> None:
    """The text as it was written keeps its words; what they became is only inside the tokenizer."""
    tokenizer = wordpieces()
    found = words_of(tokenizer.spans(TEXTS[0]), TEXTS[0], grammar.words)
    assert found.words == grammar.words(TEXTS[0])
    assert set(found.owners) == set(range(len(found.words)))
    alone = words_of(*reversed(decoded(tokenizer, tokenizer.encode([TEXTS[0]])[0])), grammar.words)
    assert "traverse" in alone.words


def test_hugging_face_tokenizers() -> None:
    """Ids alone, with special tokens around them, as a recording has them."""
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=OURS.engine, eos_token="</s>", pad_token="<pad>", bos_token="<s>"
    )
    ids = [theirs.bos_token_id, *theirs(TEXTS[2])["input_ids"], theirs.pad_token_id]
    found = words_of(*reversed(written(Text([ids], theirs.pad_token_id, theirs), 0)))
    assert found.words == tuple(TEXTS[2].split())
    assert (found.owners[0], found.owners[-1]) == (-1, -1)


def test_strings_alone() -> None:
    """What a file keeps: strings that bring their spaces, or none that does; special ones are known by their names."""
    assert words_of(*reversed(joined(["<s>", "the", " an", "imal", "</s>"]))) == WordTokens(
        ("the", "animal"), (-1, 0, 1, 1, -1)
    )
    assert words_of(*reversed(joined(["17", "4", "</s>"]))) == WordTokens(("17", "4"), (0, 1, -1))
    assert written(Text([[5, 6, 0]], pad=0), 0) == ("5 6 0", [(0, 1), (2, 3), None])


def test_a_token_of_two_words_goes_to_the_greater_part() -> None:
    spans = [(0, 2), (2, 9), (9, 12)]  # "ab", " cd efg", "hij"
    assert words_of(spans, "ab cd efghij").owners == (0, 2, 2)
    assert words_of([(0, 5)], "ab cd").owners == (0,)  # of equals the first


def test_words_already_split() -> None:
    text = "l'homme est là"
    assert words_of([(0, 2), (2, 7), (7, 11), (11, 14)], text, ["l'", "homme", "est", "là"]).owners == (0, 1, 2, 3)
    assert spans_of("The Cat", ["the", "cat"]) == [(0, 3), (4, 7)]
    with pytest.raises(InputError, match="not the words of the text"):
        spans_of(text, ["l'", "femme"])
    assert words_of([(0, 2)], text, []).owners == (-1,)
