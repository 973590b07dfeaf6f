"""Alignments read from attention: word weights as their definition says, choices that find what they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError, UnknownNameError
from regard.lens.alignment.choice import (
    PairVotes,
    choose_by_gold,
    choose_by_itself,
    choose_by_reverse,
    error_rates,
)
from regard.lens.alignment.links import (
    ROWS,
    AttentionReading,
    Pair,
    Votes,
    all_readings,
    crossing,
    links,
    pair_of,
    votes,
    word_weights,
)
from regard.lens.alignment.pairs import align_pairs
from regard.lens.alignment.symmetrise import WAYS, symmetrised
from regard.lens.alignment.word_spans import WordTokens
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from regard.models import RecurrentConfig, TransformerConfig, build
from regard.tasks import Translator
from regard.text.bpe import Paired, train_tokenizer
from regard.text.scores import Gold
from tests.bounds import sums_apart
from tests.unit.lens.alignment.test_word_spans import marian

SOURCES = ["The animal didn't cross the street.", "It was tired.", "", "A cat"]
TARGETS = ["L'animal n'a pas traversé la rue.", "Il était très fatigué.", "Rien", "Un chat"]
TOKENIZER = train_tokenizer(SOURCES + TARGETS[:2], 290)
SIZES: dict[str, Any] = {"dim": 16, "heads": 4, "feedforward": 16, "dropout": 0.0, "pad": 0, "start": 1, "end": 2}
CROSS = ["decoder.0.cross", "decoder.1.cross"]


def transformer(tokenizer: Any = TOKENIZER, **changes: Any) -> Translator:
    torch.manual_seed(1)
    source, target = (getattr(tokenizer, side, tokenizer).size for side in ("source", "target"))
    config = TransformerConfig(
        source_vocabulary=source, target_vocabulary=target, encoder_layers=1, decoder_layers=2, shared=source == target,
        **SIZES, **changes,
    )  # fmt: skip
    return Translator(sharpened(build(config)).eval(), tokenizer)


def sharpened(model: Any) -> Any:
    """Weights that make attention uneven."""
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3 if weights.ndim > 1 else 1)
    return model


def recorded(translator: Translator, source: str, target: str) -> Recording:
    ids = torch.tensor(translator.tokenizer.encode([source]))
    side = getattr(translator.tokenizer, "target", translator.tokenizer)
    said = torch.tensor([[1, *side.encode([target])[0][:-1]]])
    with torch.no_grad(), watch(translator) as seen:
        translator.model(ids, said)
    return seen


def test_word_weights_are_the_sums_and_means_that_they_should_be() -> None:
    """Written out in loops: columns of a source word are added, rows of a target word averaged, specials left out."""
    seen = recorded(transformer(), SOURCES[0], TARGETS[0])
    call, pair = seen.last, pair_of(seen.last)
    assert (pair.source.words, pair.target.words) == (tuple(SOURCES[0].split()), tuple(TARGETS[0].split()))
    assert pair.target.owners[0] == pair.source.owners[-1] == -1
    for shift, row in enumerate(ROWS):
        found = word_weights(call, CROSS[1], pair, row)
        for head in range(4):
            weights = call.weights(CROSS[1], head)
            for j in range(len(pair.target.words)):
                rows = [place - shift for place, owner in enumerate(pair.target.owners) if owner == j]
                for i in range(len(pair.source.words)):
                    columns = [place for place, owner in enumerate(pair.source.owners) if owner == i]
                    expected = sum(float(weights[r, c]) for r in rows for c in columns) / len(rows)
                    assert float(found[head, j, i]) == pytest.approx(expected, abs=sums_apart(len(rows) * len(columns)))


def test_votes_of_all_readings_at_once() -> None:
    seen = recorded(transformer(), SOURCES[0], TARGETS[0])
    call, pair = seen.last, pair_of(seen.last)
    readings = all_readings(crossing(call))
    assert len(readings) == len(set(readings)) == 2 * (2 * (4 + 6 + 1) + 1)
    found = votes(call, pair, readings)
    weights = {(site, row): word_weights(call, site, pair, row) for site in CROSS for row in ROWS}
    for place, one in enumerate(readings):
        heads = list(one.heads) or [0, 1, 2, 3]
        sites = CROSS if one.site == "all" else [one.site]
        mean = torch.stack([weights[site, one.row][heads].mean(0) for site in sites]).mean(0)
        assert found.sources[place].tolist() == mean.argmax(1).tolist()
        assert found.targets[place].tolist() == mean.argmax(0).tolist()


@pytest.mark.parametrize("separate", [False, True])
def test_many_pairs_are_each_as_alone(separate: bool) -> None:
    """Batches, padding and order change nothing, and a recording of the same pair says the same."""
    tokenizer = Paired(TOKENIZER, train_tokenizer(TARGETS, 285)) if separate else TOKENIZER
    translator = transformer(tokenizer)
    translator.batch = 3
    steps: list[tuple[int, int]] = []
    whole = align_pairs(translator, SOURCES, TARGETS, on_progress=lambda done, total: steps.append((done, total)))
    assert steps == [(3, 4), (4, 4)]
    assert [len(pair.source.words) for pair in whole.pairs] == [6, 3, 0, 2]
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = align_pairs(translator, [source], [target], whole.readings)
        for one in whole.readings:
            assert alone.links(one) == [whole.links(one)[number]]
        if source:
            seen = recorded(translator, source, target)
            found = seen.align("decoder.1.cross", (0, 2), "input")
            assert found.links == whole.links(AttentionReading("decoder.1.cross", (0, 2), "input"))[number]
            assert (found.source, found.target) == (whole.pairs[number].source.words, whole.pairs[number].target.words)
    assert whole.links(whole.readings[0])[2] == []  # nothing to look at


def test_only_the_sites_that_are_read_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.lens.alignment import pairs as module

    kept: list[Any] = []
    monkeypatch.setattr(
        module, "watch", lambda *args, **kwargs: (kept.append(kwargs["sites"]), watch(*args, **kwargs))[1]
    )
    align_pairs(transformer(), SOURCES[:1], TARGETS[:1], [AttentionReading(CROSS[1], (0,), "output")])
    align_pairs(transformer(), SOURCES[:1], TARGETS[:1])
    assert kept == [[CROSS[1]], CROSS]


def test_words_already_split_and_other_words() -> None:
    translator = transformer()
    reading = AttentionReading(CROSS[0], (1,), "output")
    given = align_pairs(translator, [["It", "was", "tired", "."]], [["Il", "était", "fatigué", "."]], [reading])
    assert given.pairs[0].source.words == ("It", "was", "tired", ".")
    split = align_pairs(
        translator, ["It was tired."], ["Il était"], [reading], words=lambda text: [*text.replace(" ", "")]
    )
    assert len(split.pairs[0].source.words) == 11


def test_recurrent_models_align_too() -> None:
    torch.manual_seed(0)
    config = RecurrentConfig(
        source_vocabulary=TOKENIZER.size, target_vocabulary=TOKENIZER.size, dim=8, hidden=8, dropout=0.0,
        attention=True, pad=0, start=1, end=2,
    )  # fmt: skip
    translator = Translator(build(config).eval(), TOKENIZER)
    found = align_pairs(translator, SOURCES, TARGETS)
    assert [str(one) for one in found.readings] == [
        "decoder.0.cross:0:input", "decoder.0.cross:0:output", "decoder.0.cross:mean:input",
        "decoder.0.cross:mean:output", "all:mean:input", "all:mean:output",
    ]  # fmt: skip
    assert [len(one) for one in found.links(found.readings[1])] == [6, 4, 0, 2]


def test_too_long_for_learned_positions() -> None:
    translator = transformer(positions="learned", max_length=12)
    with pytest.raises(InputError, match="pair 2 is longer than this model can read"):
        align_pairs(translator, ["A cat", SOURCES[0]], ["Un chat", TARGETS[0]])
    with pytest.raises(InputError, match="as many sources as targets"):
        align_pairs(translator, ["A cat"], [])


# Choosing

READINGS = [
    AttentionReading("one", (0,), "input"),
    AttentionReading("one", (1,), "output"),
    AttentionReading("all", (), "output"),
]


def made(*maps: list[list[int]], back: list[list[int]] | None = None) -> PairVotes:
    """Readings that point as given; `back` is what source words point at, by default as exactly as can be."""
    found = []
    for sources in maps:
        rows = torch.tensor(sources)
        size = int(rows.max()) + 1
        targets = [[row.index(i) if i in row else -1 for i in range(size)] for row in sources]
        found.append(Votes(rows, torch.tensor(targets if back is None else back)))
    words = [Pair(WordTokens((), ()), WordTokens((), ())) for _ in maps]
    return PairVotes(READINGS[: len(maps[0])], words, found)


def test_choice_by_gold_never_takes_the_mean_of_all() -> None:
    gold = [Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))]
    aligned = made([[1, 1], [0, 0], [0, 1]])
    rates = error_rates(aligned, gold)
    assert [rates[one].aer for one in READINGS] == [0.5, 0.5, 0.0]
    choice = choose_by_gold(aligned, gold)
    assert (choice.reading, choice.score) == (READINGS[0], 0.5)
    assert choice.how == "lowest error rate on 1 sentences whose links are known: 50.0 %"


def test_choice_by_itself() -> None:
    """The second sends every target word to a source word of its own."""
    choice = choose_by_itself(made([[0, 0, 1], [2, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 2, 0], [1, 2, 0]]))
    assert (choice.reading, choice.score) == (READINGS[1], 1.0)
    assert "agreement of the map with itself on 2 pairs: 100.0 %" in choice.how
    with pytest.raises(InputError, match="nothing to choose"):
        choose_by_itself(PairVotes([], [], []))


def test_choice_by_the_other_direction() -> None:
    """Only the second of ours and the first of theirs say the same; a mean of all would agree as well."""
    ours = made([[0, 0, 0], [2, 0, 1], [2, 0, 1]])
    theirs = made([[1, 2, 0], [0, 0, 0], [1, 2, 0]])  # target words of source words
    here, there = choose_by_reverse(ours, theirs)
    assert (here.reading, there.reading, here.score) == (READINGS[1], READINGS[0], 1.0)
    assert here.how == there.how == "agreement of both directions on 1 pairs: F1 100.0 %"


def test_f1_of_both_directions_by_hand() -> None:
    """Ours links 0-0 1-1 1-2, theirs 0-0 1-1 and leaves a word out: 2 shared of 3 and 2."""
    ours, theirs = made([[0, 1, 1]]), made([[0, 1, -1]])
    assert choose_by_reverse(ours, theirs)[0].score == pytest.approx(2 * 2 / (3 + 2))


@pytest.mark.parametrize(
    "text", ["decoder.1.cross:2:input", "a.b:c:mean:output", "decoder.1.cross:0+3:output", "all:mean:input"]
)
def test_readings_are_written_and_read(text: str) -> None:
    assert str(AttentionReading.parse(text)) == text


@pytest.mark.parametrize("text", ["", "2:input", "site:2:both", "site:two:input", "site:2+:input", "site::input"])
def test_what_is_no_reading(text: str) -> None:
    with pytest.raises(InputError, match="no place to read an alignment"):
        AttentionReading.parse(text)


# Two directions

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@given(LINKS, LINKS)
def test_ways_to_join_hold_each_other(there: frozenset[Any], back: frozenset[Any]) -> None:
    least, grown, most = (set(symmetrised(there, back, way)) for way in WAYS)
    assert least == there & back
    assert most == there | back
    assert least <= grown <= most
    exchanged = symmetrised({(j, i) for i, j in there}, {(j, i) for i, j in back}, "union")
    assert {(i, j) for j, i in exchanged} == most


def test_growing_by_hand() -> None:
    """From 0-0 over its neighbour 1-1 to 2-2; 4-0 touches nothing, and 0-1 joins words that both have links."""
    there, back = {(0, 0), (1, 1), (4, 0), (0, 1)}, {(0, 0), (2, 2), (1, 1)}
    assert symmetrised(there, back, "grow-diag") == [(0, 0), (1, 1), (2, 2)]
    assert symmetrised({(0, 0), (0, 1)}, {(0, 0)}) == [(0, 0), (0, 1)]
    with pytest.raises(UnknownNameError, match="way to join"):
        symmetrised(there, back, "both")


# From a recording


def test_recordings_align() -> None:
    """After a search; what is not told is chosen on all calls."""
    translator = transformer()
    with watch(translator) as seen:
        translator.translate(["It was tired."], max_length=6)
        translator.translate(["A cat"], max_length=6)
    found = seen.align()
    assert found.choice.how.startswith("agreement of the map with itself on 2 pairs")
    assert found.source == ("A", "cat")
    assert list(found) == found.links
    assert len(found) == len(found.links)
    assert found.pharaoh() == " ".join(f"{i}-{j}" for i, j in found)
    assert found.words == [(found.source[i], found.target[j]) for i, j in found]
    reading = found.choice.reading
    assert seen.align(reading.site, reading.heads, reading.row).links == found.links
    assert seen.align("decoder.0.cross", 1, "input").choice.how == "as asked"
    assert seen.align(words=(["A", "cat"], found.target)).links == found.links


def test_a_file_aligns_as_what_was_saved(tmp_path: Path) -> None:
    seen = recorded(transformer(), SOURCES[0], TARGETS[0])
    seen.save(tmp_path / "seen.regard")
    again, found = Recording.load(tmp_path / "seen.regard").align(), seen.align()
    assert (again.links, again.source, again.choice) == (found.links, found.source, found.choice)


BART = transformers.BartConfig(
    vocab_size=TOKENIZER.size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    decoder_start_token_id=2, forced_eos_token_id=None, max_position_embeddings=64,
)  # fmt: skip
T5 = transformers.T5Config(
    vocab_size=TOKENIZER.size, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=0, eos_token_id=2,
    decoder_start_token_id=0,
)  # fmt: skip


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
    with torch.no_grad(), watch(model, tokenizer) as seen:
        model(**ids, labels=labels)
    for batch in (0, 1):
        found = seen.align(batch=batch)
        assert (found.source, found.target) == (tuple(SOURCES[batch].split()), tuple(TARGETS[batch].split()))
        assert sorted(j for _, j in found) == list(range(len(found.target)))
        assert all(i < len(found.source) for i, _ in found)


def test_sentencepiece_translators_align(tmp_path: Path) -> None:
    """Each side is cut by its own pieces; words the vocabulary does not have stay words."""
    tokenizer = marian(tmp_path)
    found = align_pairs(transformer(tokenizer), ["the 漢字 animal", SOURCES[1]], ["la rue", "Il 漢字"])
    assert [pair.source.words for pair in found.pairs] == [("the", "漢字", "animal"), tuple(SOURCES[1].split())]
    assert [len(one) for one in found.links(found.readings[0])] == [2, 2]


def test_what_cannot_be_aligned_is_said() -> None:
    translator = transformer()
    seen = recorded(translator, SOURCES[1], TARGETS[1])
    with pytest.raises(UnknownNameError, match="row 'both'"):
        seen.align(row="both")
    with pytest.raises(InputError, match=r"head 7 of decoder\.0\.cross is not there"):
        seen.align(head=7)
    with pytest.raises(UnknownNameError, match=r"looks from one text at another 'encoder\.0\.self'"):
        seen.align("encoder.0.self")
    with pytest.raises(InputError, match="heads are of one site"):
        seen.align("all", head=1)
    with watch(translator, sites="encoder*") as other:
        translator.model.encode(torch.tensor(TOKENIZER.encode(SOURCES[:1])))
    with pytest.raises(InputError, match="there is none in this recording"):
        other.align()


def test_links_in_order_of_the_source() -> None:
    assert links([2, -1, 0]) == [(0, 2), (2, 0)]
