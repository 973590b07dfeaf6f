"""The model at work: searches beside decoding's own, effects beside `regard.intervene`, vectors beside the blocks'."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

import regard
from regard.tasks import Generator, Translator
from tests.studio_cases import CAT, TIRED, WORDS, close, get, look, post, sentence

SITE, HEAD = "decoder.1.cross", 3


@pytest.fixture(scope="module")
def translator() -> Translator:
    task = regard.load("grammar", "cpu")
    assert isinstance(task, Translator)
    return task


@pytest.mark.parametrize("beams", [1, 3, 5])
def test_the_tree_of_a_search_holds_what_the_search_finds(
    client: TestClient, translator: Translator, beams: int
) -> None:
    found = post(client, "searches", model="grammar", text=TIRED, beams=beams)
    best = translator.search([TIRED], beams=beams)[0][0]
    assert (found["output"], len(found["ids"])) == (best.text, best.tokens)
    candidates = {one["id"]: one for step in found["steps"] for one in step["candidates"]}
    path = [candidates[number] for number in found["path"]]
    assert [one["token_id"] for one in path] == found["ids"]
    assert [one["parent"] for one in path] == [None, *found["path"][:-1]]
    assert (found["path"][-1], path[-1]["finished"]) == (found["best"], True)
    assert path[-1]["total"] == pytest.approx(best.log_probability, rel=1e-3, abs=1e-4)
    assert path[-1]["total"] == pytest.approx(sum(one["logprob"] for one in path), rel=1e-3, abs=1e-4)
    for step in found["steps"]:
        assert len(step["candidates"]) >= 2 * beams or step is found["steps"][0]
        assert sum(one["kept"] and not one["finished"] for one in step["candidates"]) <= beams
        totals = [one["total"] for one in step["candidates"]]
        assert totals == sorted(totals, reverse=True)
        for one in step["candidates"]:
            assert one["parent"] is None or candidates[one["parent"]]["kept"]
    assert [top[0]["token_id"] for top in found["top"]] == found["ids"]


def test_a_search_goes_on_from_what_is_forced(client: TestClient) -> None:
    free = post(client, "searches", model="grammar", text=CAT, beams=3)
    other = free["top"][0][1]
    forced = post(client, "searches", model="grammar", text=CAT, beams=3, prefix=[other["token_id"]])
    assert forced["ids"][0] == other["token_id"] != free["ids"][0]
    assert forced["steps"][0]["candidates"][0]["logprob"] == pytest.approx(
        float(torch.tensor(other["probability"]).log()), rel=1e-3
    )
    later = [{"step": 1, "token_id": other["token_id"]}]
    assert post(client, "searches", model="grammar", text=CAT, forced=later)["ids"][1] == other["token_id"]
    shown = look(client, CAT, target_ids=forced["ids"])
    assert (shown["output"], shown["written"]) == (forced["output"], forced["tokens"])


def test_words_that_are_typed_become_what_the_model_would_write_them_with(client: TestClient) -> None:
    found = post(client, "searches", model="grammar", text=CAT)
    le, chat = found["ids"][:2]
    typed = post(client, "typed", model="grammar", words="chien", prefix=[le], instead=chat)
    assert (typed["ids"][: typed["unchanged"]], [part.strip() for part in typed["tokens"]]) == ([le], ["chien"])
    forced = post(client, "searches", model="grammar", text=CAT, prefix=typed["ids"])
    assert forced["output"].startswith("Le chien ")
    first = post(client, "typed", model="grammar", words="Un", instead=le)
    assert post(client, "searches", model="grammar", text=CAT, prefix=first["ids"])["output"].startswith("Un ")


def test_words_inside_of_a_word_and_signs_are_glued_to_what_stands_there(
    client: TestClient, translator: Translator
) -> None:
    whole = translator.tokenizer.encode(["Le chat dort."])[0]
    ids = [number for number in whole if translator.tokenizer.decode([number]).strip()]

    def written(words: str, before: int, instead: int | None = None) -> str:
        typed = post(client, "typed", model="grammar", words=words, prefix=ids[:before], instead=instead)
        return translator.tokenizer.decode(typed["ids"])

    assert written("mange", 2, ids[2]) == "Le chat mange"
    assert written(", ici", 2, ids[2]) == "Le chat, ici"
    (elided,) = translator.tokenizer.encode(["L'animal"])
    named = [number for number in elided if translator.tokenizer.decode([number]).strip()]
    typed = post(client, "typed", model="grammar", words="oiseau", prefix=named[:-1], instead=named[-1])
    assert translator.tokenizer.decode(typed["ids"]) == "L'oiseau"


REFUSED_WORDS: list[tuple[dict[str, Any], str]] = [
    ({"model": "grammar", "words": "  "}, "at least one word"),
    ({"model": "grammar", "words": "chien", "prefix": [999_999]}, "There is no token 999999"),
    ({"model": "decoder", "words": "dog"}, "this model is none"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED_WORDS, ids=[said for _, said in REFUSED_WORDS])
def test_words_that_cannot_be_put_there_are_refused(client: TestClient, asked: dict[str, Any], said: str) -> None:
    answer = client.post("/api/typed", json=asked)
    assert (answer.status_code, said in answer.json()["error"]) == (400, True)


def test_models_that_go_on_are_searched_too(client: TestClient) -> None:
    found = post(client, "searches", model="decoder", text=WORDS, beams=2)
    folder = client.app.state.studio.catalogue.models["decoder"].folder  # type: ignore[attr-defined]
    generator = regard.load(folder, "cpu")
    assert isinstance(generator, Generator)
    greedy = post(client, "searches", model="decoder", text=WORDS, beams=1)
    assert greedy["ids"] == list(generator.go_on([WORDS], 40)[0].new)
    assert found["steps"]
    assert "no layers" not in post(client, "searches", model="recurrent-attention", text=WORDS)["output"]


CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "silence"}, {"silence": (SITE, HEAD)}),
    ({"kind": "sharpen", "factor": 4.0}, {"sharpen": (SITE, HEAD, None, 4.0)}),
    ({"kind": "pin", "row": 10, "column": 5}, {"pin": (SITE, HEAD, 10, 5)}),
    ({"kind": "forbid", "column": 11}, {"forbid": (SITE, HEAD, None, 11)}),
]


@pytest.mark.parametrize(("change", "options"), CHANGES, ids=[change["kind"] for change, _ in CHANGES])
def test_effects_are_those_of_intervene(
    client: TestClient, translator: Translator, change: dict[str, Any], options: dict[str, Any]
) -> None:
    found = look(client)
    changes = [{"site": SITE, "head": HEAD, **change}]
    effect = post(client, "effects", look=found["id"], changes=changes)
    assert effect["before"]["output"] == found["output"]
    with regard.intervene(translator, **options):
        assert effect["after"]["output"] == translator.translate([TIRED])[0]
        after = probabilities(client, translator, found["id"])
    before = probabilities(client, translator, found["id"])
    close(effect["before"]["probabilities"], before)
    close([one["before"] for one in effect["kept"]], before)
    close([one["after"] for one in effect["kept"]], after)
    assert [one["token"] for one in effect["kept"]] == effect["before"]["tokens"] == found["written"]


def probabilities(client: TestClient, translator: Translator, number: str) -> torch.Tensor:
    """Of each token of a look's target, teacher-forced."""
    kept = client.app.state.studio.looks.get(number)  # type: ignore[attr-defined]
    source, target = torch.tensor([kept.source_ids]), torch.tensor([kept.target_ids])
    with torch.no_grad():
        shares = translator.model(source, target[:, :-1]).softmax(-1)
    return shares[0].gather(-1, target[0, 1:, None])[:, 0]


