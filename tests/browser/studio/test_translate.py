"""The page Translate by typing and clicking: its words, probabilities and weights are those of the Python API."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.lens.analysis.subject import Subject, open_subject
from regard.tasks import Translator
from tests.browser.studio.screen import Screen
from tests.studio_cases import CAT, TIRED

SITE = "decoder.2.cross"  # where `grammar` aligns words: all heads, averaged


@cache
def subject() -> Subject:
    return open_subject("grammar", "cpu")


@cache
def translator() -> Translator:
    task = regard.load("grammar", "cpu")
    assert isinstance(task, Translator)
    return task


@torch.no_grad()
def probabilities(text: str, output: str) -> list[float]:
    """Of each token of an output, by the model alone."""
    (source,), (target,) = subject().encoded([text]), subject().forced([output])
    logits = translator().model(torch.tensor([source]), torch.tensor([target[:-1]]))
    shares = logits.softmax(-1)[0].gather(-1, torch.tensor(target[1:])[:, None])[:, 0]
    return [float(share) for share in shares]


def percent(share: float) -> str:
    """As the page writes it: two digits; what is nearly certain keeps its decimals."""
    assert 1e-6 < share < 0.995
    return f"{float(f'{100 * share:.2g}'):.10g}%"


def until(screen: Screen, true: str) -> None:
    """Wait for an expression; the page's own policy lets no text be run in it again and again."""
    end = time.monotonic() + 15
    while not screen.page.evaluate(true):
        assert time.monotonic() < end, f"never true: {true}; shown: {screen.text('main')[:400]}"
        screen.page.wait_for_timeout(50)


def says(screen: Screen, output: str) -> None:
    """Wait until the translation is this one, with all that goes with it."""
    until(screen, f"document.querySelector('.output .said')?.innerText === {json.dumps(output)}")
    ready(screen)


def ready(screen: Screen) -> None:
    until(
        screen,
        "!document.querySelector('.output[aria-busy=true]') && "
        "Boolean(document.querySelector('[data-reading=source]')?.textContent)",
    )


def opened(screen: Screen, **params: Any) -> None:
    screen.open("translate", **({"model": "grammar", "text": CAT} | params))
    ready(screen)


def saved(screen: Screen, panel: str, kind: str, folder: Path) -> Path:
    """What a panel's menu gives."""
    section = screen.page.locator("section.panel").filter(has=screen.page.get_by_role("heading", name=panel))
    section.locator("summary").click()
    with screen.page.expect_download() as loading:
        section.get_by_role("button", name=kind).click()
    file = folder / loading.value.suggested_filename
    loading.value.save_as(file)
    return file


