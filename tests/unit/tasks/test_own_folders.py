"""Folders of ours with a plain tokenizer.json: what marks start and end is no part of a text, unknown ids are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, models, pre_tokenizers, processors
from tokenizers import Tokenizer as Engine

import regard
from regard.errors import FileError, InputError
from regard.models import DecoderConfig, EncoderConfig, TransformerConfig, build, save_model

WORDS = ["<pad>", "<s>", "</s>", "[MASK]", "hello", "world"]


def engine() -> Engine:
    made = Engine(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return made


@pytest.mark.parametrize("seed", range(6))
def test_a_translation_has_no_marks_in_it(seed: int, tmp_path: Path) -> None:
    torch.manual_seed(seed)
    config = TransformerConfig(
        dim=16, heads=2, feedforward=16, encoder_layers=1, decoder_layers=1, source_vocabulary=6, target_vocabulary=6
    )
    save_model(build(config), tmp_path)
    engine().save(str(tmp_path / "tokenizer.json"))
    for text in regard.load(tmp_path, "cpu").translate(["hello world", "hello"], beams=3, max_length=6):
        assert not {"<pad>", "<s>", "</s>"} & set(text.split())


def test_a_mask_is_one_token(tmp_path: Path) -> None:
    config = EncoderConfig(dim=16, heads=2, feedforward=16, layers=1, vocabulary=6, head="mask", max_length=16)
    save_model(build(config), tmp_path)
    engine().save(str(tmp_path / "tokenizer.json"))
    ((words,),) = regard.load(tmp_path, "cpu").fill(["hello [MASK]"], top=3)
    assert len(words) == 3


def test_a_token_the_model_never_saw_is_named(tmp_path: Path) -> None:
    made = engine()
    made.add_tokens([AddedToken("[NEW]")])
    save_model(build(DecoderConfig(dim=16, heads=2, feedforward=16, layers=1, vocabulary=6, end=2)), tmp_path)
    made.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match=r"id 6 in 'hello .NEW.'; the model knows 0 to 5"):
        regard.load(tmp_path, "cpu").generate("hello [NEW]", 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length_penalty": "x"}, "length_penalty in generation_config.json must be a number"),
        ({"num_beams": "4"}, "num_beams in generation_config.json must be a number"),
        ({"bad_words_ids": [[500]]}, "ids that the model does not have"),
        ({"max_length": 1}, "max_length leaves no room"),
    ],
)
def test_a_generation_config_that_cannot_be(settings: dict[str, object], message: str, tmp_path: Path) -> None:
    from benchmarks import peers

    folder = peers.save(peers.marian(), tmp_path, "seq2seq")
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        regard.load(folder, "cpu").translate(["w1 w2"])


def own(place: Path, tokens: int, config: str, **sizes: int) -> Path:
    """A folder whose tokenizer has so many tokens."""
    kinds = {"transformer": TransformerConfig, "decoder": DecoderConfig, "encoder": EncoderConfig}
    small: dict[str, Any] = {"dim": 16, "heads": 2, "feedforward": 16, "max_length": 16}
    save_model(build(kinds[config](**small, **sizes)), place)
    words = [*WORDS, *(f"w{number}" for number in range(tokens - len(WORDS)))][:tokens]
    made = Engine(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(place / "tokenizer.json"))
    return place


BOTH = {"source_vocabulary": 8, "target_vocabulary": 8, "encoder_layers": 1, "decoder_layers": 1}


@pytest.mark.parametrize(
    ("config", "sizes"),
    [("transformer", BOTH), ("decoder", {"vocabulary": 8, "layers": 1}), ("encoder", {"vocabulary": 8, "layers": 1})],
)
def test_a_tokenizer_with_another_number_of_tokens_is_refused(
    config: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    regard.load(own(tmp_path / "right", 8, config, **sizes), "cpu")
    for tokens in (7, 9):
        with pytest.raises(FileError, match=f"not this model's\n  found: {tokens} tokens, where the model knows 8"):
            regard.load(own(tmp_path / f"{tokens}", tokens, config, **sizes), "cpu")


def test_each_side_has_its_own_number(tmp_path: Path) -> None:
    folder = own(tmp_path, 8, "transformer", **{**BOTH, "target_vocabulary": 6}, shared=False)
    with pytest.raises(FileError, match="8 tokens, where the model knows 6"):
        regard.load(folder, "cpu")
    engine().save(str(folder / "tokenizer.target.json"))  # of six tokens
    regard.load(folder, "cpu")


def test_what_was_fine_tuned_from_a_padded_vocabulary_is_known_by_its_recipe(tmp_path: Path) -> None:
    folder = own(tmp_path, 7, "decoder", vocabulary=8, layers=1)
    for size, right in ((7, True), (6, False)):
        text = f'start = "gpt2"\n[data]\ntrain = ["a"]\n[tokenizer]\nvocabulary = {size}\n'
        (folder / "recipe.toml").write_text(text, encoding="utf-8")
        if right:
            regard.load(folder, "cpu")
        else:
            with pytest.raises(FileError, match="not this model's"):
                regard.load(folder, "cpu")


def test_their_vocabularies_may_be_filled_up_but_not_too_small(tmp_path: Path) -> None:
    from benchmarks import peers

    folder = peers.save(peers.gpt2(vocab_size=peers.VOCABULARY + 8), tmp_path / "padded", "gpt2")
    regard.load(folder, "cpu")
    folder = peers.save(peers.gpt2(vocab_size=peers.VOCABULARY - 8), tmp_path / "small", "gpt2")
    with pytest.raises(FileError, match="not this model's"):
        regard.load(folder, "cpu")
