"""A model by name, ours or Hugging Face's, reads texts, and what it did has the right tokens at its sides."""

from __future__ import annotations

import builtins
import shutil
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from benchmarks import peers
from regard.errors import FileError, InputError, RegardError
from regard.interop import auto_loading
from regard.lens.analysis.subject import Subject, open_subject, unlike_ends
from regard.lens.recording.tokens import side_of, strings
from regard.lens.recording_api import Recording
from tests.bounds import small_apart
from tests.broken_weights import with_nan
from tests.families import families
from tests.subjects import ours, paired, theirs

OWN = families(lambda family: bool(family.sites))
TEXT, SHORT = "w1 w2 w3 w4 w5", "w6 w7"
PAIRS = ("bart", "t5")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("subjects")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Untrained models find no end."""
    monkeypatch.setattr("regard.tasks.translator.LONGEST", 16)


def subject(name: str, root: Path) -> Subject:
    return open_subject((ours if name in OWN else theirs)(name, root), "cpu")


def check_labels(seen: Recording, source: list[str], target: list[str], batch: int = 0) -> None:
    """Every site has the words of the right text beside its rows and above its columns."""
    for site in seen.sites:
        rows, columns = seen.labels(site, batch)
        crosses, decodes = seen.last.crosses(site), target and "decoder" in site
        assert columns[: len(source)] == source if crosses or not decodes else columns[: len(target)] == target
        assert rows[: len(target)] == target if crosses or decodes else rows[: len(source)] == source


# Ours


@pytest.mark.parametrize("name", OWN)
def test_every_family_of_ours(name: str, root: Path) -> None:
    one = subject(name, root)
    seen = one.see(TEXT)
    words = TEXT.split()
    around = {True: [*words, "</s>"], False: words}[one.pair]
    around = ["[CLS]", *words, "[SEP]"] if "encoder" in name else around
    assert seen.tokens == around
    assert len(seen.calls) == 1
    assert seen.badge.true, str(seen.badge)
    check_labels(seen, around, seen.target_tokens)
    if one.pair:
        forced = one.see(TEXT, "w8 w9")
        assert forced.target_tokens == [one.reader.tokenizer.token_of(1) or "1", "w8", "w9"]
        check_labels(forced, around, forced.target_tokens)


@pytest.mark.parametrize("name", ["transformer post", "recurrent attention", "bart", "t5"])
def test_what_a_translator_says_itself_is_what_it_reads(name: str, root: Path) -> None:
    """The map of its own translation, found first and then read at once, is the one of the search itself."""
    one = subject(name, root)
    seen = one.see(SHORT, greedy=True)
    said = [token for token in seen.target_tokens[1:] if token not in ("</s>", "<pad>")]
    again = one.see(SHORT, " ".join(map(str, said)))
    if seen.target_tokens == again.target_tokens:  # unless it said special tokens on its way
        site = next(site for site in seen.sites if seen.last.crosses(site))
        torch.testing.assert_close(seen.weights(site, 0), again.weights(site, 0), atol=small_apart(), rtol=0)


def test_beams_are_those_of_the_task(root: Path) -> None:
    import regard

    folder = ours("transformer post", root)
    task = regard.load(folder, "cpu")
    (best,) = task.decode(task.tokenizer.encode([TEXT]), task.beams(None, None), task.limits(None))
    seen = open_subject(folder, "cpu").see(TEXT)
    assert seen.last.text is not None
    read = best[0].ids if best[0].end is not None else best[0].ids[:-1]
    assert seen.last.text.ids == [[task.model.config.start, *read]]


@pytest.mark.parametrize("name", [*OWN, "llama", "opt", "roberta", "bart", "t5"])
def test_texts_side_by_side_are_as_each_alone(name: str, root: Path) -> None:
    one = subject(name, root)
    targets = ["w3", "w9 w8 w7"] if one.pair else None
    both = one.see([SHORT, TEXT], targets)
    for batch, text in enumerate((SHORT, TEXT)):
        alone = one.see(text, None if targets is None else targets[batch])
        for site in alone.sites:
            weights = alone.weights(site, 1 if "recurrent" not in name else 0)
            rows, columns = weights.shape
            beside = both.weights(site, 1 if "recurrent" not in name else 0, (0, rows), (0, columns), batch=batch)
            torch.testing.assert_close(beside, weights, atol=small_apart(), rtol=0)
            assert int(both.last.counted(site, batch).sum()) == rows  # padding is not counted
    table = {(line.site, line.head): line for line in both.heads().lines}
    assert len(table) == sum(len(both.last.map(site).heads) for site in both.sites)


def test_two_vocabularies_each_on_its_side(root: Path) -> None:
    folder = shutil.copytree(ours("transformer separate", root), root / "two vocabularies")
    seen = open_subject(paired(folder), "cpu").see("w1 w2", "v3 v4")
    assert seen.tokens == ["w1", "w2", "</s>"]
    assert seen.target_tokens[1:] == ["v3", "v4"]
    assert open_subject(folder, "cpu").see("w1", "w3").target_tokens[1:] == ["<unk>"]  # a source's word is none of its
    import regard

    task = regard.load(folder, "cpu")
    with regard.watch(task) as watched:
        task.translate(["w1 w2"], beams=1, max_length=4)
    assert watched.tokens == ["w1", "w2", "</s>"]
    assert not any(str(token).startswith("w") for token in watched.target_tokens)


def test_two_vocabularies_of_a_tokenizer_of_theirs() -> None:
    class Marian:
        """As transformers has it: ids are read with one vocabulary, and decoded by the other."""

        separate_vocabs = True
        encoder = MappingProxyType({"▁cat": 0, "▁dog": 1})

        def decode(self, ids: list[int]) -> str:
            return ["chat", "chien"][ids[0]]

    assert [strings(side_of(Marian(), side), [1, 0]) for side in ("source", "target")] == [
        [" dog", " cat"],
        ["chien", "chat"],
    ]


def test_options_of_watch_are_passed_on(root: Path) -> None:
    seen = subject("decoder", root).see(TEXT, sites="decoder.1.*", heads=[2], dtype="float16", values=True)
    assert seen.sites == ["decoder.1.self"]
    assert seen.last.map("decoder.1.self").heads == (2,)
    assert seen.last.map("decoder.1.self").query.dtype == torch.float16
    assert seen.weights("decoder.1.self", 2, by="value").shape == (5, 5)


# Hugging Face's


@pytest.mark.parametrize("name", ["llama", "opt", "roberta", "bart", "t5"])
def test_models_of_theirs(name: str, root: Path) -> None:
    one = subject(name, root)
    kind = {"llama": "Llama", "opt": "OPT", "roberta": "Roberta", "bart": "Bart", "t5": "T5"}[name]
    assert one.reader.origin.startswith(f"Hugging Face ({kind}")
    assert not one.reader.model.training
    seen = one.see(TEXT)
    around = {
        "roberta": ["[CLS]", *TEXT.split(), "[SEP]"],
        "bart": [*TEXT.split(), "</s>"],
        "t5": [*TEXT.split(), "</s>"],
    }
    assert seen.tokens == around.get(name, TEXT.split())
    assert seen.badge.true
    check_labels(seen, list(map(str, seen.tokens)), list(map(str, seen.target_tokens)))
    if one.pair:
        start = {"bart": "</s>", "t5": "<pad>"}[name]
        assert seen.target_tokens[0] == start
        assert one.see(TEXT, "w8 w9").target_tokens == [start, "w8", "w9"]


@pytest.mark.parametrize("name", PAIRS)
def test_their_own_translation_is_the_one_of_generate(name: str, root: Path) -> None:
    one = subject(name, root)
    ids = torch.tensor(one.reader.encode([SHORT]))
    expected = one.reader.model.generate(ids)[0].tolist()
    text = one.see(SHORT).last.text
    assert text is not None
    assert text.ids[0] == expected[:-1]  # the last is said, and read by nobody


def test_what_they_say_is_not_cut_at_the_length_that_nobody_chose(root: Path) -> None:
    one = subject("t5", root)
    one.reader.model.generation_config.max_length = None
    text = one.see(SHORT, greedy=True).last.text
    assert text is not None
    assert len(text.ids[0]) > 21 or one.reader.model.generation_config.eos_token_id in text.ids[0]


def test_weights_of_theirs_are_those_of_eager(root: Path) -> None:
    model = transformers.LlamaForCausalLM.from_pretrained(theirs("llama", root), attn_implementation="eager").eval()
    one = subject("llama", root)
    with torch.no_grad():
        expected = model(torch.tensor(one.reader.encode([TEXT])), output_attentions=True).attentions
    seen = one.see(TEXT)
    for site, weights in zip(seen.sites, expected, strict=True):
        for head in range(4):
            torch.testing.assert_close(seen.weights(site, head), weights[0, head], atol=small_apart(), rtol=0)


def test_what_ours_equal_is_loaded_by_us(tmp_path: Path) -> None:
    peers.save(peers.marian(1), tmp_path / "marian", "seq2seq", num_beams=2, max_length=12)
    one = open_subject(tmp_path / "marian", "cpu")
    assert one.reader.origin == "Hugging Face (MarianMTModel), as a model of ours"
    seen = one.see("w1 w2")
    assert seen.sites[-1] == "decoder.1.cross"
    assert seen.target_tokens[0] == "<pad>"


def test_a_variant_that_ours_do_not_equal_goes_to_transformers(tmp_path: Path) -> None:
    peers.save(peers.gpt2(1, scale_attn_by_inverse_layer_idx=True), tmp_path / "gpt2", "gpt2")
    one = open_subject(tmp_path / "gpt2", "cpu")
    assert one.reader.origin == "Hugging Face (GPT2LMHeadModel)"
    assert one.see("w1 w2 w3").badge.true


def test_without_an_architecture_the_usual_class_is_taken(root: Path) -> None:
    import json

    for name, kind in (("llama", "LlamaForCausalLM"), ("roberta", "RobertaForMaskedLM"), ("t5", "T5For")):
        folder = shutil.copytree(theirs(name, root), root / f"unnamed {name}")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps({**config, "architectures": None}), encoding="utf-8")
        assert kind in open_subject(folder, "cpu").reader.origin


# Refusals


def refused(name: Any, kind: type[RegardError] = RegardError, text: str = TEXT, target: str | None = None) -> str:
    with pytest.raises(kind) as found:
        open_subject(name, "cpu").see(text, target)
    assert found.value.do or found.value.found
    return str(found.value)


def test_what_reads_no_text_is_refused(root: Path) -> None:
    assert "ViTForImageClassification reads image" in refused(theirs("vit", root), InputError)
    told = refused(theirs("whisper", root), InputError)
    assert "audio" in told
    assert "regard.watch" in told


def test_attention_that_cannot_be_seen_is_refused_by_name(root: Path) -> None:
    assert "BloomForCausalLM computes attention itself" in refused(theirs("bloom", root))


def test_texts_that_are_too_long_are_refused_with_the_limit(root: Path) -> None:
    long = "w1 " * 90
    assert "92 tokens, where at most 63 fit" in refused(theirs("roberta", root), text=long)
    assert "91 tokens, where at most 64 fit" in refused(theirs("bart", root), text=long)
    assert "91 tokens, where at most 64 fit" in refused(theirs("bart", root), target=long)
    assert "90 tokens, where at most 32 fit" in refused(ours("decoder", root), text=long)
    assert open_subject(theirs("llama", root), "cpu").see(long).badge.true  # its positions have no end


def test_texts_and_targets_that_do_not_fit(root: Path) -> None:
    assert "no text to look at" in refused(ours("decoder", root), text="  ")
    assert "reads one text" in refused(ours("decoder", root), target="w1")
    with pytest.raises(InputError, match="every text needs one target"):
        subject("bart", root).see([TEXT, SHORT], ["w1"])
    assert "no attention to watch" in refused(ours("recurrent", root))


def test_the_decoder_of_a_model_that_writes_nothing_reads_the_source(root: Path) -> None:
    seen = subject("bart classes", root).see(TEXT)
    assert seen.target_tokens == ["</s>", *TEXT.split()]
    assert seen.badge.true
    assert "could not read this" in refused(theirs("bart classes", root), InputError, target="w1")


def test_weights_that_are_missing_are_not_made_up(root: Path) -> None:
    folder = shutil.copytree(theirs("llama", root), root / "holes")
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.0.self_attn.q_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert "model.layers.0.self_attn.q_proj.weight" in refused(folder, FileError)


def test_a_head_that_is_missing_is_noted(root: Path) -> None:
    folder = shutil.copytree(theirs("llama", root), root / "headless")
    tensors = load_file(folder / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    one = open_subject(folder, "cpu")
    assert "lm_head.weight" in one.reader.notes[0]
    torch.testing.assert_close(
        one.see(TEXT).weights("model.layers.1.self_attn", 0),
        subject("llama", root).see(TEXT).weights("model.layers.1.self_attn", 0),
    )


def test_folders_that_lack_something(root: Path, tmp_path: Path) -> None:
    bare = shutil.copytree(theirs("llama", root), tmp_path / "bare")
    for file in bare.glob("tokenizer*"):
        file.unlink()
    assert "cannot read the tokenizer" in refused(bare, FileError)
    weightless = shutil.copytree(theirs("llama", root), tmp_path / "weightless")
    (weightless / "model.safetensors").unlink()
    assert "cannot read the weights" in refused(weightless, FileError)
    strange = shutil.copytree(theirs("llama", root), tmp_path / "strange")
    (strange / "config.json").write_text('{"model_type": "zorp", "architectures": ["ZorpForLM"]}', encoding="utf-8")
    assert "zorp" in refused(strange, FileError)
    assert "no such folder" in refused("./nowhere", FileError)
    with pytest.raises(InputError, match="no device"):
        open_subject(bare, "gpu")


def test_without_transformers_it_is_said_how_to_get_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "transformers":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.setattr(auto_loading, "find_spec", lambda name: None)
    assert 'pip install "regard[hf]"' in refused(theirs("llama", root), FileError)


def test_the_ids_that_fill_up_are_told_from_those_that_end_a_text() -> None:
    assert unlike_ends(0, [[5, 6], [7]]) == 0
    assert unlike_ends(2, [[5, 2], [7, 0]]) == 1
    assert unlike_ends(0, [[0]]) == 0  # a decoder's lone start


# Weights that are not numbers


@pytest.mark.parametrize("name", [*OWN, "bart", "t5", "llama"])
def test_a_model_with_nan_in_its_weights_is_not_looked_at(name: str, root: Path) -> None:
    """Whether or not anything is searched for: a target that is given is only read."""
    one = subject(name, root)
    message = with_nan(one.reader.model)
    with pytest.raises(InputError, match=message):
        one.see([TEXT, SHORT], [SHORT, TEXT] if one.pair else None)
