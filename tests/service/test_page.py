"""The page of the service, in a real browser, on a phone and on a desktop."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.service.access import make_token
from meanbounds.service.app import make_app
from meanbounds.service.store import Store
from tests.conftest import find_program

PATIENCE = 20_000.0  # milliseconds that the page may take to show something
EVIL = "<script>document.title = 'broken'</script><img src=x>"
CONTEXTS = ["north", EVIL, "مستشفى", *(f"ward {k}" for k in range(120))]
KNOWN = mb.MeanBounds([0.3, 0.2, 0.6], [0.95, 0.9, 0.7], arms=["tPA", EVIL, mb.EXPERT])
UNLABELLED = """() => [...document.querySelectorAll("main input, main select, nav input")]
  .filter(one => one.labels.length === 0).length"""
AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"  # look at once
SMALLEST = """() => Math.min(...[...document.querySelectorAll("main *")].filter(one => one.checkVisibility() &&
  [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()))
  .map(one => parseFloat(getComputedStyle(one).fontSize)))"""


@contextmanager
def serving(store: Store) -> Iterator[str]:
    """The address of a service in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(make_app(store, log=False), log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30.0)


@pytest.fixture
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason='pip install ".[dev]"')
    program = find_program("chromium", "chromium")
    with playwright.sync_playwright() as tools:
        window = tools.chromium.launch(executable_path=program, args=["--no-sandbox"] * (os.geteuid() == 0))
        yield window
        window.close()


@contextmanager
def opened(browser: Any, url: str, width: int, scheme: str) -> Iterator[Any]:
    """The page; whatever its console says is an error, but for answers that are refused."""
    page, said = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme), list[str]()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url)
    yield page
    page.close()
    assert [line for line in said if not line.startswith("Failed to load resource")] == []


def visits(store: Store, count: int) -> None:
    """Decisions in the first context, and their rewards."""
    rng, clinic = np.random.default_rng(1), store["clinic"]
    for number in range(count):
        asked = clinic.decide(str(number), "north").arm is mb.EXPERT
        clinic.reward(str(number), float(rng.random() < (0.65 if asked else 0.85)), "tPA" if asked else None)


def test_page(browser: Any, tmp_path: Path) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=PATIENCE)
    guarded = mb.policies.Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.1))
    agent = mb.Agent(guarded, dict.fromkeys(CONTEXTS, KNOWN), seed=3)
    with Store.create(tmp_path / "clinic.db", "clinic", agent) as store:
        visits(store, 60)
        tokens = [make_token(store.database, scopes, name="Ada") for scopes in (["read"], ["read", "admin"])]
        with serving(store) as url:
            token = {"authorization": f"Bearer {tokens[1]}"}
            with httpx.Client(base_url=f"{url}/v1/agents", headers=token) as api:
                with opened(browser, url, 390, "dark") as page:
                    look_around(page, expect, api, tokens)
                    stop_by_keyboard(page, expect, api)
                with opened(browser, url, 1280, "light") as page:
                    enter(page, expect, tokens[1])
                    change_and_undo(page, expect, api)
                    lose_connection(page, expect)


def enter(page: Any, expect: Any, token: str) -> None:
    page.get_by_label("This service asks for a token").fill(token)
    page.keyboard.press("Enter")
    expect(page.locator("#token-form")).to_be_hidden()
    expect(page.locator("#options .row")).to_have_count(4)
    assert page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]


