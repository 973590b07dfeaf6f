"""Which heads let a translator say il or elle: found on some sentences, shown on others, with random heads beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from regard.errors import InputError
from regard.lens.analysis.ablation import HeadSearch, SiteHead, random_heads, search
from regard.lens.effect import Effect, without
from regard.tasks import Translator
from regard.text.grammar import Sentence
from regard.text.scores import bleu, pronoun_agreement
from regard.training.evaluate.batching import ProgressCallback, eval_mode_with_batch, ignore_progress
from regard.training.evaluate.guides import Nats, PronounChoice

GUIDED = 120  # sentences of either kind that guide the search
COST = 0.02  # nats a token that sentences without pronouns may cost more while searching
UNDECIDED = 0.6  # the mean probability of the right pronoun at which it is nearly chance: no more heads are tried
BROKEN = 60.0  # percent of pronouns that agree: no more heads are silenced once it is below


class AblationScores(NamedTuple):
    """What the model really said: percent of pronouns that agree, and BLEU of sentences without pronouns."""

    agreement: float
    bleu: float


class SentenceCounts(NamedTuple):
    """How many sentences of either kind."""

    asked: int
    others: int


@dataclass(frozen=True)
class PronounSentences:
    """Sentences whose pronoun shows which noun was meant, and sentences without such a pronoun."""

    asked: list[Sentence]
    others: list[Sentence]

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> PronounSentences:
        asked = [one for one in sentences if any(pronoun.gendered for pronoun in one.pronouns)]
        others = [one for one in sentences if not one.pronouns]
        if not asked or not others:
            raise InputError(
                "both kinds of sentences are needed: with an it that may be il or elle, and without",
                found=f"{len(asked)} and {len(others)}", do="give more sentences: grammar:valid:1000",
            )  # fmt: skip
        return cls(asked, others)

    @property
    def counts(self) -> SentenceCounts:
        return SentenceCounts(len(self.asked), len(self.others))


class AblationRow(NamedTuple):
    """Some heads silenced, and what became of the translations."""

    name: str
    heads: tuple[SiteHead, ...]
    scores: AblationScores

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "heads": head_names(self.heads), **self.scores._asdict()}


@dataclass(frozen=True)
class Ablation:
    """The heads found, how the search came to them, and what their silence does to sentences it has not seen."""

    heads: tuple[SiteHead, ...]
    alone: Effect  # of each head on the mean probability of the right pronoun
    search_rows: list[AblationRow]  # on the sentences of the search: no head, then the best set of each size
    test_rows: list[AblationRow]  # on others: no head, the heads found, and as many at random, if there are so many
    searched: SentenceCounts
    tested: SentenceCounts

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "heads": head_names(self.heads),
            "alone": [asdict(one) for one in self.alone.lines],
            "found": [line.to_dict() for line in self.search_rows],
            "shown": [line.to_dict() for line in self.test_rows],
            "sentences": {"searched": self.searched._asdict(), "tested": self.tested._asdict()},
        }


@dataclass(frozen=True)
class AblationOptions:
    """How many heads at most, how many points of BLEU other sentences may lose meanwhile, how many random draws."""

    most: int = 4
    allow: float = 1.5
    draws: int = 5
    seed: int = 0


def ablate_pronouns(
    translator: Translator,
    search_on: Sequence[Sentence],
    show_on: Sequence[Sentence],
    options: AblationOptions | None = None,
    on_progress: ProgressCallback = ignore_progress,
) -> Ablation:
    """Find heads on some sentences, and show on others what their silence does.

    The search is guided by what the model would say where il or elle is to be written, and by what sentences without
    pronouns cost; of the sets it finds the smallest is taken that really breaks agreement, or the one that breaks most,
    among those that leave other sentences nearly as good as they were.
    """
    options = AblationOptions() if options is None else options
    near, far = PronounSentences.of(search_on), PronounSentences.of(show_on)
    choice, nats = PronounChoice(translator, near.asked[:GUIDED]), Nats(translator, near.others[:GUIDED])
    searched = search(translator, HeadSearch(choice, nats, COST, options.most, enough=UNDECIDED), on_progress)
    tried = [(), *(one.heads for one in searched.best)]
    search_rows = [AblationRow(f"{len(some)} silent", some, measure(translator, near, some)) for some in tried]
    heads = choose_heads(search_rows, options.allow).heads
    everyone = [(one.site, one.head) for one in searched.alone.lines]
    enough = len(everyone) >= 2 * len(heads)  # a recurrent model has one head, and none to compare it with
    others = random_heads(everyone, heads, options.draws, options.seed) if enough else []
    sets = {"no head": (), "these heads": heads, **{f"at random, {n}": some for n, some in enumerate(others, 1)}}
    test_rows = [AblationRow(name, some, measure(translator, far, some)) for name, some in sets.items()]
    return Ablation(heads, searched.alone, search_rows, test_rows, near.counts, far.counts)


def choose_heads(search_rows: list[AblationRow], allow: float) -> AblationRow:
    """The smallest set that breaks agreement, else the one that breaks most, of those that spare the rest."""
    before, *lines = search_rows
    spared = [line for line in lines if before.scores.bleu - line.scores.bleu <= allow]
    if not spared:
        raise InputError(
            f"no heads were found whose silence costs other sentences {allow} BLEU or less",
            found=", ".join(f"{line.scores.bleu - before.scores.bleu:+.2f}" for line in lines), do="allow more",
        )  # fmt: skip
    broken = [line for line in spared if line.scores.agreement < BROKEN]
    return broken[0] if broken else min(spared, key=lambda line: line.scores.agreement)


def measure(
    translator: Translator, sentences: PronounSentences, heads: Sequence[SiteHead], batch: int = 64
) -> AblationScores:
    """What the model says, greedily, without some heads."""
    with without(translator, heads), eval_mode_with_batch(translator, batch):
        outputs = translator.translate([one.source for one in sentences.asked + sentences.others], beams=1)
    asked, others = outputs[: len(sentences.asked)], outputs[len(sentences.asked) :]
    agreement = pronoun_agreement(sentences.asked, asked)
    return AblationScores(100 * agreement.share, bleu(others, [one.target for one in sentences.others]).value)


def head_names(heads: Sequence[SiteHead]) -> list[str]:
    """As they are written: "decoder.1.cross:2"."""
    return [f"{site}:{head}" for site, head in heads]
