"""The rule of the claim, and its measurement with another function in softmax's place."""

from __future__ import annotations

import torch

import regard
from regard.claims.tried.softmax import divided, properties, softmax_weights
from tests.claim_cases import Invented, check_rule

SOUND = {"smallest_weight": 1e-9, "furthest_from_1": 1e-16, "out_of_order": 0.0, "error_of_log_ratio": 1e-15}
INVENTED: Invented = {
    "holds": SOUND,
    "holds in part": {**SOUND, "out_of_order": 3.0},
    "does not hold": {"smallest_weight": -0.1, "furthest_from_1": 0.5, "out_of_order": 7.0, "error_of_log_ratio": 1.0},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("softmax", INVENTED)


def test_it_holds() -> None:
    assert regard.claim("softmax").run().verdict == "holds"


def test_the_measurement_sees_what_is_no_softmax() -> None:
    scores = torch.tensor([[3.0, -1.0, 1.0], [0.5, 0.25, 0.25]], dtype=torch.float64)
    wrong, right = properties(divided(scores), scores), properties(softmax_weights(scores), scores)
    assert wrong["smallest_weight"] < 0 < right["smallest_weight"]
    assert wrong["error_of_log_ratio"] > 1e-3 > right["error_of_log_ratio"]
