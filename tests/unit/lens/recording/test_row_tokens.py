"""Which token the row of a decoder writes: told by the model's own mask, whatever id fills up."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel

import regard

NEXT = "(next)"


def small(kind: Any, config: Any) -> Any:
    torch.manual_seed(0)
    return kind(config).eval()


def gpt2() -> Any:
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    return small(GPT2LMHeadModel, GPT2Config(vocab_size=12, bos_token_id=1, eos_token_id=2, **sizes))


def rows_of(seen: regard.Recording, site: str, batch: int) -> list[Any]:
    return seen.labels(site, batch=batch, row="output")[0]


def test_padding_behind_is_not_what_the_last_word_writes() -> None:
    ids, mask = torch.tensor([[5, 6, 0, 0], [7, 8, 9, 10]]), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])
    model = gpt2()
    with regard.watch(model) as seen, torch.no_grad():
        model(input_ids=ids, attention_mask=mask)
    site = seen.sites[0]
    assert rows_of(seen, site, 0)[:2] == [6, NEXT]
    assert rows_of(seen, site, 1) == [8, 9, 10, NEXT]


def test_padding_in_front_changes_nothing() -> None:
    ids, mask = torch.tensor([[0, 0, 5, 6], [7, 8, 9, 10]]), torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    model = gpt2()
    with regard.watch(model) as seen, torch.no_grad():
        model(input_ids=ids, attention_mask=mask)
    assert rows_of(seen, seen.sites[0], 0)[-2:] == [6, NEXT]


def test_a_decoder_that_reads_its_source_again_is_shown_as_it_reads_it() -> None:
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
             "decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}  # fmt: skip
    config = BartConfig(vocab_size=12, max_position_embeddings=16, decoder_start_token_id=2, pad_token_id=1, **sizes)
    model = small(BartForConditionalGeneration, config)
    with regard.watch(model) as seen, torch.no_grad():
        model(input_ids=torch.tensor([[0, 6, 7, 2]]))
    site = next(site for site in seen.sites if "decoder" in site and "self" in site)
    rows, columns = seen.labels(site, row="output")
    assert columns == [2, 0, 6, 7]
    assert rows == [0, 6, 7, NEXT]
