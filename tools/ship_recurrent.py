"""`python -m tools.ship_recurrent FOLDER`: a recurrent model made ready to ship as `pretrained/grammar-rnn`.

As `tools.ship` does it for the Transformer: weights in half precision, and a card with the scores of those weights on
sentences that were never drawn before. There was one run with the recipe's own seed, so nothing was chosen.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from regard.cli import app
from regard.training.recipe.recipe import read_recipe, read_toml
from tools.ship import PLACE, copy, drawn, score_rows, scored, translator, write_run

NAME = "grammar-rnn"
FRESH = 20261119  # a seed from which no sentence was drawn before the model was trained

TEMPLATE = """# grammar-rnn: the same language by the model of 2015

A recurrent translator with additive attention (Bahdanau, Cho and Bengio, 2015): a GRU of {hidden} dims reads each way,
a third one writes, looking back at every step ({parameters:,} parameters). It ships beside the Transformer `grammar`
so that what each looked at can be seen side by side, as `regard studio` shows it; to translate, `grammar` is better.
It was trained by `regard train grammar-rnn` (recipe.toml, log.jsonl) on sentences of regard's built-in language, whose
text is made by rules of this project: there is no licence but the project's own (Apache-2.0). Weights are kept in half
precision and computed with in single precision.

## Scores

Of these very weights, four beams, on sentences drawn for the first time after training
({sets};
`regard evaluate grammar-rnn grammar:test:2000:{fresh}`):

| | test | unseen combinations | longer than any in training |
| --- | ---: | ---: | ---: |
{rows}

One run, with the recipe's own seed: nothing was chosen by any of these numbers.

## What it cannot do

It knows some six hundred words of a made-up corner of English and nothing else. How the two kinds of model compare is
no question for one run of each: `regard claim better` and `regard claim long-range` train several seeds of both.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what regard train grammar-rnn --out wrote")
    folder = parser.parse_args().folder
    place = PLACE / NAME
    copy(folder, place)
    app(["align", str(place), "grammar:valid:300", "--save"], standalone_mode=False)
    scores = scored(place, drawn(FRESH))
    write_run(folder, place, {"scores": scores})
    recipe = read_recipe(read_toml(place / "recipe.toml"))
    text = TEMPLATE.format(
        hidden=recipe.model["hidden"], parameters=sum(one.numel() for one in translator(place).model.parameters()),
        sets=", ".join(drawn(FRESH).values()), fresh=FRESH, rows=score_rows(scores),
    )  # fmt: skip
    (place / "README.md").write_text(text, encoding="utf-8")
    print(f"{place}: {sum(path.stat().st_size for path in place.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
