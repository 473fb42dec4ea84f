"""The page of a service, in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import pytest

import meanbounds as mb
from meanbounds.service import make_token
from meanbounds.service.server import warm_up
from tests import servers
from tests.servers import find_module
from tests.service.made import a_book, decide, running

PATIENCE = 60_000.0  # milliseconds
ARMS = ["tPA", "medical", "<img src=x onerror=alert(1)>"]
MEANS = [0.5, 0.95, 0.3]
READABLE = """() => [...document.querySelectorAll('body *')].filter(one => one.checkVisibility() &&
  [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())).map(one => {
  const svg = one.closest('svg'), scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  return [one.tagName, parseFloat(getComputedStyle(one).fontSize) * scale]; })"""


def an_agent(contexts: int = 3, policy: mb.Policy | None = None) -> mb.ContextualAgent:
    known = mb.Knowledge(mb.MeanBounds([0.45, 0.3, 0.1], [0.8, 0.6, 0.4], arms=ARMS), trust=0.9)
    given = {f"age {k}": known for k in range(contexts)}
    return mb.ContextualAgent(policy or mb.BKLUCB(), given, seed=7, unknown="vacuous")


def send(client: httpx.Client, first: int, rounds: int, context: str = "age 0", seed: int = 1) -> None:
    """Traffic: decisions and their rewards, and experts where the agent does not decide."""
    rng = np.random.default_rng([seed, first])
    for number in range(first, first + rounds):
        asked = {"request_id": f"{seed}-{number}", "context": context}
        decided = client.post("/v1/agents/demo/decisions", json=asked).json()
        arm = ARMS[rng.integers(3)] if decided["arm"] is None else decided["arm"]
        told: dict[str, Any] = {"decision_id": decided["decision_id"]}
        told |= {} if decided["arm"] is not None else {"arm": arm}
        told["reward"] = float(rng.random() < MEANS[ARMS.index(arm)])
        assert client.post("/v1/rewards", json=told).status_code == 200


@contextmanager
def opened(browser: Any, client: httpx.Client, width: int = 390, scheme: str = "light") -> Iterator[Any]:
    """The page; whatever its console says is an error."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    try:
        page.goto(str(client.base_url))
        page.said = said
        yield page
    finally:
        page.close()
    assert said == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with servers.browser() as window:
        yield window


@pytest.fixture(scope="module")
def service() -> Iterator[httpx.Client]:
    book = a_book(an_agent(5_000), share=0.8)
    warm_up(book)
    book.agents["demo"].view("age 0")
    with running(book) as client:
        send(client, 0, 150)
        yield client


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1_200, "dark")])
def test_it_shows_what_the_service_knows(browser: Any, service: httpx.Client, width: int, scheme: str) -> None:
    with opened(browser, service, width, scheme) as page:
        page.wait_for_selector("#arms .arm svg")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        sizes = page.evaluate(READABLE)
        assert len(sizes) > 40
        assert min(size for _, size in sizes) >= 11.0
        view = service.get("/v1/agents/demo/contexts/age 0").json()
        here = service.get("/v1/agents/demo/history", params={"context": "age 0"}).json()
        shown = page.locator("#arms .arm").all()
        assert [arm.locator("h4").inner_text() for arm in shown] == ARMS
        for arm, found in zip(view["arms"], shown, strict=True):
            words = found.locator(".numbers").inner_text()
            assert f"bounds {arm['lower']:.3f} to {arm['upper']:.3f}" in words
            assert f"mean {arm['mean']:.3f} ({arm['mean_lower']:.3f} to {arm['mean_upper']:.3f})" in words
            assert f"{arm['plays']} reward" in words
            assert f"index {arm['index']:.3f}" in words
            assert f"trust in its bounds {arm['trust']:.3f}" in words
            assert (found.locator(".cross").count() > 0) == bool(arm["contradictions"])
        assert view["arms"][1]["contradicted"] == ["upper"]
        assert view["arms"][2]["why_not"] in page.locator("#arms .arm").nth(2).inner_text()
        value = page.locator("#value .arm .numbers").all_inner_texts()
        for kind, text in zip(("agent", "expert"), value[:2], strict=True):
            own = here[kind]
            assert text.startswith(f"{own['mean']:.3f} ({own['lower']:.3f} to {own['upper']:.3f}), {own['rewards']} ")
        legend = page.locator("#plays .legend li").all_inner_texts()
        assert legend == [f"{arm}: {count}" for arm, count in zip(ARMS, here["marks"][-1]["plays"], strict=True)]
        assert page.locator("#plays svg").count() == 2  # decisions, and trust
        assert "contradict its upper bound 0.6" in page.locator("#alarms").inner_text()