def look_around(page: Any, expect: Any, api: Any, tokens: list[str]) -> None:
    """The page asks for a token, shows what the service says, as text, on a phone too, and finds contexts."""
    expect(page.locator("#all")).to_be_hidden()
    enter(page, expect, tokens[0])
    here = api.get("/clinic/context", params={"name": "north"}).json()
    rows = page.locator("#options .row")
    for k, name in enumerate(["tPA", EVIL, "Experts"]):
        expect(rows.nth(k).locator("bdi")).to_have_text(name)
        rewards, mean, lower, upper = here["earned"][k]
        expect(rows.nth(k)).to_contain_text(f"{mean:.3f} ({lower:.3f} to {upper:.3f})" if rewards else "no rewards yet")
        low, high = here["bounds"]["lower"][k], here["bounds"]["upper"][k]
        expect(rows.nth(k)).to_contain_text(f"bounds {low:.3f} to {high:.3f}")
    expect(page.locator("#does")).to_contain_text("decides under a guard: on average at most 0.1 below the experts")
    expect(page.locator("#budget")).to_contain_text(f"a loss of {here['budget'][0]:.2f} against the experts")
    expect(page.locator("#tiles")).to_contain_text("earned on average")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(SMALLEST) >= 13.0
    assert page.evaluate(UNLABELLED) == 0
    assert page.locator("main img, main script").count() == 0
    expect(page.locator("#found")).to_have_text("the first 50 of 123")
    page.get_by_label("Contexts").last.fill("ARD 11")
    expect(page.locator("#contexts button")).to_have_count(11)
    page.get_by_role("button", name="ward 117").click()
    expect(page.locator("#here")).to_contain_text("ward 117")
    page.locator("#search").fill("")
    page.get_by_role("button", name=EVIL).click()
    expect(page.locator("#here")).to_contain_text(EVIL)
    page.get_by_role("button", name="Forbid here").click()
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.locator("#sure-problem")).to_contain_text("That did not work")  # the token may only read
    page.get_by_role("button", name="Cancel").click()
    page.evaluate("sessionStorage.clear()")
    enter(page, expect, tokens[1])


def stop_by_keyboard(page: Any, expect: Any, api: Any) -> None:
    """Force an option without a mouse; nothing happens before it is confirmed."""
    page.locator("#where").focus()
    page.keyboard.press("e")  # everywhere
    button = page.get_by_role("button", name="Play only this option")
    for key in ("Escape", "Shift+Tab"):
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("tPA")
        expect(dialog).to_contain_text("until you let the agent decide again")
        page.keyboard.press(key)  # leaves, or goes from "Cancel" to "Yes"
        if key == "Escape":
            expect(button).to_be_focused()
            assert api.get("/clinic").json()["forced"] == []
    page.keyboard.press("Enter")
    expect(page.locator("#does")).to_have_text("It plays only tPA.")
    assert api.get("/clinic").json()["forced"] == [[None, "tPA"]]
    expect(page.locator("#changes .row").first).to_contain_text("Ada")
    expect(page.locator("#changes .row").first).to_contain_text("forced: none → tPA")


def confirm(page: Any, expect: Any, button: str, says: str) -> None:
    page.get_by_role("button", name=button).first.click()
    expect(page.get_by_role("dialog")).to_contain_text(says)
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def change_and_undo(page: Any, expect: Any, api: Any) -> None:
    """Each change reaches the service, and can be undone."""
    page.locator("#arm").select_option(label=f"\u2068{EVIL}\u2069")
    page.locator("#lower").fill("0.25")
    page.locator("#upper").fill("0.5")
    confirm(page, expect, "Replace the bounds", "from 0.25 to 0.5, instead of 0.200 to 0.900")
    bounds = api.get("/clinic/context", params={"name": "north"}).json()["bounds"]
    assert (bounds["lower"], bounds["upper"]) == ([0.3, 0.25, 0.6], [0.95, 0.5, 0.7])
    page.get_by_label("The agent makes").fill("40")
    confirm(page, expect, "Change the share", "40% of the decisions instead of 100%")
    page.get_by_label("May lose against the experts").fill("0.05")
    page.get_by_label("Policy").select_option("ThompsonSampling")
    confirm(
        page, expect, "Change the policy", "decides by ThompsonSampling, and promises the experts this: margin 0.05"
    )
    confirm(page, expect, "Retire everywhere", "not played any more in any context")
    expect(page.locator("#options .row").nth(1)).to_contain_text("Not played: retired")
    confirm(page, expect, "Restore everywhere", "may be played again")
    confirm(page, expect, "Forbid here", "not played any more")
    assert "forbidden" in api.get("/clinic/context", params={"name": "north"}).json()["out"][1]
    confirm(page, expect, "Allow here", "may be played again")
    confirm(page, expect, "Let the agent decide", "by its policy and its promise")
    now = api.get("/clinic").json()
    assert (now["share"], now["forced"], now["policy"]["base"]["policy"]) == (0.4, [[None, "tPA"]], "ThompsonSampling")
    assert now["policy"]["promise"] == {"promise": {"margin": 0.05}}
    row = page.locator("#changes .row").filter(has_text="share: 1 → 0.4")
    row.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text("that change and 6 later ones")
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#does")).to_have_text("It plays only tPA.")
    after = api.get("/clinic").json()
    assert (after["share"], after["policy"]["base"]["policy"]) == (1.0, "OptimisticGittins")


