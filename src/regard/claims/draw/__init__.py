"""Results drawn: in a terminal, as SVG, as a page."""
