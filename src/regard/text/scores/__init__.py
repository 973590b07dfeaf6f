"""How good outputs are, beside what they should have been: pure functions over texts, without torch.

Scores of translations are sacreBLEU's and carry its signature, so that two of them can be compared, or must not be.
"""

from regard.text.scores.alignment_error import AlignmentScore, Gold, alignment_score, parse_pharaoh, pharaoh
from regard.text.scores.bleu import LengthRow, Score, bleu, bleu_by_length, bleu_tokenised, chrf
from regard.text.scores.bootstrap import Comparison, bleu_interval, chrf_interval, paired_bootstrap
from regard.text.scores.counts import LabelScore, Share, accuracy, confusion, per_label, pronoun_agreement

__all__ = [
    "AlignmentScore",
    "Comparison",
    "Gold",
    "LabelScore",
    "LengthRow",
    "Score",
    "Share",
    "accuracy",
    "alignment_score",
    "bleu",
    "bleu_by_length",
    "bleu_interval",
    "bleu_tokenised",
    "chrf",
    "chrf_interval",
    "confusion",
    "paired_bootstrap",
    "parse_pharaoh",
    "per_label",
    "pharaoh",
    "pronoun_agreement",
]