def lose_connection(page: Any, expect: Any) -> None:
    """Numbers that are old are called old, and it goes on by itself."""
    refusal = {"error": {"code": "tokens", "message": "permissions cannot be read"}}
    for answer, says in (
        (lambda route: route.abort(), "The service does not answer. The numbers below are old"),
        (lambda route: route.fulfill(status=503, json=refusal), "permissions cannot be read"),
    ):
        page.route("**/v1/**", answer)
        page.evaluate(AGAIN)
        expect(page.get_by_role("alert").first).to_contain_text(says)
        expect(page.locator("body.old")).to_have_count(1)
    page.unroute_all()
    page.evaluate(AGAIN)
    expect(page.locator("body.old")).to_have_count(0)


@pytest.mark.filterwarnings("ignore::meanbounds.agents.guardrails.GuardrailWarning")
def test_a_stop_and_a_verdict(browser: Any, tmp_path: Path) -> None:
    """The reason why an option is stopped, which is best, and how often means have moved."""
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=PATIENCE)
    rail = mb.Guardrail(EVIL, worse=0.02, level=0.05)
    known, drift = mb.MeanBounds.vacuous(["tPA", EVIL]), mb.evidence.Drift(alarm=0.5)
    agent = mb.Agent(mb.OptimisticGittins(), {"north": known}, seed=3, guardrails=[rail], drift=drift)
    with Store.create(tmp_path / "clinic.db", "clinic", agent) as store:
        clinic = store["clinic"]
        for number in range(60):
            made = clinic.decide(str(number), "north", [["tPA", EVIL][number % 2], "tPA"])
            clinic.reward(str(number), float(number > 30), outcomes={EVIL: float(made.arm == EVIL)})
        (stop,) = clinic.agent.stops()
        token = make_token(store.database, ["read"])
        with serving(store) as url:
            for width, scheme in ((390, "dark"), (1280, "light")):
                with opened(browser, url, width, scheme) as page:
                    page.get_by_label("This service asks for a token").fill(token)
                    page.keyboard.press("Enter")
                    expect(page.locator("#alarms")).to_have_text(str(stop))
                    expect(page.locator("#options .row").nth(1)).to_contain_text(f"Not played: {stop.why}")
                    for said in (
                        "Best: \u2068tPA\u2069, with probability above 99.9%.",
                        "Going on is worth at most 0.000 a decision.",
                        "Means moved: older rewards were forgotten 1 time.",
                    ):
                        expect(page.locator("#verdict")).to_contain_text(said)
                    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_context_of_a_case_on_a_phone(browser: Any, tmp_path: Path) -> None:
    """Raw columns lead to the context that they are in, and wrong ones to what is wrong with them."""
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=PATIENCE)
    tree = Tree((Split("age", 75.0, missing="left"), None, Split(EVIL, left=("x",), right=("y",)), None, None))
    agent = mb.Agent(mb.GLUE(), dict.fromkeys(tree.contexts, KNOWN), seed=3, tree=tree)
    with Store.create(tmp_path / "clinic.db", "clinic", agent) as store:
        token = make_token(store.database, ["read"])
        with serving(store) as url, opened(browser, url, 390, "light") as page:
            enter(page, expect, token)
            page.get_by_text("The context of a case").click()
            for given, other, says in (
                ("eighty", "", "age must be a number"),
                ("81,5", "y", tree.contexts[2]),
                ("", "", tree.contexts[0]),
            ):
                page.get_by_role("textbox", name="age").fill(given)
                page.get_by_role("textbox", name=EVIL).fill(other)
                page.get_by_role("button", name="Find it").click()
                expect(page.locator("#lost" if says.startswith("age must") else "#here")).to_contain_text(says)
            expect(page.locator("#lost")).to_be_empty()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.evaluate(UNLABELLED) == 0