def rows(screen: Screen, panel: str, folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(saved(screen, panel, "Table, JSON", folder).read_text(encoding="utf-8"))
    return found


def test_typing_a_sentence_and_reading_its_translation(screen: Screen) -> None:
    screen.open("translate", model="grammar")
    screen.page.get_by_label("English").fill(CAT)
    output = translator().translate([CAT])[0]
    says(screen, output)
    assert screen.page.locator(".sentence .number").all_inner_texts() == [
        percent(share) for share in probabilities(CAT, output)
    ]
    assert screen.params()["text"] == CAT
    screen.page.reload()
    ready(screen)
    assert screen.page.get_by_label("English").input_value() == CAT


def test_walking_the_steps_shows_what_each_looked_at(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    seen = subject().see(CAT)
    cross, own = (seen.weights(site)[:].mean(0) for site in (SITE, "decoder.2.self"))
    screen.page.get_by_label("Step", exact=True).press("Home")
    for step, word in enumerate(["Le", "chat", "d"]):
        assert screen.text(".player .now").split("\n")[-1].endswith(word)
        assert screen.params()["step"] == str(step + 1)
        found = rows(screen, f"Step {step + 1}: what “{word}” came from", tmp_path)
        shown = {side: [row["weight"] for row in found if row["side"] == side] for side in ("source", "target")}
        assert shown["source"] == pytest.approx(cross[step].tolist(), abs=1e-6)
        assert shown["target"] == pytest.approx(own[step, : step + 1].tolist(), abs=1e-6)
        best = int(cross[step].argmax())
        told = screen.text("[data-reading=source]").split(" · ")[0]
        assert told == f"{str(seen.tokens[best]).strip()} {percent(float(cross[step, best]))}"
        screen.button("One step on").click()


def test_another_head_and_layer(screen: Screen, tmp_path: Path) -> None:
    opened(screen, step=2)
    seen = subject().see(CAT)
    screen.page.get_by_label("Layer").select_option("1")
    screen.page.get_by_label("Head, source").select_option("3")
    row = seen.weights("decoder.1.cross", 3)[1]
    screen.shows("[data-reading=source]", f"{str(seen.tokens[int(row.argmax())]).strip()} {percent(float(row.max()))}")
    found = rows(screen, "Step 2: what “chat” came from", tmp_path)
    weights = [row["weight"] for row in found if row["side"] == "source"]
    assert weights == pytest.approx(row.tolist(), abs=1e-6)
    assert {"layer": "1", "head": "3"}.items() <= screen.params().items()
    screen.page.get_by_text("Matrix", exact=True).click()
    lines = rows(screen, "Who looked at whom", tmp_path)
    assert len(lines) == len(seen.tokens)
    assert list(lines[1].values())[1:] == pytest.approx(weights, abs=1e-9)


def test_the_beams_are_a_tree_with_what_was_given_up(screen: Screen, tmp_path: Path) -> None:
    opened(screen, text=TIRED)
    found = rows(screen, "Beams: what it thought of", tmp_path)
    best = translator().search([TIRED], beams=4)[0][0]
    path = [row for row in found if row["output"] == "true"]
    assert len(path) == best.tokens
    assert path[-1]["total_logprob"] == pytest.approx(best.log_probability, rel=1e-3, abs=1e-4)
    assert len([row for row in found if row["kept"] == "false"]) > len(path)
    assert screen.page.locator("g.node").count() == len(found)
    assert screen.page.locator("g.node.best .share").all_text_contents() == [
        percent(row["probability"]) for row in path
    ]
    screen.page.get_by_text("Show given up").click()
    assert screen.page.locator("g.node").count() == len([row for row in found if row["kept"] == "true"])
    # By keyboard: to a text that was given up, and on from there.
    screen.page.get_by_text("Show given up").click()
    screen.find("div.scroll[role=application]").focus()
    screen.page.keyboard.press("ArrowDown")
    node = next(row for row in found if row["id"] == int(screen.params()["node"]))
    assert node["output"] == "false"
    screen.page.keyboard.press("Enter")
    until(screen, "location.hash.includes('prefix=') && document.querySelectorAll('.sentence .forced').length === 1")
    ready(screen)
    assert screen.params()["prefix"].split(",")[-1] == str(node["token_id"])
    assert screen.page.locator(".sentence .forced").count() == 1


def test_forcing_another_word_and_taking_it_back(screen: Screen) -> None:
    opened(screen, step=3)
    before = screen.text(".output .said")
    choices = screen.page.locator("section.panel").filter(has=screen.page.get_by_role("heading", name="Instead of “d”"))
    other = choices.get_by_role("button").filter(has_text="dormir").first
    chance = other.locator(".number").inner_text()
    other.click()
    until(screen, "document.querySelector('.output .said').innerText.startsWith('Le chat dormir')")
    ready(screen)
    after = screen.text(".output .said")
    shares = probabilities(CAT, after)
    assert screen.page.locator(".sentence .number").all_inner_texts() == [percent(share) for share in shares]
    assert percent(shares[2]) == chance
    address = screen.page.url
    screen.page.get_by_role("button", name="Undo the forced word").first.click()
    says(screen, before)
    screen.page.go_back()
    says(screen, after)
    screen.page.goto("about:blank")
    screen.page.goto(address)  # somebody else opens the link
    ready(screen)
    assert screen.text(".output .said") == after
    screen.page.get_by_role("button", name="Undo the forced word").first.click()
    says(screen, before)


def test_playing_walks_by_itself_unless_motion_is_unwelcome(screen: Screen) -> None:
    opened(screen)
    assert screen.page.get_by_role("button", name="Play", exact=True).count() == 0
    screen.page.emulate_media(reduced_motion="no-preference")
    screen.page.reload()
    ready(screen)
    screen.button("Play").click()
    until(screen, "/step=3/.test(location.hash)")
    screen.button("Pause").click()
    at = screen.params()["step"]
    screen.page.wait_for_timeout(1500)
    assert screen.params()["step"] == at


def test_what_2014_2015_and_2017_could_look_at(screen: Screen, tmp_path: Path) -> None:
    opened(screen, step=2)
    found = rows(screen, "2014, 2015, 2017", tmp_path)
    cross = subject().see(CAT).weights(SITE)[:].mean(0)[1]
    assert [row["weight"] for row in found if row["year"] == "2017"] == pytest.approx(cross.tolist(), abs=1e-6)
    assert all(row["weight"] is None for row in found if row["year"] == "2014")
    assert {row["model"] for row in found if row["year"] == "2015"} == {"grammar-rnn"}  # the one that ships
    recurrent = open_subject("grammar-rnn", "cpu").see(CAT, "Le chat dort.")  # made to say what the other said
    additive = recurrent.weights(recurrent.sites[-1])[:].mean(0)[1]
    shown = [row["weight"] for row in found if row["year"] == "2015"]
    assert shown == pytest.approx(additive.tolist(), abs=1e-6)
    svg = saved(screen, "2014, 2015, 2017", "Picture, SVG", tmp_path).read_text(encoding="utf-8")
    assert svg.count("<svg") == 4
    assert saved(screen, "Beams: what it thought of", "Picture, PNG", tmp_path).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "שלום עולם", "a\u200bb \u202eevil", "x" * 10_000])
