"""Hostile requests: those of a schema's fuzzer, and right ones that were tampered with."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from meanbounds.service import verify
from tests.service.hostile import tamper
from tests.service.made import a_book, contextual, reloaded, running, state

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_tampered_requests() -> None:
    found = tamper(5_000, 1)
    assert not found, "\n".join(found[:10])


def test_requests_made_from_the_openapi_document() -> None:
    book = a_book(contextual())
    with running(book) as client:
        schema: Any = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")
        operations = [one.ok() for one in schema.get_all_operations()]
        assert len(operations) >= 18
        for operation in operations:

            @given(case=operation.as_strategy())
            @settings(
                max_examples=6,
                database=None,
                deadline=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            def check(case: Any) -> None:
                case.call_and_validate(checks=CHECKS, base_url=str(client.base_url))

            check()
        client.get("/v1/agents")
        assert state(reloaded(book)) == state(book)
        assert verify(book.store).holds
