"""The page in a real browser without a network: what it shows are the weights of the recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from hatch_build import LOOK, STUDIO
from regard.lens.draw.page import fragment, page, plan
from regard.lens.draw.page.answers import answers
from regard.lens.draw.page.payload import payload
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from regard.widget import script
from tests.browser.chromium import Chromium, program
from tests.families import FAMILIES
from tests.page_cases import named, noise

pytestmark = [
    pytest.mark.skipif(program() is None, reason="no Chromium is installed"),
    pytest.mark.skipif(not LOOK.is_file(), reason="the script that draws is not built: make studio"),
]

AXE = STUDIO / "node_modules" / "axe-core" / "axe.min.js"
CROSS = "decoder.1.cross"
CELLS = "document.querySelectorAll('.glance canvas.there').length"
LISTS = "document.querySelector('section[data-side]')"
DRAWN = f"{CELLS} && ({LISTS} || document.querySelector('.message'))"
MAPPED = "document.querySelector('[data-waiting=\"0\"]') && document.querySelector('.pair')"
ROWS = (
    "[...document.querySelectorAll('section[data-side={}] li')].map((one) => "
    "['.pair', '.place', 'b'].map((part) => one.querySelector(part).textContent.trim()))"
)
HEADING = "document.querySelector('section[data-side={}] h3').textContent.trim()"
TITLES = "[...document.querySelectorAll('section.panel .title')].map((one) => one.textContent)"
SAID = "document.querySelector('.exact').textContent"
FIGURE = "document.querySelector('.exact b').textContent"
TRUTH = "document.querySelector('.truth')"
NOTES = "[...document.querySelectorAll('main > .note')].map((one) => one.textContent).join(' ')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(autouse=True)
def quiet(browser: Chromium) -> Iterator[None]:
    """No test may end with an error in the browser, or with a request beyond the file."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.size(1280, 900)
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    yield
    assert browser.complaints == []
    assert all(address.startswith(("file:", "about:", "data:", "blob:")) for address in browser.requests)


@pytest.fixture(scope="module")
def seen() -> Recording:
    family = FAMILIES["transformer post"]
    model = family.model()
    with watch(model) as recording:
        family.run(model, family.example(lengths=(9, 4), target=8))
    return recording


def go(browser: Chromium, folder: Path, made: str, address: str = "", ready: str = DRAWN) -> None:
    """Open a page at `#/heads?...`, in English."""
    file = folder / "page.html"
    file.write_text(made, encoding="utf-8")
    browser.call("Page.navigate", url="about:blank")
    browser.open(f"{file.as_uri()}?lang=en{address}", ready)


def frame(browser: Chromium) -> None:
    """What was asked for is drawn in the next frame."""
    browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def params(browser: Chromium) -> dict[str, str]:
    """What stands in the address, which is written a moment after what it says."""
    browser.value("new Promise((done) => setTimeout(done, 150))")
    found: dict[str, str] = browser.value("Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))")
    return found


def press_button(browser: Chromium, name: str, root: str = "document") -> None:
    """Click a button or a choice by its words."""
    clicked = browser.value(
        f"(() => {{ const all = [...{root}.querySelectorAll('button, label')];"
        f"const one = all.find((part) => [part.textContent.trim(), part.ariaLabel].includes({json.dumps(name)}));"
        f"one?.click(); return Boolean(one); }})()"
    )
    assert clicked, f"there is no {name}"
    frame(browser)


def stated(text: str) -> float:
    found = re.search(r"(\d\.\d+)(?: ± 0\.002)?$", text)
    assert found is not None, text
    return float(found[1])


def centre(browser: Chromium, expression: str) -> tuple[float, float]:
    box = browser.value(f"{expression}.getBoundingClientRect().toJSON()")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def labels(seen: Recording, site: str, row: str = "output") -> tuple[list[str], list[str]]:
    """As the page names rows and columns: a row that writes has an arrow."""
    rows, columns = ([str(token) for token in side] for side in seen.labels(site, row=row))  # type: ignore[arg-type]
    writes = row == "output" and site.startswith("decoder")
    return [f"→ {token}" if writes else token for token in rows], columns


