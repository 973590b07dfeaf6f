"""Configurations: the paper's sizes, exact counts, and a sentence for everything that cannot be built."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import InputError, UnknownNameError
from regard.models import DecoderConfig, EncoderConfig, RecurrentConfig, Transformer, TransformerConfig
from regard.models.config import ACTIVATIONS, NORMS, POSITIONS, PRESETS
from tests.families import FAMILIES, decoder, encoder, families, recurrent, transformer

CONFIGS = [TransformerConfig, DecoderConfig, EncoderConfig, RecurrentConfig]


def counted(config: TransformerConfig) -> int:
    """The numbers a model really holds, without the memory for them."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Transformer(config).parameters())


# Sizes


@pytest.mark.parametrize(("preset", "millions"), [("base", 65), ("big", 213)])
def test_the_papers_models_have_the_papers_size(preset: str, millions: int) -> None:
    config = TransformerConfig.preset(preset, 37000)
    assert counted(config) == config.parameters()
    assert abs(config.parameters() / (millions * 1e6) - 1) < 0.03


@pytest.mark.parametrize(
    ("preset", "dim", "heads", "feedforward", "layers"),
    [("tiny", 128, 4, 256, 4), ("small", 256, 4, 1024, 4), ("base", 512, 8, 2048, 6), ("big", 1024, 16, 4096, 6)],
)
def test_presets(preset: str, dim: int, heads: int, feedforward: int, layers: int) -> None:
    config = TransformerConfig.preset(preset, 100)
    assert (config.dim, config.heads, config.feedforward) == (dim, heads, feedforward)
    assert config.encoder_layers == config.decoder_layers == layers
    assert config.source_vocabulary == config.target_vocabulary == 100
    assert counted(config) == config.parameters()


def test_the_defaults_are_the_papers_base() -> None:
    assert TransformerConfig() == TransformerConfig.preset("base", 37000)
    assert (TransformerConfig().norm, TransformerConfig().activation) == ("post", "relu")
    assert TransformerConfig().positions == "sinusoidal"
    assert TransformerConfig().shared
    assert TransformerConfig().tied
    assert TransformerConfig().scaled


def test_a_preset_can_be_changed_by_keyword() -> None:
    config = TransformerConfig.preset("tiny", 100, norm="pre", shared=False, source_vocabulary=50)
    assert (config.norm, config.source_vocabulary, config.target_vocabulary, config.dim) == ("pre", 50, 100, 128)


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "transformer"))
def test_the_formula_counts_every_family(name: str) -> None:
    assert counted(FAMILIES[name].config) == FAMILIES[name].config.parameters()


@settings(max_examples=60)
@given(st.data())
def test_the_formula_counts_any_configuration(data: st.DataObject) -> None:
    draw = data.draw
    heads = draw(st.integers(1, 4))
    shared = draw(st.booleans())
    source = draw(st.integers(5, 40))
    config = TransformerConfig(
        dim=2 * heads * draw(st.integers(1, 4)), heads=heads, feedforward=draw(st.integers(1, 40)),
        norm=draw(st.sampled_from(NORMS)), activation=draw(st.sampled_from(ACTIVATIONS)),
        positions=draw(st.sampled_from(POSITIONS)), max_length=draw(st.integers(1, 30)),
        source_vocabulary=source, target_vocabulary=source if shared else draw(st.integers(5, 40)),
        encoder_layers=draw(st.integers(1, 3)), decoder_layers=draw(st.integers(1, 3)), shared=shared,
        tied=draw(st.booleans()), scaled=draw(st.booleans()), output_bias=draw(st.booleans()),
    )  # fmt: skip
    assert counted(config) == config.parameters()


# As data


@pytest.mark.parametrize("config", CONFIGS)
def test_configurations_are_frozen(config: Any) -> None:
    made = config(labels=("a", "b")) if config is EncoderConfig else config()
    with pytest.raises(FrozenInstanceError):
        made.dim = 3


@pytest.mark.parametrize("name", families())
def test_a_configuration_survives_json(name: str) -> None:
    config = FAMILIES[name].config
    data = json.loads(json.dumps(config.to_dict()))
    assert data.pop("family") == config.family
    assert type(config).from_dict(data) == config


@pytest.mark.parametrize("config", CONFIGS)
def test_an_empty_dictionary_is_the_defaults(config: Any) -> None:
    assert config.from_dict({}) == config()


