"""The rule of the claim."""

from __future__ import annotations

from tests.claim_cases import Invented, check_rule

INVENTED: Invented = {
    "holds": {"gradient_ratio": (8.0, 6.0, 11.0), "loss_gained": (0.5, 0.2, 0.8)},
    "holds in part": {"gradient_ratio": (3.0, 2.5, 3.6), "loss_gained": (0.1, -0.2, 0.4)},
    "does not hold": {"gradient_ratio": (0.2, 0.1, 0.4), "loss_gained": (0.5, 0.2, 0.8)},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("sqrt-d", INVENTED)