# What is shown


def test_all_heads_are_there_with_the_badge(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    assert browser.value(CELLS) == 6 * 4
    assert browser.value("[...document.querySelectorAll('.glance .site')].map((one) => one.textContent)") == seen.sites
    badge = browser.value(f"{TRUTH}.textContent")
    for told in ("These are the weights the model used", "regard", "float32", "to 0.002", "sum to 1", "rows"):
        assert told in badge
    stamp = " ".join(browser.value(f"{TRUTH}.querySelector('summary').textContent").split())
    assert stamp == "✓ These are the weights the model used. Shown to 0.002."


@pytest.mark.parametrize("head", [0, 3])
def test_the_chosen_token_s_weights_are_those_of_the_recording(
    browser: Chromium, tmp_path: Path, seen: Recording, head: int
) -> None:
    go(browser, tmp_path, page(seen.last), f"#/heads?site={CROSS}&head={head}&row=5&column=2")
    weights = seen.weights(CROSS, head)
    rows, columns = labels(seen, CROSS)
    best = weights[5].topk(5)
    assert browser.value(ROWS.format("row")) == [
        [columns[place], str(place), f"{weight:.4f}"]
        for weight, place in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
    cold = browser.value(ROWS.format("column"))
    assert len(cold) == 5
    for token, place, told in cold:
        exact = not told.startswith("≈")
        assert token == rows[int(place)]
        assert stated(told) == pytest.approx(weights[int(place), 2].item(), abs=6e-5 if exact else 0.0025)


def test_every_cell_can_be_read(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    """Walked through by the arrow keys, to and fro."""
    go(browser, tmp_path, page(seen.last), f"#/heads?site={CROSS}&head=1&row=0&column=0&view=matrix")
    weights = seen.weights(CROSS, 1)
    rows, columns = weights.shape
    names = labels(seen, CROSS)
    browser.value("document.querySelector('.matrix .pad').focus()")
    for row in range(rows):
        there = range(columns) if row % 2 == 0 else range(columns - 1, -1, -1)
        for column in there:
            said, weight = " ".join(browser.value(SAID).split()), weights[row, column].item()
            assert said.startswith(f"{names[0][row]} ⟶ {names[1][column]} ")
            close = pytest.approx(weight, abs=0.00197 + 0.0005 if "±" in said else 6e-5)
            assert (weight < 0.00197 and "under 0.002" in said) or stated(said) == close
            if column != there[-1]:
                browser.key("ArrowRight" if row % 2 == 0 else "ArrowLeft")
        browser.key("ArrowDown")


def test_pointing_at_a_cell(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last, site=CROSS, head=1), "#/heads?view=matrix", "document.querySelector('.pad')")
    frame(browser)
    x, y = centre(browser, "document.querySelector('.matrix canvas')")
    browser.move(x, y)
    frame(browser)
    told = " ".join(browser.value(SAID).split())
    browser.click(x, y)
    picked = params(browser)
    row, column = int(picked["row"]), int(picked["column"])
    names = labels(seen, CROSS)
    assert told.startswith(f"{names[0][row]} ⟶ {names[1][column]} ")
    weight = seen.weights(CROSS, 1)[row, column].item()
    assert ("under 0.002" in told and weight < 0.00197) or stated(told) == pytest.approx(weight, abs=0.0025)


def test_what_the_mask_hides_is_said(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last), "#/heads?site=decoder.0.self&head=0&row=2&column=6&view=matrix")
    assert browser.value(FIGURE) == "may not look there"


def test_a_badge_that_is_not_true_looks_like_a_warning(browser: Chromium, tmp_path: Path) -> None:
    call = noise(1, 1, 5)
    site, one = next(iter(call.maps.items()))
    colours = f"[{TRUTH}, document.querySelector('.panel')].map((one) => getComputedStyle(one).backgroundColor)"
    go(browser, tmp_path, page(call))
    true, _ = browser.value(colours)
    go(browser, tmp_path, page(ForwardCall({site: replace(one, badge=replace(one.badge, difference=1.0))}, call.text)))
    stamp = " ".join(browser.value(f"{TRUTH}.querySelector('summary').textContent").split())
    assert stamp == "! These are not the weights the model used. Shown to 0.002."
    warned, plain = browser.value(colours)
    assert len({true, warned, plain}) == 3


@pytest.mark.parametrize("head", [0, 2])
def test_the_map_of_a_head_has_its_weights(browser: Chromium, tmp_path: Path, seen: Recording, head: int) -> None:
    """Its strongest cells, and what is read where someone points."""
    go(browser, tmp_path, page(seen.last), f"#/map?site={CROSS}&head={head}", MAPPED)
    weights, names = seen.weights(CROSS, head), labels(seen, CROSS)
    cells = "[...document.querySelectorAll('ol li')].map((one) => [...one.querySelectorAll('span, b')].slice(0, 3)"
    shown = browser.value(f"{cells}.map((part) => part.textContent))")
    expected = weights.flatten().sort(descending=True).values.tolist()[: len(shown)]
    assert len(shown) == 20
    for (pair, place, told), weight in zip(shown, expected, strict=True):
        row, column = (int(part) for part in place.split(", "))
        assert " ".join(pair.split()) == f"{names[0][row]} ⟶ {names[1][column]}"
        assert weights[row, column].item() == pytest.approx(weight, abs=0.002)
        assert stated(told) == pytest.approx(weights[row, column].item(), abs=0.0025 if "≈" in told else 6e-5)
    stage = "document.querySelector('.stage')"
    browser.value(f"{stage}.focus()")
    browser.key("ArrowRight")
    frame(browser)
    row, column = (
        int(part.split()[-1])
        for part in browser.value("[...document.querySelectorAll('.reading .where')].map((one) => one.textContent)")
        if part.startswith(("Row", "Column"))
    )
    told = browser.value("document.querySelector('.value b').textContent")
    weight = weights[row, column].item()
    assert ("under" in told and weight < 0.00197) or stated(told) == pytest.approx(weight, abs=0.0025)


# Going about


def test_keys_alone_are_enough(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    browser.value("document.querySelector('.glance button').focus()")
    for key in ("ArrowRight", "ArrowDown"):
        browser.key(key)
    assert browser.value("document.activeElement.ariaLabel") == "encoder.1.self · head 1"
    browser.value("document.activeElement.click()")
    frame(browser)
    assert "encoder.1.self · head 1" in browser.value(TITLES)
    browser.key("]")
    assert params(browser) == {"site": "encoder.1.self", "head": "2"}
    assert "encoder.1.self · head 2" in browser.value(TITLES)
    browser.value("document.querySelector('.lines [data-side=row]').focus()")
    browser.key("ArrowDown")
    browser.value("document.activeElement.click()")
    picked = params(browser)
    assert (picked["row"], "column" in picked) == ("1", True)
    browser.key("Escape")
    assert params(browser) == {"site": "encoder.1.self", "head": "2"}
    browser.value("history.back()")
    browser.wait(f"{TITLES}.includes('encoder.1.self · head 1')")


def test_all_of_it_is_in_the_address(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    press_button(browser, "decoder.0.cross · head 3")
    press_button(browser, "Scatter plot")
    browser.wait("document.querySelectorAll('.scatter .point').length > 20")
    press_button(browser, "Map")
    browser.wait(MAPPED)
    assert "decoder.0.cross · 3" in browser.value(TITLES)
    assert params(browser) == {"site": "decoder.0.cross", "head": "3", "glance": "scatter"}
    assert browser.value("location.hash").startswith("#/map?")
    browser.value("history.back()")
    browser.wait("document.querySelector('.scatter')")


def test_light_and_dark(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    ground = "getComputedStyle(document.querySelector('.look')).backgroundColor"
    light = browser.value(ground)
    picture = "document.querySelector('.glance canvas').toDataURL()"
    drawn = browser.value(picture)
    browser.media(prefers_color_scheme="dark")
    browser.wait(f"{ground} !== {json.dumps(light)}")
    assert browser.value("document.querySelector('.look').dataset.theme") == "dark"
    browser.wait(f"{picture} !== {json.dumps(drawn)}")


@pytest.mark.parametrize("address", ["", f"#/heads?site={CROSS}&head=0&row=1&view=matrix", "#/map"])
def test_a_phone_needs_no_scrolling_sideways(browser: Chromium, tmp_path: Path, seen: Recording, address: str) -> None:
    browser.size(390, 844)
    go(browser, tmp_path, page(seen.last), address, MAPPED if "map" in address else DRAWN)
    frame(browser)
    assert browser.value("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("address", ["", "#/heads?view=matrix&glance=scatter", "#/map"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anybody(
    browser: Chromium, tmp_path: Path, seen: Recording, address: str, theme: str
) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make studio")
    browser.media(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
    ready = MAPPED if "map" in address else "document.querySelector('.glance, .scatter')"
    go(browser, tmp_path, page(seen.last), address, ready)
    browser.value(AXE.read_text(encoding="utf-8") + ";0")
    found = browser.value(
        "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => "
        "violations.map((one) => `${one.id}: ${one.nodes[0].html}`))"
    )
    assert found == []


def test_it_speaks_french(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    address = browser.value("location.href").replace("lang=en", "lang=fr")
    browser.call("Page.navigate", url="about:blank")
    browser.open(address, DRAWN)
    assert "Toutes les têtes" in browser.value(TITLES)
    assert browser.value("document.querySelector('.look').lang") == "fr"


def test_no_token_breaks_it(browser: Chromium, tmp_path: Path) -> None:
    tokens = ["</script><b id=bad>x", "<!--", "שלום", "\n", "", "\u202e", "&amp;\"'", "y" * 300]
    made = page(named(noise(1, 2, len(tokens)), tokens))
    go(browser, tmp_path, made, "#/heads?site=layers.0.attn&head=1&row=0&column=7")
    shown = browser.value("[...document.querySelectorAll('.lines .row button bdi')].map((one) => one.textContent)")
    assert shown == ["</script><b id=bad>x", "<!--", "שלום", "⏎", "∅", "◌", "&amp;\"'", "y" * 48 + "…"]
    assert browser.value("document.getElementById('bad')") is None
    assert browser.value("document.documentElement.scrollWidth") <= 1280
    go(browser, tmp_path, made, "#/map?head=1", MAPPED)
    assert browser.value("document.getElementById('bad')") is None
    assert browser.value("document.documentElement.scrollWidth") <= 1280


def test_no_script_but_its_own_runs(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    """What a token, were it taken for HTML, could do: the policy forbids it."""
    go(browser, tmp_path, page(seen.last))
    browser.value(
        "(() => { for (const code of ['window.ran = 1']) { const one = document.createElement('script');"
        "one.textContent = code; document.body.append(one); } })()"
    )
    browser.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    frame(browser)
    assert browser.value("window.ran") is None
    browser.complaints.clear()  # the browser's own lines about it


def test_its_pictures_and_tables_can_be_taken_along(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last, site=CROSS, head=1))
    browser.value(
        "(() => { window.saved = []; URL.createObjectURL = (blob) => (window.saved.push(blob), 'about:blank#');"
        "HTMLAnchorElement.prototype.click = function () { window.saved.at(-1).title = this.download; }; })()"
    )
    for count, kind in enumerate(("Picture, SVG", "Picture, PNG", "Table, CSV", "Table, JSON"), start=1):
        panel = f"[...document.querySelectorAll('.panel')].find((one) => one.textContent.startsWith('{CROSS}'))"
        press_button(browser, kind, panel)
        browser.wait(f"window.saved.length === {count} && window.saved[{count - 1}].title")
    names = browser.value("window.saved.map((one) => one.title)")
    assert names == [f"decoder-1-cross-1.{kind}" for kind in ("svg", "png", "csv", "json")]
    rows = json.loads(browser.value("window.saved[3].text()"))
    weights: Tensor = seen.weights(CROSS, 1)
    assert [one["weight"] for one in rows] == pytest.approx(weights.flatten().tolist(), abs=0.00197)
    assert browser.value("window.saved[0].text()").startswith("<svg")
    assert browser.value("window.saved[1].type") == "image/png"


# Long texts, notebooks, old browsers


def read_map(browser: Chromium) -> tuple[int, int, str]:
    """The row, the column and the figure where the keyboard points."""
    frame(browser)
    places = browser.value("[...document.querySelectorAll('.reading .where')].map((one) => one.textContent)")
    row, column = (int(part.split()[-1]) for part in places if part.startswith(("Row", "Column")))
    return row, column, browser.value("document.querySelector('.value').textContent")


def test_a_pooled_cell_says_what_it_stands_for(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 40 * 40)
    call = noise(1, 1, 100, spread=4.0)
    go(browser, tmp_path, page(call), "#/map?row=13&column=22&at=13,22,24", MAPPED)
    assert "A cell is the largest of 4 × 4 weights" in browser.value(NOTES)
    browser.value("document.querySelector('.stage').focus()")
    browser.key("ArrowRight")
    row, column, said = read_map(browser)
    assert (row, column) == (13, 23)
    assert said.startswith("Largest of these 4 × 4 weights")
    words = browser.value("[...document.querySelectorAll('.reading mark')].map((one) => one.textContent)")
    assert [word.strip() for word in words] == ["word13", "word23"]
    pooled = call.tile("layers.0.attn", 0, cell=4, pool="max")[3, 5].item()
    assert "under" in said or stated(said) == pytest.approx(pooled, abs=0.0025)
    assert "pooling max of 4 x 4" in " ".join(browser.value(f"{TRUTH}.textContent").split())
    press_button(browser, "Heads")
    browser.wait("document.querySelector('.message')")
    press_button(browser, "See this head on the map")
    browser.wait(MAPPED)


def test_several_in_one_notebook(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    style = (
        "<style>canvas, button { display: none !important; } li { font-size: 99px; } html { font-size: 7px }</style>"
    )
    parts = fragment(seen.last), fragment(noise(2, 3, 5)), fragment(seen.last, site=CROSS, head=2)
    made = f"<!doctype html><meta charset=utf-8>{style}<ul><li>{'</li><li>'.join(parts)}</li></ul>"
    root = "document.querySelectorAll('.regard-look')[{}].shadowRoot"
    count = root + "?.querySelectorAll('.glance canvas.there').length"
    go(browser, tmp_path, made, ready=" && ".join(count.format(place) for place in range(3)))
    assert [browser.value(count.format(place)) for place in range(3)] == [24, 6, 24]
    shown = "getComputedStyle(document.querySelector('.regard-look').shadowRoot.querySelector('canvas')).display"
    assert browser.value(shown) != "none"
    assert browser.value(f"getComputedStyle({root.format(0)}.querySelector('.facts')).fontSize") == "14.4px"
    opened = [browser.value(f"{root.format(place)}.querySelectorAll('.title')[1].textContent") for place in range(3)]
    assert opened == ["decoder.1.cross · head 0", "layers.0.attn · head 0", "decoder.1.cross · head 2"]
    press_button(browser, "Map", root.format(0))
    browser.wait(MAPPED.replace("document", root.format(0)))
    assert browser.value(f"Boolean({root.format(1)}.querySelector('.glance'))")
    assert browser.value("location.hash") == ""


class Kernel:
    """What a notebook is to the widget: it carries questions to Python, and answers back."""

    def __init__(self, browser: Chromium, call: ForwardCall) -> None:
        self.browser, self.answer = browser, answers(call)

    def reply(self) -> list[dict[str, Any]]:
        """Answer all that was asked meanwhile; the questions."""
        frame(self.browser)
        asked: list[dict[str, Any]] = self.browser.value("window.asked.splice(0)")
        for one in asked:
            words, numbers = self.answer(one["question"])
            content = json.dumps({**words, "id": one["id"]}, allow_nan=False)
            self.browser.value(f"window.answer({content}, {json.dumps(list(memoryview(numbers).cast('f')))})")
        frame(self.browser)
        return [one["question"] for one in asked]

    def settle(self) -> list[dict[str, Any]]:
        """Until nothing more is asked."""
        asked: list[dict[str, Any]] = []
        while more := self.reply():
            asked += more
        return asked


def with_widget(call: ForwardCall, **opened: Any) -> str:
    """A page around a widget, as a notebook's front end makes one."""
    made = payload(call, **opened)
    return f"""<!doctype html><meta charset=utf-8><body><script>
{script()}
</script><script>
const heard = [];
window.asked = [];
const model = {{
  get: (name) => ({{ name: "one", description: {json.dumps(made.json)}, levels: new Uint8Array({list(made.levels)}),
                   exact: new Uint8Array({list(made.exact)}), norms: new Uint8Array({list(made.norms)}) }})[name],
  on: (name, listener) => heard.push(listener),
  send: (content) => window.asked.push(content),
}};
window.answer = (content, numbers) =>
  heard.forEach((one) => one(content, [new DataView(new Float32Array(numbers).buffer)]));
regardLook.render({{ model, el: document.body }});
window.root = document.querySelector("div").shadowRoot;
</script>"""


def in_widget(browser: Chromium, expression: str) -> Any:
    return browser.value(expression.replace("document", "window.root"))


def test_a_widget_asks_for_exact_numbers(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, with_widget(seen.last, site=CROSS, head=1), ready="window.root?.querySelector('.glance')")
    kernel = Kernel(browser, seen.last)
    where = {"site": CROSS, "head": 1}
    assert kernel.settle() == [{"what": "weights", **where, "by": "weight"}]
    browser.value("window.root.querySelectorAll('.lines [data-side=row]')[3].click()")
    column = int(seen.weights(CROSS, 1)[3].argmax())
    assert kernel.settle() == [{"what": "cell", **where, "row": 3, "column": column}]
    best = seen.weights(CROSS, 1)[3].topk(5)
    expected = [[str(place), f"{weight:.4f}"] for weight, place in zip(*map(Tensor.tolist, best), strict=True)]
    assert [row[1:] for row in in_widget(browser, ROWS.format("row"))] == expected
    told = [row[2] for row in in_widget(browser, ROWS.format("column"))]
    assert len(told) == 5
    assert not any("≈" in text or "±" in text for text in told)
    score = browser.value("window.root.querySelector('.why dd').textContent")
    facts = answers(seen.last)({"what": "cell", **where, "row": 3, "column": column})[0]["facts"]
    assert float(score.replace("−", "-")) == pytest.approx(facts["score"], abs=1e-3)
    assert "Shown to" not in browser.value("window.root.querySelector('.truth').textContent")
    assert browser.value("location.hash") == ""


def test_a_widget_of_a_long_text_asks_for_tiles(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 50 * 50)
    call = noise(1, 1, 150, spread=4.0)
    go(browser, tmp_path, with_widget(call), ready="window.root?.querySelector('.glance')")
    kernel = Kernel(browser, call)
    where = {"site": "layers.0.attn", "head": 0}
    kernel.settle()
    press_button(browser, "Map", "window.root")
    asked = kernel.settle()
    whole = {"what": "tile", **where, "rows": [0, 150], "columns": [0, 150], "size": [150, 150], "pool": "mass"}
    assert whole in asked
    assert {"what": "marginals", **where, "bins": 4096} in asked
    assert {"what": "strongest", **where, "count": 20, "all": False} in asked
    best = call.weights("layers.0.attn", 0)
    cells = in_widget(browser, "[...document.querySelectorAll('.place')].map((one) => one.textContent)")
    row, column = (int(part) for part in cells[0].split(", "))
    off = best.clone()
    off[:, 0] = 0
    off.fill_diagonal_(0)
    assert (row, column) == divmod(int(off.argmax()), 150)
    assert {"what": "cell", **where, "row": row, "column": column} in asked
    browser.value("window.root.querySelector('.stage').focus()")
    for _ in range(3):
        browser.key("+")
    kernel.settle()
    browser.key("ArrowRight")
    frame(browser)
    value = in_widget(browser, "document.querySelector('.value b').textContent")
    assert float(value.replace("−", "-")) == pytest.approx(best[row, min(149, column + 1)].item(), abs=6e-5)


def test_an_answer_that_is_an_error_is_shown(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, with_widget(seen.last, site=CROSS, head=1), ready="window.root?.querySelector('.glance')")
    browser.wait("window.asked.length")
    browser.value("window.answer({id: window.asked[0].id, error: 'the kernel has forgotten it'}, [])")
    browser.wait("window.root.textContent.includes('the kernel has forgotten it')")


# By value


BY = "document.querySelector('input[value={}]').checked"


def test_a_switch_shows_what_the_weights_bring(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last), f"#/heads?site={CROSS}&head=1&row=5&column=2&view=matrix")
    frame(browser)
    drawing = "document.querySelector('.matrix canvas').toDataURL()"
    before = browser.value(drawing)
    press_button(browser, "Weight × value")
    browser.wait(f"{drawing} !== {json.dumps(before)}")
    assert params(browser)["by"] == "value"
    largest = float(seen.last.largest_norms(CROSS, 1))
    products, tokens = seen.weights(CROSS, 1, by="value"), labels(seen, CROSS)[1]
    best = products[5].topk(5)
    for (token, place, told), product, key in zip(
        browser.value(ROWS.format("row")), best.values.tolist(), best.indices.tolist(), strict=True
    ):
        assert (token, int(place)) == (tokens[key], key)
        number = re.search(r"[\d.e-]+", told)
        assert number is not None
        assert float(number[0]) == pytest.approx(product, abs=0.0025 * largest if "≈" in told else 1e-3 * largest)
    press_button(browser, "Weight")
    browser.wait(f"{drawing} === {json.dumps(before)}")
    assert params(browser)["by"] == "weight"


def test_a_page_can_open_by_value_and_its_address_may_say_otherwise(
    browser: Chromium, tmp_path: Path, seen: Recording
) -> None:
    made = page(seen.last, by="value", site=CROSS, head=1)
    go(browser, tmp_path, made)
    products = browser.value(ROWS.format("all"))
    best = seen.weights(CROSS, 1, by="value").flatten().topk(5).values.tolist()
    largest = float(seen.last.largest_norms(CROSS, 1))
    for (_, _, told), product in zip(products, best, strict=True):
        assert float(re.findall(r"[\d.]+", told)[0]) == pytest.approx(product, abs=0.003 * largest)
    go(browser, tmp_path, made, "#/heads?by=weight")
    weights = seen.weights(CROSS, 1).flatten().topk(5).values.tolist()
    assert [stated(told) for _, _, told in browser.value(ROWS.format("all"))] == pytest.approx(weights, abs=6e-5)


def test_where_values_were_not_kept_there_is_no_switch(browser: Chromium, tmp_path: Path) -> None:
    go(browser, tmp_path, page(noise(1, 2, 8)))
    assert "Weight × value" not in browser.value("document.body.textContent")


def test_a_pooled_page_by_value_shows_the_products_it_was_made_with(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 50 * 50)
    call = noise(1, 1, 150, spread=4.0, values=True)
    products = call.tile("layers.0.attn", 0, cell=4, pool="max", by="value")
    row, column = divmod(int(products.argmax()), products.shape[1])
    places = f"row={4 * row}&column={4 * column}&at={4 * row},{4 * column},24"
    start = f"#/map?site=layers.0.attn&head=0&{places}"
    go(browser, tmp_path, page(call, by="value"), start, MAPPED)
    assert "the largest of 4 × 4 products of a weight and |v W_O|" in browser.value(NOTES)
    browser.value("document.querySelector('.stage').focus()")
    browser.key("ArrowRight")
    at_row, at_column, told = read_map(browser)
    assert (at_row // 4, at_column // 4) == (row, column)
    error = 0.003 * float(call.largest_norms("layers.0.attn", 0))
    found = re.search(r"≈ ([\d.e-]+)", told)
    assert found is not None
    assert float(found[1]) == pytest.approx(products.max().item(), abs=error)


def test_a_widget_asks_for_products(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, with_widget(seen.last, site=CROSS, head=1), ready="window.root?.querySelector('.glance')")
    kernel = Kernel(browser, seen.last)
    kernel.settle()
    press_button(browser, "Weight × value", "window.root")
    assert kernel.settle() == [{"what": "weights", "site": CROSS, "head": 1, "by": "value"}]
    best = seen.weights(CROSS, 1, by="value").flatten().topk(5)
    shown = [float(row[2]) for row in in_widget(browser, ROWS.format("all"))]
    assert shown == pytest.approx(best.values.tolist(), rel=1e-3)


def test_a_page_beside_a_widget_shows_itself_only_without_it(
    browser: Chromium, tmp_path: Path, seen: Recording
) -> None:
    parts = [
        fragment(seen.last).replace('class="regard-look"', f'class="regard-look" data-standby="{name}"')
        for name in "ab"
    ]
    alive = "<script>window['regard-widgets'] = ['a'];</script>"
    soon = "<script>const wait = setTimeout; window.setTimeout = (what, long) => wait(what, long / 20);</script>"
    made = f"<!doctype html><meta charset=utf-8>{soon}{''.join(parts)}{alive}"
    go(
        browser,
        tmp_path,
        made,
        ready="document.querySelectorAll('.regard-look')[1].shadowRoot?.querySelector('canvas')",
    )
    assert browser.value("[...document.querySelectorAll('.regard-look')].map((one) => one.hidden)") == [True, False]


def test_an_old_browser_and_a_cut_file_are_told_in_words(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    made = page(seen.last)
    old = made.replace("<head>", "<head><script>delete window.DecompressionStream;</script>")
    alarm = "document.querySelector('[role=alert]')"
    go(browser, tmp_path, old, ready=alarm)
    assert "DecompressionStream" in browser.value(f"{alarm}.textContent")
    for part in ("levels", "code"):
        for letters in (200, 201):  # whole bytes, and no bytes at all
            cut = re.sub(rf'(data-part="{part}"[^>]*>.{{{letters}}}).*?(</script>)', r"\1\2", made, count=1)
            go(browser, tmp_path, cut, ready=alarm)
            assert "cut short" in browser.value(f"{alarm}.textContent")


def test_rows_are_of_the_tokens_written_or_read(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    """The switch changes the names beside the rows, and no weight."""
    go(browser, tmp_path, page(seen.last), f"#/heads?site={CROSS}&head=1&row=2")
    beside = "[...document.querySelectorAll('.lines .row button bdi')].map((one) => one.textContent)"
    says = "document.querySelectorAll('.panel > .note')[1].textContent"
    rows = "[...document.querySelectorAll('label')].find((one) => one.textContent === 'Rows').control"
    written, read = (labels(seen, CROSS, row=row)[0] for row in ("output", "input"))
    assert browser.value(beside) == written
    assert browser.value(says).endswith("to write this token.")
    weights = browser.value(ROWS.format("row"))
    assert browser.value(HEADING.format("row")).endswith("is written looking at")
    browser.value(f"{rows}.value = 'input'; {rows}.dispatchEvent(new Event('change', {{bubbles: true}}))")
    browser.wait(
        f"JSON.stringify({beside}) === {json.dumps(json.dumps(read, separators=(',', ':'), ensure_ascii=False))}"
    )
    assert "has read this token" in browser.value(says)
    assert browser.value(ROWS.format("row")) == weights
    assert browser.value(HEADING.format("row")).endswith("looks at")
    go(browser, tmp_path, page(seen.last, row="input"), f"#/heads?site={CROSS}&head=1&row=2")
    assert browser.value(beside) == read