@pytest.mark.parametrize(
    ("config", "given", "meant"),
    [
        (TransformerConfig, "droput", "dropout"),
        (TransformerConfig, "encoder_layer", "encoder_layers"),
        (DecoderConfig, "vocab", "vocabulary"),
        (EncoderConfig, "label", "labels"),
        (RecurrentConfig, "hiden", "hidden"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_nearest(config: Any, given: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"there is no {config.family} setting '{given}'(.|\n)*mean '{meant}'"):
        config.from_dict({given: 1})


def test_an_unknown_preset_is_answered_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"no preset 'huge'(.|\n)*base, big, small, tiny"):
        TransformerConfig.preset("huge", 100)
    assert set(PRESETS) == {"tiny", "small", "base", "big"}


# Refusals

BLOCKS = [transformer, decoder, encoder]


@pytest.mark.parametrize("make", BLOCKS)
@pytest.mark.parametrize("name", ["dim", "heads", "feedforward", "max_length"])
@pytest.mark.parametrize("value", [0, -3, 2.0, "8", True, None])
def test_sizes_are_whole_and_positive(make: Any, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"{name} must be a whole number, at least 1\n  found: {name}="):
        make(**{name: value})


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((transformer, f"{what}") for what in ("source_vocabulary", "encoder_layers", "decoder_layers")),
        *((make, name) for make in (decoder, encoder) for name in ("vocabulary", "layers")),
        *((recurrent, name) for name in ("source_vocabulary", "target_vocabulary", "dim", "hidden", "layers")),
    ],
)
@pytest.mark.parametrize("value", [0, -1, 1.5, False])
def test_counts_are_whole_and_positive(make: Any, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be a whole number"):
        make(**{name: value})


@pytest.mark.parametrize("make", [*BLOCKS, recurrent])
@pytest.mark.parametrize("value", [-0.1, 1.0, 1.5, float("nan"), "0.1", True, None])
def test_dropout_is_a_share(make: Any, value: Any) -> None:
    with pytest.raises(InputError, match="dropout must be at least 0 and less than 1"):
        make(dropout=value)


@pytest.mark.parametrize("make", BLOCKS)
@pytest.mark.parametrize("name", ["attention_dropout", "feedforward_dropout"])
def test_the_other_dropouts_are_shares(make: Any, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be at least 0"):
        make(**{name: 1.0})


@pytest.mark.parametrize("make", BLOCKS)
@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [("norm", "prenorm", "pre"), ("activation", "gelu_old", "gelu"), ("positions", "sinusoid", "sinusoidal")],
)
def test_kinds_are_known(make: Any, name: str, value: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"there is no {name} '{value}'(.|\n)*{meant}"):
        make(**{name: value})


@pytest.mark.parametrize("make", BLOCKS)
def test_heads_share_the_dims_equally(make: Any) -> None:
    with pytest.raises(InputError, match="3 heads cannot share 16 dims equally"):
        make(heads=3)


@pytest.mark.parametrize("make", BLOCKS)
def test_sinusoids_come_in_pairs(make: Any) -> None:
    with pytest.raises(InputError, match="sinusoidal positions need an even dim"):
        make(dim=15, heads=3, positions="sinusoidal")
    assert make(dim=15, heads=3, positions="learned").dim == 15


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((make, name) for make in (transformer, recurrent) for name in ("pad", "start", "end")),
        (decoder, "pad"), (decoder, "end"), (encoder, "pad"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [-1, 19, 400, 1.0, True, "0"])
def test_special_ids_are_in_the_vocabulary(make: Any, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"{name} must be an id of the vocabulary(.|\n)*0 to 18"):
        make(**{name: value})


@pytest.mark.parametrize("make", [transformer, recurrent])
@pytest.mark.parametrize("name", ["start", "end"])
def test_a_translator_cannot_do_without_start_and_end(make: Any, name: str) -> None:
    with pytest.raises(InputError, match=name):
        make(**{name: None})


def test_a_shared_embedding_needs_one_vocabulary() -> None:
    with pytest.raises(InputError, match=r"one vocabulary\n  found: source 19, target 30\n  do: set shared = false"):
        transformer(target_vocabulary=30)


@pytest.mark.parametrize("head", ["classes", "token", ""])
def test_heads_of_the_encoder_are_known(head: str) -> None:
    with pytest.raises(UnknownNameError, match="class, mask, none"):
        encoder(head=head)


def test_a_classifier_needs_labels() -> None:
    with pytest.raises(InputError, match="a classifier needs labels"):
        encoder(head="class")


def test_the_activation_of_the_pooler_is_known() -> None:
    with pytest.raises(UnknownNameError, match="there is no pooling_activation 'softsign'"):
        encoder(head="class", labels=("a", "b"), pooling_activation="softsign")


@pytest.mark.parametrize("labels", ["good", ("good", 3)])
def test_labels_are_names(labels: Any) -> None:
    with pytest.raises(InputError, match="labels"):
        encoder(head="class", labels=labels)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((transformer, name) for name in ("shared", "tied", "scaled", "output_bias")),
        *((decoder, name) for name in ("tied", "scaled", "output_bias")),
        (encoder, "pooled"), (recurrent, "attention"),
    ],
)  # fmt: skip
def test_switches_are_true_or_false(make: Any, name: str) -> None:
    """A word that means no would otherwise be taken for yes."""
    with pytest.raises(InputError, match=name):
        make(**{name: "no"})


@pytest.mark.parametrize("value", [-1, 1.5, "2"])
def test_segments_are_counted(value: Any) -> None:
    with pytest.raises(InputError, match="segments"):
        encoder(segments=value)


@pytest.mark.parametrize("make", BLOCKS)
@pytest.mark.parametrize("value", [-1e-5, float("nan"), "1e-5", None])
def test_epsilon_is_a_small_positive_number(make: Any, value: Any) -> None:
    with pytest.raises(InputError, match="epsilon"):
        make(epsilon=value)


def test_additive_attention_has_one_layer() -> None:
    with pytest.raises(InputError, match=r"one layer\n  found: layers=2"):
        recurrent(layers=2)
    assert recurrent(layers=2, attention=False).layers == 2
