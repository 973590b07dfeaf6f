"""`engine="ctranslate2"`: the same text as our own engine in float32, and the model converted once."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import regard
from benchmarks import peers
from regard.decoding import Beams
from regard.errors import InputError, UnknownNameError
from regard.tasks import ctranslate2_translator, load_engine
from regard.tasks.ctranslate2_translator import CTranslate2Translator, batch_tokens, search_options
from regard.tasks.text_ids import TOKENS
from regard.tasks.translator import SearchOptions, Translator
from regard.tasks.verified_export import export
from regard.training.evaluate.sets import read_data
from tests.export_cases import folder_of

ODD = ["", "  ", "The cat sleeps.", "The cat sleeps. " * 30, "L\u2019été : 100 %"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assets")


@pytest.fixture(autouse=True)
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is put among the assets of whoever runs the tests."""
    monkeypatch.setattr(load_engine, "cache_folder", lambda: cache)


def grammar_pair(quantization: str | None = None) -> tuple[Translator, CTranslate2Translator]:
    ours = regard.load("grammar", "cpu")
    theirs = regard.load("grammar", "cpu", "ctranslate2", quantization=quantization)
    assert isinstance(ours, Translator)
    assert isinstance(theirs, CTranslate2Translator)
    return ours, theirs


@pytest.mark.parametrize(
    "options",
    [{"beams": 1}, {"beams": 4}, {"beams": 4, "stop": "full"}, {"beams": 3, "alpha": 1.5}],
    ids=["greedy", "4 beams", "full", "alpha"],
)
def test_the_text_is_the_same_in_float32(options: SearchOptions) -> None:
    """The model is sure of its sentences, so that nothing hangs on the last digit: the two searches must agree."""
    ours, theirs = grammar_pair()
    texts = list(read_data(["grammar:test:300:7"]).pairs().sources)
    expected, actual = ours.search(texts, **options), theirs.search(texts, **options)
    assert [best[0].text for best in actual] == [best[0].text for best in expected]
    scores = [[best[0].score for best in results] for results in (actual, expected)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)  # float32: sums of some twenty logarithms of size 10


def test_texts_that_are_odd_are_treated_alike() -> None:
    ours, theirs = grammar_pair()
    for options in (SearchOptions(beams=1), SearchOptions(beams=1, max_length=3), SearchOptions(max_length=2)):
        assert [[(one.text, one.cut) for one in best] for best in theirs.search(ODD, **options)] == [
            [(one.text, one.cut) for one in best] for best in ours.search(ODD, **options)
        ]
    with pytest.raises(InputError, match="longer than this model can read"):
        theirs.translate(ODD, long="refuse")


def test_several_come_best_first_by_our_penalty() -> None:
    ours, theirs = grammar_pair()
    expected, actual = (one.search(["They obey a minister."], nbest=3)[0] for one in (ours, theirs))
    assert [one.text for one in actual] == [one.text for one in expected]
    assert [one.score for one in actual] == sorted((one.score for one in actual), reverse=True)
    assert theirs.translate(["They obey a minister."], nbest=2)[0] == [one.text for one in expected[:2]]


def test_torch_keeps_its_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        _, theirs = grammar_pair()
        assert theirs.threads == before + 1
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_a_call_spreads_over_all_threads_unless_they_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    _, theirs = grammar_pair()
    assert theirs.threads == theirs.engine.num_translators == torch.get_num_threads()
    texts, asked = ["The cat sleeps."] * 6, []
    tokens = sum(map(len, theirs.tokenizer.encode(texts)))

    def sized(size: int, width: int, parts: int) -> int:
        asked.append((size, parts))
        return batch_tokens(size, width, parts)

    monkeypatch.setattr(ctranslate2_translator, "batch_tokens", sized)
    theirs.threads = 3
    for theirs.shared in (False, True):
        assert theirs.translate(texts) == ["Le chat dort."] * 6
    assert asked == [(tokens, 3), (tokens, 1)]
    assert [batch_tokens(1000, 4, parts) for parts in (1, 2, 3)] == [1000, 500, 334]
    assert (batch_tokens(10**6, 4, 2), batch_tokens(0, 4, 2)) == (TOKENS // 4, 1)


def test_threads_may_ask_at_the_same_time() -> None:
    _, theirs = grammar_pair()
    texts = list(read_data(["grammar:test:40:7"]).pairs().sources)
    expected = theirs.translate(texts)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(theirs.translate, [texts[first : first + 5] for first in range(0, 40, 5)]))
    assert [text for part in parts for text in part] == expected


def test_batches_change_nothing() -> None:
    _, theirs = grammar_pair()
    texts = list(read_data(["grammar:test:20:7"]).pairs().sources)
    expected = theirs.translate(texts)
    theirs.batch = 3
    assert theirs.translate(texts) == expected
    theirs.batch = 0
    with pytest.raises(InputError, match="batch must be at least 1"):
        theirs.translate(texts)


