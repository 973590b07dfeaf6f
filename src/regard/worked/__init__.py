"""Attention worked by hand: the sheet that shows all six steps, and the check that finds the wrong number."""

from regard.worked.checking import Mistake, Report, check
from regard.worked.sheet import Sheet, steps

__all__ = ["Mistake", "Report", "Sheet", "check", "steps"]
