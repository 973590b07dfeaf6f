"""Attention worked by hand: the sheet that shows all six steps, and the check that finds the wrong number."""

from regard.worked.checking import Report, check
from regard.worked.findings import Mistake
from regard.worked.sheet import Sheet, steps

__all__ = ["Mistake", "Report", "Sheet", "check", "steps"]
