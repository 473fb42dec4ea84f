"""What docs/service.md shows of requests works: with a service that runs, `curl`, the client and OpenFeature."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from typing import Any

import httpx
import pytest

import meanbounds as mb
from meanbounds.service.server import warm_up
from tests.servers import find_module
from tests.service.made import a_book, running
from tests.test_docs import blocks, words

PAGE = "docs/service.md"
ADDRESS = "http://127.0.0.1:8000"  # on the page


@pytest.fixture
def service() -> Any:
    known = {name: mb.MeanBounds([0.2, 0.1], [0.9, 0.8], arms=["tPA", "watch"]) for name in ("under 60", "over 60")}
    book = a_book(mb.ContextualAgent(mb.ThompsonSampling(), known, seed=7))
    warm_up(book)  # OpenFeature's SDK waits for five seconds, and then gives its caller's default
    with running(book) as client:
        yield client


def send(client: httpx.Client, line: str) -> httpx.Response:
    """Send what a line with curl sends: its method, header, address and body."""
    _, *rest = shlex.split(line)
    given = dict(pairwise(rest))
    (url,) = (word for word in rest if word.startswith(ADDRESS))
    name, _, value = given["-H"].partition(": ")
    path = url.removeprefix(ADDRESS).replace("/agents/agent/", "/agents/demo/")
    return client.request(given.get("-X", "POST"), path, content=given["-d"], headers={name: value})


def test_curl(service: httpx.Client) -> None:
    """The answers have the fields that the page shows."""
    consoles = [code for kind, _, code in blocks(PAGE) if kind == "console" and "curl" in code]
    decided: dict[str, Any] = {}
    for code in consoles:
        lines = code.replace("\\\n", " ").splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            if words(line)[:1] != ["curl"]:
                continue
            answer = send(service, re.sub("|".join(decided) or "^$", lambda old: decided[old[0]], line))
            assert answer.status_code == 200, (line, answer.text)
            if after.startswith("{"):
                shown = json.loads(after)
                assert set(answer.json()) == set(shown), line
                decided[shown["decision_id"]] = answer.json()["decision_id"]
    assert len(decided) == 1


def test_python(service: httpx.Client) -> None:
    find_module("openfeature.contrib.provider.ofrep", "openfeature-provider-ofrep")
    for kind, skipped, code in blocks(PAGE):
        if kind == "python" and skipped:
            there = code.replace(ADDRESS, str(service.base_url).rstrip("/")).replace('"agent"', '"demo"')
            names: dict[str, Any] = {}
            try:
                exec(compile(there, PAGE, "exec", dont_inherit=True), names)
            except KeyError:
                pytest.fail(f"OpenFeature got {names.get('details')}")
            if "details" in names:
                assert names["details"].value in ("tPA", "watch")
                assert names["details"].error_code is None
    view = service.get("/v1/agents/demo/contexts/under 60").json()
    assert sum(arm["plays"] for arm in view["arms"]) == 1  # the client's reward; that of OpenFeature comes later
