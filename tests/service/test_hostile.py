"""Tampered requests, and every operation asked by those who may not or while the store cannot be used."""

import re
from pathlib import Path

from tests.service.attack import SITUATIONS, markdown, table
from tests.service.hostile import hostile

ROOT = Path(__file__).parents[2]


def test_tampered_requests() -> None:
    assert "422" in hostile(2_000)


def test_every_operation_fails_closed() -> None:
    answers, page = table(), (ROOT / "SECURITY.md").read_text()
    assert markdown(answers) in page, "run python -m tests.service.attack --write SECURITY.md"
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert all(f"def {name}(" in tests for name in re.findall(r"test_\w+", page))
    for operation, cells in answers.items():
        found = dict(zip(SITUATIONS, cells, strict=True))
        shown = f"{operation.method} {operation.path}: {found}"
        assert not any("elsewhere" in text or "Traceback" in text for _, text in cells), shown
        assert all(status in (200, 400, 401, 403, 503) for status, _ in cells), shown
        if operation.scope is None:
            continue
        assert found["no token"][0] == 401, shown
        assert found["token without the scope"][0] == 403, shown
        assert found["tokens unreadable"][0] == 503, shown
        status, text = found["token of another agent"]
        assert status == 403 if "{agent}" in operation.path else "clinic" not in text, shown
        if operation.method == "POST":
            assert all(status >= 400 for status, _ in cells), shown
            assert not any("north" in text for _, text in cells), shown