def test_hostile_texts_are_texts(screen: Screen, text: str) -> None:
    screen.open("translate", model="grammar")
    screen.page.get_by_label("English").fill(text)
    until(screen, "new URLSearchParams(location.hash.split('?')[1]).get('text')?.length >= 7")
    until(
        screen,
        "!document.querySelector('[aria-busy=true]') && "
        "Boolean(document.querySelector('[role=alert]') || document.querySelector('[data-reading=source]'))",
    )
    assert screen.page.locator("main script").count() == 0
    assert screen.overflow() == 0
    screen.complaints[:] = [one for one in screen.complaints if "413" not in one]  # too long is said, with its status


def test_what_cannot_be_done_is_said(screen: Screen) -> None:
    screen.open("translate", model="no-such-model")
    screen.button("Take another").click()
    ready(screen)
    assert screen.params().get("model") is None
    screen.page.get_by_label("English").fill("")
    screen.page.wait_for_selector("text=The translation appears here.")
    screen.page.route("**/api/searches", lambda route: route.abort())
    screen.page.get_by_label("English").fill("The cat")
    screen.page.wait_for_selector("text=This could not be translated")
    screen.counts(".player", 0)  # the steps of what was translated before are not those of this text
    screen.counts(".said", 0)  # nor is its translation
    screen.page.get_by_label("English").fill("")
    screen.page.wait_for_selector("text=This could not be translated", state="detached")
    screen.page.get_by_label("English").fill("The cat sleeps")
    screen.page.wait_for_selector("text=This could not be translated")
    screen.page.unroute("**/api/searches")
    screen.button("Try again").click()
    ready(screen)
    screen.complaints.clear()  # the browser notes each request that failed


PLACES: dict[str, dict[str, Any]] = {"whole": {}, "step": {"step": 3, "view": "matrix", "head": "strongest"}}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", PLACES)
def test_it_can_be_used_by_everybody(screen: Screen, place: str, theme: str) -> None:
    """axe-core has nothing to say, on a screen and on a phone, in both languages."""
    text = {"text": TIRED, "model": "grammar"} | PLACES[place]
    screen.open("translate", lang="fr" if theme == "dark" else "en", theme=theme, **text)
    screen.page.wait_for_selector("[data-reading=source]:not(:empty)")
    assert screen.violations() == []
    screen.phone()
    assert screen.violations() == []
    assert screen.overflow() == 0