def test_no_change_changes_nothing(client: TestClient) -> None:
    effect = post(client, "effects", look=look(client)["id"], changes=[])
    assert effect["before"] == effect["after"]
    for model in ("decoder", "llama", "encoder-class", "encoder-mask"):
        found = look(client, WORDS, model)
        silent = [{"site": found["sites"][0]["site"], "kind": "silence"}]
        same = post(client, "effects", look=found["id"], changes=[])
        other = post(client, "effects", look=found["id"], changes=silent)
        assert same["before"] == same["after"] == other["before"]
        assert other["after"]["probabilities"] != other["before"]["probabilities"]


def test_the_head_that_the_pronoun_hangs_on_has_the_largest_effect(client: TestClient) -> None:
    found = look(client)
    table = get(client, f"looks/{found['id']}/effects")
    heads = sum(one["heads"] for one in found["sites"])
    assert len(table["rows"]) == heads
    worst = min(table["rows"], key=lambda row: row["effect"])
    effect = post(client, "effects", look=found["id"], changes=[{**pick(worst), "kind": "silence"}])
    logs = [torch.tensor([one[when] for one in effect["kept"]]).log().mean() for when in ("before", "after")]
    assert table["baseline"] == pytest.approx(float(logs[0]), rel=1e-3, abs=1e-5)
    close(worst["by_token"], torch.tensor([one["after"] / one["before"] for one in effect["kept"]]).log())
    assert table["tokens"] == found["written"]
    pronoun = found["written"].index("il")
    assert pick(min(table["rows"], key=lambda row: row["by_token"][pronoun])) == {"site": SITE, "head": HEAD}
    assert worst["effect"] == pytest.approx(float(logs[1] - logs[0]), rel=1e-2, abs=1e-4)


