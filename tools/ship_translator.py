"""`python -m tools.ship_translator FOLDER`: a trained translator made ready to ship, as `pretrained/en-fr` or `fr-en`.

Weights in 8 bits, tokenizer, recipe, and of the log what a reader wants: every validation and a few dozen steps. The
card is written afterwards, by `tools.card`, from the scores of what lies here then.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.errors import FileError
from regard.interop.folders import languages_of, read_json
from regard.tasks.weight_storage import store
from regard.training.recipe.recipe import read_recipe, read_toml
from tools.ship import PLACE, copy_log

KEPT = ("status", "regard", "corpus", "threads", "step", "seconds", "scores", "why")  # of run.json


def ship(folder: Path, place: Path) -> Path:
    """The folder `place` / LANGUAGES with what the package carries."""
    languages = languages_of(folder)
    if languages is None:
        raise FileError(f"{folder} does not say its languages", found="no data.languages", do="give a translator")
    target = place / "-".join(languages)
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        small = store(folder, Path(temporary) / "small").folder
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            shutil.move(small / name, target / name)
    copy_log(folder, target)
    recipe, run = read_recipe(read_toml(folder / "recipe.toml")), read_json(folder / "run.json")
    training = recipe.training.model_copy(update={"steps": run["step"]})  # as many as the time had room for
    (target / "recipe.toml").write_text(recipe.model_copy(update={"training": training}).to_toml(), encoding="utf-8")
    kept = {key: value for key, value in run.items() if key in KEPT}
    (target / "run.json").write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--place", type=Path, default=PLACE, help="where it goes; by default into the package")
    given = parser.parse_args()
    print(f"wrote {ship(given.folder, given.place)}")


if __name__ == "__main__":
    main()
