"""The page Training: curves and samples as the log has them, and one sentence's attention at each checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.lens.analysis.subject import open_subject
from tests.browser.studio.screen import Screen
from tests.studio_cases import CAT, step_row

FRENCH = "Le chat dort."
SITE = "decoder.2.cross"


def opened(screen: Screen, **params: Any) -> None:
    screen.open("training", **({"run": "half"} | params))
    screen.page.wait_for_selector("[data-step-shown]")


def rows(screen: Screen, panel: str, folder: Path) -> list[dict[str, Any]]:
    """The table of a panel, by its menu."""
    found: list[dict[str, Any]] = json.loads(saved(screen, panel, "Table, JSON", folder))
    return found


def saved(screen: Screen, panel: str, kind: str, folder: Path) -> str:
    section = screen.page.locator("section.panel").filter(has=screen.page.get_by_role("heading", name=panel))
    section.locator("summary").click()
    with screen.page.expect_download() as loading:
        section.get_by_role("button", name=kind).click()
    file = folder / "saved"
    loading.value.save_as(file)
    return file.read_text(encoding="utf-8")


def test_a_run_that_is_going_on_is_what_the_page_opens_with(screen: Screen, tmp_path: Path) -> None:
    screen.open("training")
    screen.page.wait_for_selector("[data-best]")
    assert screen.page.get_by_label("Run").input_value() == "half"
    assert screen.text("[data-best]") == "12.5 BLEU"
    found = rows(screen, "Loss", tmp_path)
    assert [(row["step"], row["value"]) for row in found if row["series"] == "loss"][:3] == [
        (10, 10),
        (20, 5),
        (40, 2.5),
    ]
    found = rows(screen, "Validation scores", tmp_path)
    assert [(row["series"], row["step"], row["value"]) for row in found] == [
        ("valid bleu", 20, 12.5), ("valid bleu", 40, 11.0),
    ]  # fmt: skip


def test_it_grows_while_it_is_watched(screen: Screen, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    opened(screen)
    (log,) = tmp_path_factory.getbasetemp().glob("browsed[0-9]*/runs/half/log.jsonl")
    kept = log.read_text(encoding="utf-8")
    try:
        log.write_text(kept + json.dumps(step_row(4000)) + "\n", encoding="utf-8")
        screen.page.wait_for_selector("text=step 4,000 of 40")
        found = rows(screen, "Loss", tmp_path)
        assert {"series": "loss", "step": 4000, "value": 0.025} in found
    finally:
        log.write_text(kept, encoding="utf-8")


def test_a_picture_of_curves_says_which_is_which(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    picture = saved(screen, "Loss", "Picture, SVG", tmp_path)
    assert ">training</text>" in picture
    assert ">validation</text>" in picture


def test_samples_over_time_are_text(screen: Screen) -> None:
    opened(screen)
    told = screen.page.locator("section.panel ol li p").all_inner_texts()
    assert [line.strip() for line in told] == ["<b>20</b>", "<b>40</b>", FRENCH]
    assert screen.page.locator("main ol b").count() == 0


def test_the_attention_of_a_sentence_at_each_checkpoint(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    seen = open_subject("grammar", "cpu").see(CAT, FRENCH)
    now = seen.weights(SITE)[:].mean(0)
    found = rows(screen, "Where it looked at step 20", tmp_path)
    shown = torch.tensor([list(row.values())[1:] for row in found], dtype=torch.float64)
    torch.testing.assert_close(shown, now.double(), atol=1e-6, rtol=0)
    screen.page.get_by_label("Checkpoint").press("Home")
    screen.page.wait_for_selector("[data-step-shown='10']")
    assert screen.params()["step"] == "10"
    found = rows(screen, "Where it looked at step 10", tmp_path)
    then = torch.tensor([list(row.values())[1:] for row in found], dtype=torch.float64)
    assert not torch.allclose(then, now.double(), atol=1e-3)  # the checkpoint has half the weights
    torch.testing.assert_close(then.sum(-1), torch.ones(len(then), dtype=torch.float64), atol=1e-5, rtol=0)
    screen.page.get_by_label("Checkpoint").press("End")
    screen.page.wait_for_selector("[data-step-shown='20']")
    screen.page.get_by_label("Head").select_option("3")
    found = rows(screen, "Where it looked at step 20", tmp_path)
    shown = torch.tensor([list(row.values())[1:] for row in found], dtype=torch.float64)
    torch.testing.assert_close(shown, seen.weights(SITE, 3)[:].double(), atol=1e-6, rtol=0)


def test_another_sentence(screen: Screen) -> None:
    opened(screen, step=20)
    screen.page.get_by_role("textbox", name="Sentence").fill("The dog <script>")
    screen.page.wait_for_selector("text=It says")
    assert screen.params()["text"] == "The dog <script>"
    assert screen.page.locator("main script").count() == 0


def test_the_run_that_ships_and_how_to_start_one(screen: Screen) -> None:
    opened(screen)
    screen.page.get_by_label("Run").select_option("grammar")
    screen.page.wait_for_selector("text=step 8,000 of 8,000")
    screen.page.wait_for_selector("text=Kept are the best weights alone")
    assert screen.params() == {"run": "grammar"}
    screen.page.go_back()
    screen.page.wait_for_selector("text=step 40 of 40")


def test_what_ships_is_followed_from_its_first_weights(newcomer: Screen, tmp_path: Path) -> None:
    """After a fresh clone there is something to slide over: before it had learned anything, and after."""
    newcomer.open("training", run="grammar")
    newcomer.page.wait_for_selector("[data-step-shown='6000']")
    newcomer.page.get_by_label("Checkpoint").press("Home")
    newcomer.page.wait_for_selector("[data-step-shown='0']")
    then = rows(newcomer, "Where it looked at step 0", tmp_path)
    newcomer.page.get_by_label("Checkpoint").press("End")
    newcomer.page.wait_for_selector("[data-step-shown='6000']")
    now = rows(newcomer, "Where it looked at step 6,000", tmp_path)
    strongest = [max(max(list(row.values())[1:]) for row in found) for found in (then, now)]
    assert strongest[0] < 0.6 < 0.9 < strongest[1]


def test_a_run_whose_time_was_up_is_finished(screen: Screen) -> None:
    screen.open("training", run="en-fr")
    screen.page.get_by_text("at step 23,585; up to 35,659 were planned").wait_for()
    assert screen.page.get_by_role("progressbar").get_attribute("aria-valuenow") == "100"


def test_a_folder_without_runs_says_how_to_begin(screen: Screen) -> None:
    def nothing(route: Any) -> None:
        route.fulfill(json=[])

    screen.page.route("**/api/runs", nothing)
    screen.page.route("**/api/studio", lambda route: route.fulfill(json=route.fetch().json() | {"runs": []}))
    screen.open("training")
    screen.page.wait_for_selector("text=Train one of your own")
    assert "regard train grammar-tiny --out runs/first" in screen.text("main")
    assert "regard studio --data runs" in screen.text("main")


def test_a_run_that_is_not_there_is_said(screen: Screen) -> None:
    screen.open("training", run="nowhere")
    screen.page.wait_for_selector("text=The run could not be read")
    screen.page.get_by_label("Run").select_option("half")
    screen.page.wait_for_selector("[data-best]")
    screen.complaints.clear()  # the browser notes the 404


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_used_by_everybody(screen: Screen, theme: str) -> None:
    """axe-core has nothing to say, on a screen and on a phone, in both languages."""
    screen.open("training", lang="fr" if theme == "dark" else "en", theme=theme, run="half")
    screen.page.wait_for_selector("[data-step-shown]")
    assert screen.violations() == []
    screen.phone()
    assert screen.violations() == []
    assert screen.overflow() == 0