def pick(row: dict[str, Any]) -> dict[str, Any]:
    return {"site": row["site"], "head": row["head"]}


def test_the_same_word_in_two_texts_is_compared_layer_by_layer(client: TestClient, translator: Translator) -> None:
    texts = ["The cat sleeps.", "The cat does not sleep."]
    looks = [look(client, text) for text in texts]
    sides = [{"look": one["id"], "position": 1} for one in looks]
    found = post(client, "similarity", left=sides[0], right=sides[1])
    assert (found["left"], found["right"]) == (" cat", " cat")
    assert [layer["name"] for layer in found["layers"]] == ["embedding", "layer 1", "layer 2"]
    assert found["layers"][0]["cosine"] == pytest.approx(1.0, abs=1e-5)
    assert [layer["cosine"] < 0.9999 for layer in found["layers"][1:]] == [True, True]
    same = post(client, "similarity", left=sides[0], right=sides[0])
    assert all(layer["distance"] == 0 for layer in same["layers"])
    written = {"look": looks[0]["id"], "side": "target", "position": 2}
    assert len(post(client, "similarity", left=written, right=written)["layers"]) == 4
    first = [post(client, "similarity", left=one, right=one) for one in words(client)]
    assert all(len(one["layers"]) == 3 for one in first)


def words(client: TestClient) -> list[dict[str, Any]]:
    return [{"look": look(client, WORDS, model)["id"], "position": 0} for model in ("decoder", "llama")]


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"site": "nowhere", "kind": "silence"}, 404, "no site"),
        ({"site": "decoder.*", "kind": "silence"}, 404, "no site"),
        ({"site": SITE, "head": 9, "kind": "silence"}, 404, "no head 9"),
        ({"site": SITE, "head": 0, "kind": "sharpen"}, 400, "factor"),
        ({"site": SITE, "head": 0, "kind": "pin", "row": 1}, 400, "column"),
        ({"site": SITE, "head": 0, "kind": "pin", "row": 900, "column": 1}, 400, "changed nothing"),
        ({"site": SITE, "head": 0, "kind": "explode"}, 400, "kind"),
        ({"site": SITE, "head": -1, "kind": "silence"}, 400, "head"),
    ],
)
def test_changes_that_cannot_be_are_said(client: TestClient, change: dict[str, Any], status: int, said: str) -> None:
    asked = {"look": look(client)["id"], "changes": [change]}
    assert said in sentence(client.post("/api/effects", json=asked), status)
    assert post(client, "effects", look=asked["look"], changes=[])["before"]["output"] == look(client)["output"]


@pytest.mark.parametrize(
    ("path", "asked", "status", "said"),
    [
        ("searches", {"model": "llama", "text": WORDS}, 400, "cannot be shown"),
        ("searches", {"model": "grammar", "text": CAT, "beams": 99}, 400, "beams"),
        ("searches", {"model": "grammar", "text": CAT, "prefix": [10**6]}, 400, "no token"),
        ("searches", {"model": "grammar", "text": CAT, "forced": [{"step": 4000, "token_id": 1}]}, 400, "no step"),
        ("searches", {"model": "nowhere", "text": CAT}, 404, "no model"),
        ("similarity", {"left": {"look": "x", "position": 0}, "right": {"look": "x", "position": 0}}, 404, "again"),
        ("effects", {"look": "x", "changes": []}, 404, "again"),
    ],
)
def test_what_cannot_be_asked_of_a_model_is_said(
    client: TestClient, path: str, asked: dict[str, Any], status: int, said: str
) -> None:
    assert said in sentence(client.post(f"/api/{path}", json=asked), status)


def test_vectors_of_models_that_differ_are_not_compared(client: TestClient) -> None:
    ends = [{"look": look(client)["id"], "position": 0}, {"look": look(client, WORDS, "decoder")["id"], "position": 0}]
    refused = client.post("/api/similarity", json={"left": ends[0], "right": ends[1]})
    assert "other layers" in sentence(refused, 400)
    beyond = client.post("/api/similarity", json={"left": ends[0], "right": {**ends[0], "position": 99}})
    assert "no token 99" in sentence(beyond, 404)
