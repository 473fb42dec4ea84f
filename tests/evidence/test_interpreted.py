from __future__ import annotations

from tests.children import run_interpreted


def test_as_plain_python() -> None:
    """The compiled code and the same as plain Python are compared with the same numbers."""
    words = "precision or by_hand or expectation or ends_of or adapt or missing or refused"
    run_interpreted("tests/evidence/test_processes.py", "-k", words)