def test_no_rule_of_accessibility_is_broken(browser: Any, service: httpx.Client) -> None:
    axe = find_module("axe_playwright_python.sync_playwright", "axe-playwright-python").Axe()
    for width, scheme in ((390, "dark"), (1_200, "light")):
        with opened(browser, service, width, scheme) as page:
            page.wait_for_selector("#arms .arm svg")
            found = axe.run(page).response["violations"]
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def expect(located: Any) -> Any:
    """What the browser should come to show; scripts of the page may not be made of texts, so nothing is evaluated."""
    return find_module("playwright.sync_api", "playwright").expect(located)


def test_thousands_of_contexts_are_searched(browser: Any, service: httpx.Client) -> None:
    with opened(browser, service) as page:
        page.wait_for_selector("#contexts button")
        assert page.locator("#found").inner_text() == "the first 50 of 5,000 contexts"
        page.fill("#search", "AGE 4321")
        expect(page.locator("#contexts button")).to_have_count(1, timeout=PATIENCE)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#title")).to_have_text("demo: age 4321", timeout=PATIENCE)
        expect(page.locator("#arms")).to_contain_text("not played yet", timeout=PATIENCE)


def test_it_follows_while_others_ask(browser: Any, service: httpx.Client) -> None:
    with opened(browser, service) as page, httpx.Client(base_url=service.base_url, timeout=60.0) as other:
        page.wait_for_selector("#arms .arm svg")
        load = threading.Thread(target=send, args=(other, 0, 200, "age 1", 2))
        load.start()
        send(service, 1_000, 3)
        rewards = service.get("/v1/agents/demo/history", params={"context": "age 0"}).json()["agent"]["rewards"]
        expect(page.locator("#value")).to_contain_text(f", {rewards} rewards", timeout=PATIENCE)
        load.join()


def test_the_emergency_stop_by_keyboard(browser: Any) -> None:
    book = a_book(an_agent())
    with running(book) as client, opened(browser, client) as page:
        page.wait_for_selector("#stop-arm option", state="attached")
        page.focus("#stop-arm")
        page.keyboard.press("m")  # medical
        page.focus("#stop-where")
        page.keyboard.press("a")  # all contexts
        page.focus("#stop-button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#sure[open]")
        assert page.locator("#sure-text").inner_text() == "Play only medical everywhere, from the next request on?"
        page.focus("#sure-yes")
        page.keyboard.press("Enter")
        expect(page.locator("#forced")).to_contain_text("medical is forced in all", timeout=PATIENCE)
        asked = {"request_id": "1", "context": "age 2"}
        assert client.post("/v1/agents/demo/decisions", json=asked).json()["reason"] == "forced"
        page.click("#free-button")
        expect(page.locator("#forced")).to_contain_text("the agent decides", timeout=PATIENCE)
        assert client.get("/v1/agents/demo").json()["forced"] == []


def test_a_token_is_asked_for_and_stays_in_the_tab(browser: Any) -> None:
    book = a_book(mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.2], [0.9], arms=["a"]), seed=7))
    looks = make_token(book.store, ["decide"])
    with running(book) as client:
        page = browser.new_page()
        page.goto(str(client.base_url))
        page.wait_for_selector("#token-form:not([hidden])")
        assert page.locator("#all").is_hidden()
        page.fill("#token", looks)
        page.keyboard.press("Enter")
        page.wait_for_selector("#arms .arm svg")
        page.click("#stop-button")
        page.click("#sure-yes")
        expect(page.locator("#stop-said")).to_contain_text("lacks the scope admin", timeout=PATIENCE)
        page.close()
    assert book.agents["demo"].forced == {}


def test_nothing_from_elsewhere_runs(service: httpx.Client) -> None:
    answer = service.get("/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "<script>" not in answer.text
    for path in ("/page.js", "/page.css"):
        assert service.get(path).status_code == 200


def test_a_book_without_a_page_has_the_same_history() -> None:
    book = a_book(an_agent())
    decide(book, "1", "age 1")
    line = book.agents["demo"].history.line("age 1")
    assert line is not None
    assert sum(got[0] for got in line.arms.values()) == 1
