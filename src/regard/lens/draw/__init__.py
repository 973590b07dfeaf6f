"""Drawing, as text for a terminal, as HTML and as LaTeX. Nothing here prints: it gives back what to show."""
