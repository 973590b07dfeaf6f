"""The page in a real browser without a network: what it shows are the weights of the recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

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

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium is installed")

CROSS = "decoder.1.cross"
DRAWN = "document.querySelector('.overview canvas')"
ROWS = "[...document.querySelectorAll('.list.{}  li')].map((one) => [...one.children].map((part) => part.textContent))"
SAID = "document.querySelector('.said').textContent"


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
    browser.media(prefers_color_scheme="light")
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
    file = folder / "page.html"
    file.write_text(made, encoding="utf-8")
    browser.call("Page.navigate", url="about:blank")
    browser.open(f"{file.as_uri()}{address}", ready)


def frame(browser: Chromium) -> None:
    """What was asked for is drawn in the next frame."""
    browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def stated(text: str) -> float:
    found = re.search(r"(\d\.\d+)(?: ± 0\.002)?$", text)
    assert found is not None, text
    return float(found[1])


def centre(browser: Chromium, expression: str) -> tuple[float, float]:
    box = browser.value(f"{expression}.getBoundingClientRect().toJSON()")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


# What is shown


def test_all_heads_are_there_with_the_badge(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    assert browser.value("document.querySelectorAll('.overview .map canvas').length") == 6 * 4
    assert browser.value("[...document.querySelectorAll('.overview h2')].map((one) => one.textContent[0])") == [
        "E",
        "D",
        "C",
    ]
    badge = browser.value("document.querySelector('.badge').textContent")
    for told in ("These are the weights the model used", "regard", "float32", "to 0.002", "sum to 1", "rows"):
        assert told in badge
    assert browser.value("document.querySelector('.stamp').textContent") == "✓ true, shown to 0.002"


@pytest.mark.parametrize("head", [0, 3])
def test_the_chosen_token_s_weights_are_those_of_the_recording(
    browser: Chromium, tmp_path: Path, seen: Recording, head: int
) -> None:
    go(browser, tmp_path, page(seen.last), f"#site={CROSS}&head={head}&row=5&column=2")
    weights = seen.weights(CROSS, head)
    tokens = [str(token) for token in seen.labels(CROSS)[1]]
    rows = browser.value(ROWS.format("warm"))
    best = weights[5].topk(5)
    assert rows == [
        [tokens[place], str(place), f"{weight:.4f}"]
        for weight, place in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
    for _, place, told in browser.value(ROWS.format("cold")):
        exact = not told.startswith("≈")
        assert stated(told) == pytest.approx(weights[int(place), 2].item(), abs=6e-5 if exact else 0.0025)


def test_every_cell_can_be_read(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    """Walked through by the arrow keys, to and fro."""
    go(browser, tmp_path, page(seen.last), f"#site={CROSS}&head=1&row=0&column=0")
    weights = seen.weights(CROSS, 1)
    rows, columns = weights.shape
    browser.value("document.querySelector('.chart').focus()")
    for row in range(rows):
        there = range(columns) if row % 2 == 0 else range(columns - 1, -1, -1)
        for column in there:
            said, weight = browser.value(SAID), weights[row, column].item()
            assert f"({row}) → " in said
            assert f" ({column}): " in said
            close = pytest.approx(weight, abs=0.00197 + 0.0005 if "±" in said else 6e-5)
            assert (weight < 0.00197 and "under 0.002" in said) or stated(said) == close
            if column != there[-1]:
                browser.key("ArrowRight" if row % 2 == 0 else "ArrowLeft")
        browser.key("ArrowDown")


def test_pointing_at_a_cell(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last, site=CROSS, head=1))
    frame(browser)
    x, y = centre(browser, "document.querySelector('.chart canvas')")
    browser.move(x, y)
    frame(browser)
    found = re.fullmatch(r"\D+(\d+)\D+\((\d+)\)\D+(\d+)\D+\((\d+)\): (.*)", browser.value(SAID))
    assert found is not None
    row, column = int(found[2]), int(found[4])
    assert [str(side[place]) for side, place in zip(seen.labels(CROSS, row="output"), (row, column), strict=True)] == [
        found[1],
        found[3],
    ]
    assert stated(found[5]) == pytest.approx(seen.weights(CROSS, 1)[row, column].item(), abs=0.0025)
    browser.click(x, y)
    assert f"row={row}&column={column}" in browser.value("location.hash")


def test_what_the_mask_hides_is_said(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last), "#site=decoder.0.self&head=0&row=2&column=6")
    assert browser.value(SAID).endswith("may not look there")


def test_a_badge_that_is_not_true_looks_like_a_warning(browser: Chromium, tmp_path: Path) -> None:
    call = noise(1, 1, 5)
    site, one = next(iter(call.maps.items()))
    go(browser, tmp_path, page(ForwardCall({site: replace(one, badge=replace(one.badge, difference=1.0))}, call.text)))
    assert browser.value("document.querySelector('.stamp').textContent") == "! not true, shown to 0.002"
    colours = "['.badge', '.card'].map((one) => getComputedStyle(document.querySelector(one)).backgroundColor)"
    warned, plain = browser.value(colours)
    assert warned != plain


# Going about


def test_keys_alone_are_enough(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    browser.value("document.querySelector('.overview .map').focus()")
    for key in ("ArrowRight", "ArrowDown"):
        browser.key(key)
    assert browser.value("document.activeElement.title").startswith("encoder.1.self, head 1 ")
    browser.value("document.activeElement.click()")
    assert browser.value("document.querySelector('.main h2').textContent") == "encoder.1.self, head 1"
    browser.value("document.querySelector('.chart').focus()")
    browser.key("]")
    assert browser.value("location.hash") == "#site=encoder.1.self&head=2"
    browser.key("ArrowDown")
    assert browser.value("location.hash") == "#site=encoder.1.self&head=2&row=0&column=0"
    browser.key("ArrowUp")
    assert "row=0" in browser.value("location.hash")
    browser.key("Escape")
    browser.key("Escape")
    assert browser.value("location.hash") == "#view=all"
    browser.value("history.back()")
    browser.wait("!document.querySelector('.one').hidden")
    assert browser.value("document.querySelector('.main h2').textContent") == "encoder.1.self, head 2"


def test_light_and_dark(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last))
    ground = "getComputedStyle(document.querySelector('.look')).backgroundColor"
    light = browser.value(ground)
    browser.media(prefers_color_scheme="dark")
    browser.wait(f"{ground} !== {json.dumps(light)}")
    assert browser.value("document.querySelector('.look').dataset.theme") == "dark"


@pytest.mark.parametrize("address", ["", f"#site={CROSS}&head=0&row=1"])
def test_a_phone_needs_no_scrolling_sideways(browser: Chromium, tmp_path: Path, seen: Recording, address: str) -> None:
    browser.size(390, 844)
    go(browser, tmp_path, page(seen.last), address)
    frame(browser)
    assert browser.value("document.documentElement.scrollWidth") <= 390


def test_no_token_breaks_it(browser: Chromium, tmp_path: Path) -> None:
    tokens = ["</script><b id=bad>x", "<!--", "שלום", "\n", "", "\u202e", "&amp;\"'", "y" * 300]
    go(browser, tmp_path, page(named(noise(1, 2, len(tokens)), tokens)), "#site=layers.0.attn&head=1&row=0&column=7")
    shown = browser.value("[...document.querySelectorAll('.tokens.row li')].map((one) => one.textContent)")
    assert shown == ["</script><b·id=bad>x", "<!--", "שלום", "⏎", "∅", "⟨202e⟩", "&amp;\"'", "y" * 300]
    assert browser.value("document.getElementById('bad')") is None
    assert browser.value("document.documentElement.scrollWidth") <= 1280


# Long texts, notebooks, old browsers


def test_a_pooled_cell_says_what_it_stands_for(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 40 * 40)
    call = noise(1, 1, 100, spread=4.0)
    go(browser, tmp_path, page(call), "#row=4&column=7")
    assert "each cell is the largest weight of 3 × 3 tokens" in browser.value(
        "document.querySelector('.main').textContent"
    )
    said = browser.value(SAID)
    assert said.startswith(
        "\u2068“word12 word13 word14”\u2069 (12–14) → \u2068“word21 word22 word23”\u2069 (21–23): largest"
    )
    pooled = call.tile("layers.0.attn", 0, cell=3, pool="max")[4, 7].item()
    assert "under" in said or stated(said) == pytest.approx(pooled, abs=0.0025)
    assert "pooling max of 3 x 3" in " ".join(browser.value("document.querySelector('.badge').innerText").split())


def test_several_in_one_notebook(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    style = "<style>canvas, button { display: none !important; } li { font-size: 99px; }</style>"
    parts = fragment(seen.last), fragment(noise(2, 3, 5)), fragment(seen.last, site=CROSS, head=2)
    made = f"<!doctype html><meta charset=utf-8>{style}<ul><li>{'</li><li>'.join(parts)}</li></ul>"
    count = "document.querySelectorAll('.regard-look')[{}].shadowRoot?.querySelectorAll('.overview canvas').length"
    go(browser, tmp_path, made, ready=" && ".join(count.format(place) for place in range(3)))
    assert [browser.value(count.format(place)) for place in range(3)] == [24, 6, 24]
    shown = "getComputedStyle(document.querySelector('.regard-look').shadowRoot.querySelector('canvas')).display"
    assert browser.value(shown) != "none"
    hidden = "[...document.querySelectorAll('.regard-look')].map((one) => one.shadowRoot.querySelector('.one').hidden)"
    assert browser.value(hidden) == [True, True, False]
    assert browser.value("location.hash") == ""


def with_widget(call: ForwardCall, **opened: Any) -> str:
    """A page that is to the widget what a notebook is: it carries questions to `answer`, and answers back."""
    made = payload(call, **opened)
    return f"""<!doctype html><meta charset=utf-8><body><script type="module">
{script()}
const heard = [];
const model = {{
  get: (name) => ({{ name: "one", description: {json.dumps(made.json)}, levels: new Uint8Array({list(made.levels)}),
                   exact: new Uint8Array({list(made.exact)}), norms: new Uint8Array({list(made.norms)}) }})[name],
  on: (name, listener) => heard.push(listener),
  send: (content) => (window.asked = content),
}};
window.answer = (content, numbers) =>
  heard.forEach((one) => one(content, [new DataView(new Float32Array(numbers).buffer)]));
