"""Recordings of models of ours and of Hugging Face's, aligned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from regard.errors import InputError, UnknownNameError
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from tests.unit.lens.alignment.small_translators import SOURCES, TARGETS, TOKENIZER, recorded, transformer

BART = transformers.BartConfig(
    vocab_size=TOKENIZER.size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    decoder_start_token_id=2, forced_eos_token_id=None, max_position_embeddings=64,
)  # fmt: skip


T5 = transformers.T5Config(
    vocab_size=TOKENIZER.size, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=0, eos_token_id=2,
    decoder_start_token_id=0,
)  # fmt: skip


def test_recordings_align() -> None:
    """After a search; what is not told is chosen on all calls."""
    translator = transformer()
    with watch(translator) as recording:
        translator.translate(["It was tired."], max_length=6)
        translator.translate(["A cat"], max_length=6)
    found = recording.align()
    assert found.choice.how.startswith("agreement of the map with itself on 2 pairs")
    assert found.source == ("A", "cat")
    assert list(found) == found.links
    assert len(found) == len(found.links)
    assert found.pharaoh() == " ".join(f"{i}-{j}" for i, j in found)
    assert found.words == [(found.source[i], found.target[j]) for i, j in found]
    reading = found.choice.reading
    assert recording.align(reading.site, reading.heads, reading.row).links == found.links
    assert recording.align("decoder.0.cross", 1, "input").choice.how == "as asked"
    assert recording.align(words=(["A", "cat"], found.target)).links == found.links


def test_a_file_aligns_as_what_was_saved(tmp_path: Path) -> None:
    recording = recorded(transformer(), SOURCES[0], TARGETS[0])
    recording.save(tmp_path / "seen.regard")
    again, found = Recording.load(tmp_path / "seen.regard").align(), recording.align()
    assert (again.links, again.source, again.choice) == (found.links, found.source, found.choice)


@pytest.mark.parametrize("config", [BART, T5], ids=["bart", "t5"])
def test_hugging_face_models_align(config: Any) -> None:
    """Two pairs of different lengths side by side, each with its own words."""
    torch.manual_seed(0)
    model = transformers.AutoModelForSeq2SeqLM.from_config(config).eval()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=TOKENIZER.engine, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    ids = tokenizer(SOURCES[:2], return_tensors="pt", padding=True, return_token_type_ids=False)
    labels = tokenizer(TARGETS[:2], return_tensors="pt", padding=True).input_ids
    with torch.no_grad(), watch(model, tokenizer) as recording:
        model(**ids, labels=labels)
    for batch in (0, 1):
        found = recording.align(batch=batch)
        assert (found.source, found.target) == (tuple(SOURCES[batch].split()), tuple(TARGETS[batch].split()))
        assert sorted(j for _, j in found) == list(range(len(found.target)))
        assert all(i < len(found.source) for i, _ in found)


def test_what_cannot_be_aligned_is_said() -> None:
    translator = transformer()
    recording = recorded(translator, SOURCES[1], TARGETS[1])
    with pytest.raises(UnknownNameError, match="row 'both'"):
        recording.align(row="both")
    with pytest.raises(InputError, match=r"head 7 of decoder\.0\.cross is not there"):
        recording.align(head=7)
    with pytest.raises(UnknownNameError, match=r"looks from one text at another 'encoder\.0\.self'"):
        recording.align("encoder.0.self")
    with pytest.raises(InputError, match="heads are of one site"):
        recording.align("all", head=1)
    with watch(translator, sites="encoder*") as other:
        translator.model.encode(torch.tensor(TOKENIZER.encode(SOURCES[:1])))
    with pytest.raises(InputError, match="there is none in this recording"):
        other.align()
