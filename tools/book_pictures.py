"""Pictures inside the book's pages: their colours follow the choice of light or dark, not just the system's."""

from __future__ import annotations

import re

DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{((?:[^{}]*\{[^{}]*\})*)\s*\}")
RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")


def themed(markup: str) -> str:
    """HTML or SVG whose dark rules stand under the switches of the book's theme too."""
    return DARK.sub(lambda found: dark_rules(found[1]), markup)


def dark_rules(rules: str) -> str:
    """Once for readers who chose dark, once for those whose system is dark and who did not choose light."""
    chosen, system = (
        "".join(f"{under(theme, selectors)} {body}" for selectors, body in RULE.findall(rules))
        for theme in ('body[data-theme="dark"]', 'body:not([data-theme="light"])')
    )
    return f"{chosen} @media (prefers-color-scheme: dark) {{ {system} }}"


def under(theme: str, selectors: str) -> str:
    return ", ".join(f"{theme} {one.strip()}" for one in selectors.split(","))


def figure(markup: str, kind: str = "") -> str:
    """A directive that puts markup into a page as it is. Blank lines go, since they would end it."""
    lines = [line for line in themed(markup).splitlines() if line.strip()]
    return f'```{{raw}} html\n<figure class="made {kind}">\n' + "\n".join(lines) + "\n</figure>\n```"
