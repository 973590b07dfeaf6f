"""What all pages share: navigation, language, theme, links, and what is shown when the server is gone."""

from __future__ import annotations

import re

import pytest

from tests.browser.studio.screen import Screen

PAGES = {
    "steps": "Steps", "translate": "Translate", "heads": "Heads", "map": "Map", "compare": "Compare",
    "training": "Training",
}  # fmt: skip


def test_every_page_can_be_reached_by_clicking(screen: Screen) -> None:
    screen.open()
    for page, name in PAGES.items():
        screen.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        screen.until(f"document.title === '{name} · Regard'")
        assert f"#/{page}" in screen.page.url
        screen.counts("main h1", 1)
    screen.page.go_back()
    screen.until("document.title === 'Compare · Regard'")


def test_all_pages_are_named_on_a_phone(screen: Screen) -> None:
    screen.page.set_viewport_size({"width": 390, "height": 844})
    screen.open()
    assert screen.page.evaluate("(nav => nav.scrollWidth <= nav.clientWidth)(document.querySelector('header nav'))")


def test_the_language_and_the_theme_are_kept(screen: Screen) -> None:
    screen.page.goto(f"{screen.studio}/#/steps")
    screen.page.wait_for_selector("h1")
    screen.page.get_by_role("button", name="Français").click()
    screen.until("document.querySelector('h1').textContent.startsWith('L’attention')")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = screen.page.evaluate(ground)
    screen.button("Thème sombre").click()
    dark = screen.eventually(lambda: screen.page.evaluate(ground), light.__ne__)
    screen.page.reload()
    screen.page.wait_for_selector("h1")
    assert screen.page.evaluate("document.documentElement.lang") == "fr"
    assert screen.page.evaluate(ground) == dark


def test_the_system_s_theme_is_followed(screen: Screen) -> None:
    screen.page.emulate_media(color_scheme="dark")
    screen.page.goto(f"{screen.studio}/#/steps")
    screen.page.wait_for_selector("h1")
    red, green, blue = map(
        int, re.findall(r"\d+", screen.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    )
    assert max(red, green, blue) < 60


def test_embedded_without_the_frame(screen: Screen) -> None:
    screen.open(embed=1)
    assert screen.page.locator("main h1").count() == 1
    assert screen.page.locator("header nav").count() == 0


def test_an_address_that_leads_nowhere_leads_to_the_start(screen: Screen) -> None:
    screen.open("no-such-page")
    screen.until("location.hash.length > 2 && !location.hash.includes('no-such')")


@pytest.mark.parametrize("width", [360, 1360])
def test_a_panel_can_fill_the_screen(screen: Screen, width: int) -> None:
    screen.page.set_viewport_size({"width": width, "height": 740})
    screen.open()
    screen.button("Full screen: Softmax").click()
    screen.page.wait_for_selector("section.full")
    box = screen.find("section.full").bounding_box()
    assert box is not None
    assert box["width"] == width
    screen.button("Leave full screen: Softmax").click()
    screen.page.wait_for_selector("section.full", state="detached")


def test_a_server_that_is_gone_is_said(screen: Screen) -> None:
    """The six steps go on by themselves."""
    screen.page.route("**/api/**", lambda route: route.abort())
    screen.open()
    assert "The server does not answer" in screen.text(".banner")
    assert screen.page.locator("[data-step=weights]").count() == 1
    screen.page.unroute("**/api/**")
    screen.button("Try again").click()
    screen.page.wait_for_selector(".banner", state="detached")
    screen.complaints.clear()  # the browser notes each request that failed


def test_everything_it_needs_comes_from_its_own_server(screen: Screen) -> None:
    screen.open()
    answer = screen.page.request.get(screen.studio)
    policy = answer.headers["content-security-policy"]
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert "unsafe-eval" not in policy
