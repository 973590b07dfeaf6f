"""What is known of a model that is exported, and how others load it: for its card, and for who exported it."""

from __future__ import annotations

from pathlib import Path

from regard.interop.folders import read_json, shipped
from regard.interop.model_card import CardFacts, without_front_matter
from regard.tasks.long_texts import recipe_of
from regard.tasks.model_folder import ModelFolder

HUGGINGFACE = """from transformers import {loads}, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({folder!r})
model = {loads}.from_pretrained({folder!r})"""
CTRANSLATE2 = """import ctranslate2, tokenizers
source = tokenizers.Tokenizer.from_file({folder!r} + "/tokenizer.json")
target = tokenizers.Tokenizer.from_file({folder!r} + "/{target}")
translator = ctranslate2.Translator({folder!r})
result = translator.translate_batch([source.encode("The cat sleeps.").tokens], beam_size=4)[0]
text = target.decode([target.token_to_id(token) for token in result.hypotheses[0]])"""
ONNX = """import json, numpy, onnxruntime, tokenizers
from pathlib import Path
folder = {folder!r}
config = json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))["transformer"]
source, target = (tokenizers.Tokenizer.from_file(folder + "/" + name) for name in ("tokenizer.json", "{target}"))
encoder, decoder = (onnxruntime.InferenceSession(folder + name) for name in ("/encoder.onnx", "/decoder.onnx"))
ids = numpy.array([source.encode("The cat sleeps.").ids])
mask = numpy.ones(ids.shape, bool)
names = [kind + str(layer) for layer in range(config["decoder_layers"]) for kind in ("_key_", "_value_")]
read = encoder.run(None, dict(source_ids=ids, source_mask=mask))
cross = dict(zip(["cross" + name for name in names], read))
past = dict.fromkeys(["past" + name for name in names],
                     numpy.zeros((1, config["heads"], 0, config["dim"] // config["heads"]), numpy.float32))
written = [config["start"]]
while written[-1] != config["end"] and len(written) < 256:
    step = dict(target_ids=numpy.array([written[-1:]]), source_mask=mask)
    logits, *present = decoder.run(None, {{**step, **past, **cross}})
    past = dict(zip(past, present))
    written.append(int(logits[0, -1].argmax()))
text = target.decode(written)"""
USAGE = {"huggingface": HUGGINGFACE, "ctranslate2": CTRANSLATE2, "onnx": ONNX}


def usage(format_name: str, loads: str, folder: Path | str, *, paired: bool) -> str:
    """Lines of Python that load the folder, and translate with it where that takes more than a call."""
    target = "tokenizer.target.json" if paired else "tokenizer.json"
    return USAGE[format_name].format(loads=loads, folder=str(folder), target=target)


def facts_of(source: ModelFolder, name: str) -> CardFacts:
    """From recipe.toml, run.json and README.md beside the model, as far as they are there."""
    folder = source.folder
    data = recipe_of(folder).get("data", {})
    languages = data.get("languages", ()) if isinstance(data, dict) else ()
    scores = {
        key: {metric: value for metric, value in row.items() if isinstance(value, (int, float))}
        for key, row in read_json(folder / "run.json").get("scores", {}).items()
    }
    readme = folder / "README.md"
    text, licence = without_front_matter(
        readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    )
    ships = folder.resolve() in {path.resolve() for path in shipped().values()}
    return CardFacts(
        name, source.model.config.to_dict(), tuple(map(str, languages)),
        licence or ("apache-2.0" if ships else "unknown"), scores, text,
    )  # fmt: skip