def test_eight_bits_say_nearly_the_same() -> None:
    ours, theirs = grammar_pair("int8")
    texts = list(read_data(["grammar:test:50:7"]).pairs().sources)
    same = sum(a == b for a, b in zip(ours.translate(texts), theirs.translate(texts), strict=True))
    assert same >= 40  # a hundredth off, where a sentence's likeliest word leads by far more


def test_a_model_is_converted_once_for_as_long_as_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, conversions = tmp_path / "assets", []
    true = load_engine.convert
    monkeypatch.setattr(load_engine, "cache_folder", lambda: place)
    monkeypatch.setattr(load_engine, "convert", lambda *given: (conversions.append(given), true(*given)))
    folder = folder_of("transformer", tmp_path / "ours")
    first = regard.load(folder, "cpu", engine="ctranslate2")
    assert first.folder.parent == place
    assert regard.load(folder, "cpu", engine="ctranslate2").folder == first.folder
    assert len(conversions) == 1
    other = folder_of("transformer", tmp_path / "other", norm="pre")
    shutil.copy(other / "model.safetensors", folder)
    shutil.copy(other / "config.json", folder)
    assert regard.load(folder, "cpu", engine="ctranslate2").folder != first.folder
    assert len(conversions) == 2
    assert len(list(place.iterdir())) == 2  # and nothing half done beside them


def test_where_nothing_can_be_kept_it_is_made_for_this_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(load_engine, "cache_folder", lambda: tmp_path / "file" / "below")
    folder = folder_of("transformer", tmp_path / "ours")
    translator = regard.load(folder, "cpu", engine="ctranslate2")
    assert translator.translate(["one two"], beams=1, max_length=8) == regard.load(folder, "cpu").translate(
        ["one two"], beams=1, max_length=8
    )
    assert not translator.folder.exists()


def test_an_exported_folder_is_a_model_for_this_engine_alone(tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours", fold=True)
    export(folder, tmp_path / "ct", "ctranslate2", quantization="int8")
    theirs, ours = regard.load(tmp_path / "ct", "cpu", engine="ctranslate2"), regard.load(folder, "cpu")
    assert theirs.engine.compute_type.startswith("int8")
    assert theirs.tokenizer.encode(["L\u2019été"]) == ours.tokenizer.encode(["L'été"])  # the normalizer has come along
    with pytest.raises(InputError, match=r"was exported for another program(.|\n)*--engine ctranslate2"):
        regard.load(tmp_path / "ct")


def test_what_this_engine_cannot_do_is_refused_in_words(tmp_path: Path) -> None:
    _, theirs = grammar_pair()
    with pytest.raises(InputError, match=r'stop="proven"(.|\n)*engine torch'):
        theirs.translate(["a"], stop="proven")
    with pytest.raises(InputError, match=r"at most 1,024 tokens(.|\n)*max_length=2,000"):
        theirs.translate(["a"], max_length=2000)
    with pytest.raises(UnknownNameError, match="there is no engine 'ctranslate'"):
        regard.load("grammar", engine="ctranslate")
    with pytest.raises(UnknownNameError, match="there is no quantization 'int9'"):
        regard.load("grammar", "cpu", engine="ctranslate2", quantization="int9")
    with pytest.raises(InputError, match="CTranslate2 has no mps device here"):
        regard.load("grammar", "mps", engine="ctranslate2")
    with pytest.raises(InputError, match=r"quantization='int8'(.|\n)*--engine ctranslate2"):
        regard.load("grammar", engine="torch", quantization="int8")
    peers.save(peers.marian(), tmp_path / "marian", "seq2seq")
    with pytest.raises(InputError, match=r"takes folders of ours(.|\n)*ct2-transformers-converter"):
        regard.load(tmp_path / "marian", engine="ctranslate2")
    with pytest.raises(InputError, match="family 'decoder'"):
        regard.load(folder_of("decoder", tmp_path / "decoder"), engine="ctranslate2")


def test_learned_positions_bound_what_is_written(tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours", positions="learned", max_length=12)
    ours, theirs = regard.load(folder, "cpu"), regard.load(folder, "cpu", engine="ctranslate2")
    texts = ["one two three four five six seven eight nine", "nine"]
    assert theirs.longest_source == 12
    assert theirs.translate(texts, beams=1) == ours.translate(texts, beams=1)


def test_our_stop_rules_are_theirs_in_other_words() -> None:
    assert search_options(Beams(1)) == {"beam_size": 1, "length_penalty": 0.0}
    assert search_options(Beams(4, 0.0, stop="full"))["length_penalty"] > 0  # else theirs stops by its other rule
    likely = search_options(Beams(5))
    assert likely["num_hypotheses"] <= likely["beam_size"] * likely["patience"]
