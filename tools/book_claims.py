"""The pages of claims, made of their stored results alone: a page cannot say what was not measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.claims import NAMES, Claim, claim
from regard.claims.claim_names import ANY_MACHINE
from regard.claims.draw.words import cell_words, number_words, undecided_words
from tools.book_pictures import figure
from tools.book_results import FORMS, RESULTS, estimate_of, experiment, stored

HEADINGS = {"quick": "The quick form", "full": "The full form"}
NOT_RUN = "not measured yet"
UNDECIDED = "undecided"


def claim_pages(results: Path = RESULTS) -> dict[str, str]:
    """Every page by its path in the book."""
    pages = {f"claims/{name}.md": claim_page(name, results) for name in NAMES}
    pages["claims/index.md"] = index_page(results)
    pages["claims/verdicts.txt"] = verdict_table(results)
    return pages


def index_page(results: Path) -> str:
    contents = "\n".join(NAMES)
    return f"""# Claims, tried

What lectures say about attention, each as an experiment: what would be seen if it were so, what if not, a control, and
a rule that was written before the result and turns its numbers into a verdict. No verdict is written by hand.
[Try one yourself](../how-to/try-a-claim.md).

{verdict_table(results, "")}
```{{toctree}}
:hidden:

{contents}
```
"""


def verdict_table(results: Path = RESULTS, folder: str = "claims/") -> str:
    """All claims with the verdicts of both forms, and what is not known yet."""
    lines = ["{.verdicts}", "| claim | what is said | quick | full |", "| --- | --- | --- | --- |"]
    for name in NAMES:
        verdicts = " | ".join(verdict_words(stored(name, form, results)) for form in FORMS)
        lines.append(f"| [{name}]({folder}{name}.md) | {prose(statement_of(name, results))} | {verdicts} |")
    return "\n".join([*lines, "", *table_notes(results)]) + "\n"


def table_notes(results: Path) -> Iterator[str]:
    """What the words in the table mean, and how many full forms there are."""
    every = [(form, stored(name, form, results)) for form in FORMS for name in NAMES]
    if any(facts and facts["undecided"] for _, facts in every):
        yield (
            f"*{UNDECIDED.capitalize()}*: neither surely so nor surely not; the intervals are so wide that more runs "
            "may still decide it.\n"
        )
    measured = sum(facts is not None for form, facts in every if form == "full")
    if measured < len(NAMES):
        yield (
            f"The full form (more seeds, larger models, real text) has been measured for {measured} of {len(NAMES)} "
            f"claims. For the others, which want a GPU, it is *{NOT_RUN}*: the verdict of the quick form is all that "
            "is known of them."
        )


def verdict_words(facts: dict[str, Any] | None) -> str:
    """With a class, so that the style gives each its colour."""
    if facts is None:
        return f"[{NOT_RUN}]{{.not-run}}"
    words = f"[{facts['verdict']}]{{.verdict .{facts['verdict'].replace(' ', '-')}}}"
    return f"{words} [{UNDECIDED}]{{.undecided}}" if facts["undecided"] else words


def statement_of(name: str, results: Path) -> str:
    """From a result; where there is none, from the claim itself."""
    known = [facts for form in FORMS if (facts := stored(name, form, results))]
    if known:
        return str(known[0]["statement"])
    one = written(name)
    return one.statement if one else "This claim is still to be written."


def written(name: str) -> Claim | None:
    """The claim itself; None for a name whose file is not there yet."""
    try:
        return claim(name).claim
    except ModuleNotFoundError:
        return None


def claim_page(name: str, results: Path = RESULTS) -> str:
    kept = {form: stored(name, form, results) for form in FORMS}
    known = [facts for facts in kept.values() if facts]
    parts = [f"# {name}", f"> {prose(statement_of(name, results))}"]
    if known:
        parts.append(summary(kept))
        parts.append(about(known[0]))
    for form, facts in kept.items():
        parts += [f"## {HEADINGS[form]}", *(form_parts(facts) if facts else [not_run(name, form)])]
    return "\n\n".join(parts) + "\n"


def summary(kept: dict[str, dict[str, Any] | None]) -> str:
    lines = ["| form | verdict | seeds | time | on |", "| --- | --- | ---: | ---: | --- |"]
    for form, facts in kept.items():
        if facts:
            where = facts["provenance"]
            lines.append(
                f"| {form} | {verdict_words(facts)} | {len(facts['seeds'])} | {number_words(where['seconds'])} s "
                f"| {facts['device_name']} |"
            )
        else:
            lines.append(f"| {form} | {verdict_words(None)} | – | – | – |")
    return "\n".join(lines)


def about(facts: dict[str, Any]) -> str:
    """What it means for the sentence to be so, in the words that were there before the result."""
    terms = {
        "If it were so": facts["if_true"],
        "If not": facts["if_false"],
        "Control": facts["control"],
        "Rule, written before the result": facts["rule"],
    }
    return "\n\n".join(f"{term}\n: {prose(text)}" for term, text in terms.items())


def form_parts(facts: dict[str, Any]) -> Iterator[str]:
    where = facts["provenance"]
    yield f"**Verdict:** {verdict_words(facts)}"
    if facts["undecided"]:
        yield undecided_words(facts["undecided"])
    if facts.get("experiment") not in (None, experiment(facts["name"])):
        yield "*What this is measured with has changed since: measured again, its numbers may be others.*"
    yield figure(facts["svg"])
    for table in facts["tables"]:
        yield f"**{prose(table['title'])}**"
        yield result_table(table)
    if facts["remarks"]:
        yield "\n".join(f"- {prose(remark)}" for remark in facts["remarks"])
    yield f"```sh\n{facts['command']}\n```"
    yield (
        f"Measured on {facts['date']} with regard {where['regard']}, torch {where['torch']} and Python "
        f"{where['python']}, on {facts['device_name']}; seeds {', '.join(map(str, facts['seeds']))}; "
        f"{number_words(where['seconds'])} s."
    )


def not_run(name: str, form: str) -> str:
    """What is not known is said, with the command that would tell."""
    if form == "quick":
        return f"It is {NOT_RUN}:\n\n```sh\nregard claim {name}\n```"
    one = written(name)
    data = " --data DIR" if one and one.data else ""
    device, wants = ("", "") if name in ANY_MACHINE else (" --device cuda", "; it wants a GPU")
    return (
        f"The full form (more seeds, larger models) is {NOT_RUN}{wants}. This command measures it:\n\n"
        f"```sh\nregard claim {name} --full{data}{device}\n```"
    )


def result_table(table: dict[str, Any]) -> str:
    """Words to the left, numbers to the right; an interval stands behind its number."""
    aligned = ["---", *["---:"] * (len(table["columns"]) - 1)]
    rows = [[prose(cell(one)) for one in row] for row in table["rows"]]
    lines = [[prose(column) for column in table["columns"]], aligned, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: Any) -> str:
    if value is None:
        return "–"
    return cell_words(estimate_of(value) if isinstance(value, dict) else value)


def prose(text: str) -> str:
    """Plain words, none of which Markdown takes for a sign of its own; straight double quotes become curly ones."""
    curly = re.sub(r'"([^"]*)"', "“\\1”", text)
    return re.sub(r"([\\`*_{}\[\]<>|$#~^@])", r"\\\1", curly)
