"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import regard
from regard.claims.lab import label_task, text_stacks
from regard.claims.setting import Setting
from regard.claims.tried import encoder_decoder_only
from regard.claims.tried.encoder_decoder_only import Name, Outcome
from tests.claim_cases import Invented, check_rule
from tests.label_cases import counting, tiny_reviews

BETTER, AS_WELL = (4.0, 3.0, 5.0), (0.0, -0.5, 0.5)
INVENTED: Invented = {
    "holds": {
        "encoder_gains_with_1000": BETTER, "encoder_gains_with_all": BETTER, "encoder_perplexity": (3.0, 2.0, 4.5),
    },
    "holds in part": {
        "encoder_gains_with_1000": AS_WELL, "encoder_gains_with_all": AS_WELL, "encoder_perplexity": (3.0, 2.0, 4.5),
    },
    "does not hold": {
        "encoder_gains_with_1000": AS_WELL, "encoder_gains_with_all": AS_WELL, "encoder_perplexity": (1.0, 0.98, 1.02),
    },
}  # fmt: skip


def test_the_rule_gives_every_verdict() -> None:
    check_rule("encoder-decoder-only", INVENTED)


@pytest.mark.parametrize(
    ("labels", "nats", "verdict"),
    [(5.0, 0.5, "holds"), (5.0, 0.0, "holds in part"), (0.0, 0.5, "holds in part"), (0.0, 0.0, "does not hold")],
)
def test_each_is_compared_at_its_own_work(
    labels: float, nats: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder that continues texts is the better of two at that."""

    def pretended(setting: Setting, case: tuple[Name, int]) -> Outcome:
        name, seed = case
        more = {"decoder": (0.0, 0.0), "encoder": (labels, 2.0), "encoder that continues": (1.0, nats)}[name]
        shares = {"1000": 80.0 + seed + more[0], "all": 90.0 + more[0]}
        return Outcome(shares, 3.0 + 0.1 * seed + more[1], 20.0, 1_000)

    monkeypatch.setattr(encoder_decoder_only, "run", pretended)
    monkeypatch.setattr(encoder_decoder_only, "label_task", lambda *_: counting())
    result = regard.claim("encoder-decoder-only").run(seeds=[0, 1])
    assert result.verdict == verdict
    assert result.measurement.numbers["encoder_perplexity"].value == pytest.approx(math.exp(nats))


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"dim": 8, "heads": 2, "feedforward": 8, "layers": 1, "dropout": 0.0}
    for name in ("QUICK", "FULL"):
        monkeypatch.setattr(text_stacks, name, sizes)
        monkeypatch.setattr(encoder_decoder_only, name, (2, 4, 1e-2))
        monkeypatch.setattr(encoder_decoder_only, f"{name}_STEPS", {"1000": 2, "all": 2})
    few = label_task.grammar_labels("it", 300, 40)
    monkeypatch.setattr(label_task, "grammar_labels", lambda _: few)
    result = regard.claim("encoder-decoder-only").run(full=full, data=tiny_reviews(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert [len(table.rows) for table in result.measurement.tables] == [3, 3]
    assert "commonest" in str(result)
    sizes_of = [row[1] for row in result.measurement.tables[0].rows]
    assert len(set(sizes_of)) == 2  # both encoders are the same
