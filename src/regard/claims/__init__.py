"""Claims of the lectures, each tried: an experiment, a picture, and a verdict that the numbers give."""

from regard.claims.claim import VERDICTS, Claim, Verdict, VerdictRule
from regard.claims.claim_names import NAMES, claim
from regard.claims.claim_result import ClaimRun, Result
from regard.claims.estimates import Estimate

__all__ = ["NAMES", "VERDICTS", "Claim", "ClaimRun", "Estimate", "Result", "Verdict", "VerdictRule", "claim"]