render({{ model, el: document.body }});
window.root = document.querySelector("div").shadowRoot;
</script>"""


def reply(browser: Chromium, call: ForwardCall) -> dict[str, Any]:
    """What a kernel does: answer the last question."""
    asked: dict[str, Any] = browser.value("window.asked")
    numbers = list(memoryview(answers(call)(asked["question"])).cast("f"))
    browser.value(f"window.answer({json.dumps({'id': asked['id']})}, {json.dumps(numbers)})")
    frame(browser)
    return dict(asked["question"])


def test_a_widget_asks_for_exact_rows(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, with_widget(seen.last, site=CROSS, head=1), ready="window.root?.querySelector('.tokens li')")
    browser.value("window.root.querySelectorAll('.tokens.row li')[3].click()")
    assert reply(browser, seen.last) == {"site": CROSS, "head": 1, "row": 3, "by": "weight"}
    browser.value("window.root.querySelectorAll('.tokens.column li')[6].click()")
    browser.value("window.root.querySelector('.chart').focus()")
    shown = "[...window.root.querySelectorAll('.list b')].map((one) => one.textContent)"
    told = [text for text in browser.value(shown) if text.startswith("≈")]
    assert len(told) < 5  # row 3 of this column is exact now
    assert browser.value("location.hash") == ""


def test_a_widget_of_a_long_text_asks_for_tiles(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 50 * 50)
    call = noise(1, 1, 150, spread=4.0)
    go(browser, tmp_path, with_widget(call), ready="window.root?.querySelector('.tokens li')")
    browser.value("window.root.querySelectorAll('.tokens.row li')[30].click()")
    where = {"site": "layers.0.attn", "head": 0, "by": "weight"}
    assert reply(browser, call) == {**where, "rows": [43, 139], "columns": [43, 139]}
    assert "tokens 43–138 × 43–138" in browser.value("window.root.querySelector('.main').textContent")
    browser.value("window.root.querySelectorAll('.tokens.row li')[7].click()")
    assert reply(browser, call) == {**where, "row": 50}
    rows = ROWS.format("warm").replace("document", "window.root")
    best = call.row("layers.0.attn", 0, 50).topk(5)
    assert [row[1:] for row in browser.value(rows)] == [
        [str(place), f"{weight:.4f}"] for weight, place in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]


# By value

SWITCH = "document.querySelector('.by button:{}-child')"
MEASURE = "document.querySelector('.measure').textContent"


def test_a_switch_shows_what_the_weights_bring(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    go(browser, tmp_path, page(seen.last), f"#site={CROSS}&head=1&row=5&column=2")
    frame(browser)
    before = browser.value("document.querySelector('.chart canvas').toDataURL()")
    assert browser.value(MEASURE) == ""
    browser.value(f"{SWITCH.format('last')}.focus()")
    browser.key("Enter")
    browser.key(" ")
    frame(browser)
    assert browser.value(f"{SWITCH.format('last')}.getAttribute('aria-pressed')") == "true"
    assert browser.value("document.querySelector('.legend option').textContent") == "√ value"
    assert browser.value(f"{SWITCH.format('first')}.getAttribute('aria-pressed')") == "false"
    assert browser.value("location.hash").endswith("by=value")
    largest = float(seen.last.largest_norms(CROSS, 1))
    assert f"weight times |v W_O|, of the largest {float(f'{largest:.3g}'):g}" in browser.value(MEASURE)
    assert browser.value("document.querySelector('.chart canvas').toDataURL()") != before
    products, tokens = seen.weights(CROSS, 1, by="value"), [str(token) for token in seen.labels(CROSS)[1]]
    best = products[5].topk(5)
    for (token, place, told), product, key in zip(
        browser.value(ROWS.format("warm")), best.values.tolist(), best.indices.tolist(), strict=True
    ):
        assert (token, int(place)) == (tokens[key], key)
        assert float(told.removeprefix("≈ ")) == pytest.approx(product, abs=0.0025 * largest)
    assert browser.value("document.querySelector('.list.warm h3').textContent").endswith("taking from")
    browser.value(f"{SWITCH.format('first')}.click()")
    frame(browser)
    assert "by=" not in browser.value("location.hash")
    assert browser.value("document.querySelector('.chart canvas').toDataURL()") == before


def test_pointing_at_a_cell_tells_the_product_with_its_factors(
    browser: Chromium, tmp_path: Path, seen: Recording
) -> None:
    go(browser, tmp_path, page(seen.last), f"#site={CROSS}&head=1&row=0&column=0&by=value")
    weights, norms = seen.weights(CROSS, 1), seen.last.map(CROSS).norms
    assert norms is not None
    for row in range(4):
        told = browser.value(SAID).rpartition(": ")[2]
        weight, norm, product = re.fullmatch(r"(.*) × ([\d.]+) = (.*)", told).groups()
        assert stated(weight) == pytest.approx(weights[row, 0].item(), abs=0.0025)
        assert float(norm) == pytest.approx(norms[0, 1, 0].item(), rel=1e-3)
        assert float(re.search(r"[\d.]+", product)[0]) == pytest.approx(
            (weights[row, 0] * norms[0, 1, 0]).item(), rel=1e-3 if "≈" not in product else 0.2, abs=0.01
        )
        browser.value("document.querySelector('.chart').focus()")
        browser.key("ArrowDown")
        frame(browser)


def test_a_page_can_open_by_value_and_its_address_may_say_otherwise(
    browser: Chromium, tmp_path: Path, seen: Recording
) -> None:
    made = page(seen.last, by="value")
    go(browser, tmp_path, made)
    assert "weight times |v W_O|, of each head's largest" in browser.value(MEASURE)
    go(browser, tmp_path, made, "#view=all&by=weight")
    assert browser.value(MEASURE) == ""
    browser.value(f"{SWITCH.format('last')}.click()")
    assert browser.value("location.hash") == "#view=all"


def test_where_values_were_not_kept_the_switch_says_so(browser: Chromium, tmp_path: Path) -> None:
    go(browser, tmp_path, page(noise(1, 2, 8)))
    assert browser.value(f"{SWITCH.format('last')}.disabled") is True
    assert "values were not kept" in browser.value(f"{SWITCH.format('last')}.title")


def test_a_pooled_page_by_value_shows_the_products_it_was_made_with(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 50 * 50)
    call = noise(1, 1, 150, spread=4.0, values=True)
    products = call.tile("layers.0.attn", 0, cell=3, pool="max", by="value")
    row, column = divmod(int(products.argmax()), 50)
    go(browser, tmp_path, page(call, by="value"), f"#site=layers.0.attn&head=0&row={row}&column={column}")
    told = browser.value(SAID)
    assert "largest weight × |v W_O| ≈" in told
    error = 0.003 * float(call.largest_norms("layers.0.attn", 0))
    assert float(re.search(r"≈ ([\d.e-]+)", told)[1]) == pytest.approx(products.max().item(), abs=error)
    assert browser.value(f"{SWITCH.format('first')}.disabled") is True
    assert 'by="weight"' in browser.value(f"{SWITCH.format('first')}.title")


def test_a_widget_asks_for_pooled_cells_by_value(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TOGETHER", 50 * 50)
    call = noise(1, 1, 150, spread=4.0, values=True)
    go(browser, tmp_path, with_widget(call), ready="window.root?.querySelector('.tokens li')")
    inside = lambda expression: browser.value(expression.replace("document", "window.root"))  # noqa: E731
    inside(f"{SWITCH.format('last')}.click()")
    assert "Python is being asked" in inside(MEASURE)
    where = {"site": "layers.0.attn", "head": 0, "by": "value"}
    assert reply(browser, call) == {**where, "cell": [3, 3]}
    assert "weight times |v W_O|, of the largest" in inside(MEASURE)
    inside("document.querySelectorAll('.tokens.row li')[30].click()")
    assert reply(browser, call) == {**where, "rows": [43, 139], "columns": [43, 139]}
    inside("document.querySelectorAll('.tokens.row li')[7].click()")
    assert reply(browser, call) == {**where, "row": 50}
    best = call.row("layers.0.attn", 0, 50, by="value").topk(5)
    shown = [(int(row[1]), float(row[2])) for row in inside(ROWS.format("warm"))]
    assert [place for place, _ in shown] == best.indices.tolist()
    assert [product for _, product in shown] == pytest.approx(best.values.tolist(), rel=1e-3)


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
    for letters in (200, 201):  # of base64: whole bytes, and no bytes at all
        cut = re.sub(rf'(data-part="levels"[^>]*>.{{{letters}}}).*?(</script>)', r"\1\2", made, count=1)
        go(browser, tmp_path, cut, ready=alarm)
        assert "cut short" in browser.value(f"{alarm}.textContent")


def test_rows_are_of_the_tokens_written_or_read(browser: Chromium, tmp_path: Path, seen: Recording) -> None:
    """The switch changes the names beside the rows, and no weight."""
    go(browser, tmp_path, page(seen.last), f"#site={CROSS}&head=1&row=2")
    beside = "[...document.querySelectorAll('.tokens.row li bdi')].map((one) => one.textContent)"
    says, rows = "document.querySelector('.says').textContent", "document.querySelector('[aria-label=Rows]')"
    written, read = ([str(token) for token in seen.labels(CROSS, row=row)[0]] for row in ("output", "input"))
    assert browser.value(beside) == written
    assert browser.value(says).endswith("to write this token")
    weights = browser.value(ROWS.format("warm"))
    assert "is written looking at" in browser.value("document.querySelector('.list.warm h3').textContent")
    browser.value(f"{rows}.value = 'input'; {rows}.dispatchEvent(new Event('change'))")
    frame(browser)
    assert browser.value(beside) == read
    assert "has read this token" in browser.value(says)
    assert browser.value(ROWS.format("warm")) == weights
    go(browser, tmp_path, page(seen.last, row="input"), f"#site={CROSS}&head=1&row=2")
    assert browser.value(beside) == read
    go(browser, tmp_path, page(seen.last), "#site=encoder.0.self&head=1")
    assert browser.value(f"{rows}.hidden")
