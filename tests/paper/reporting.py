"""What tests of experiments share: a report in tiny sizes, and what must be in it."""

import csv
from pathlib import Path
from typing import Any

import pytest
from paper.output import FOLDER, Claim

from paper import claims

Report = tuple[Path, dict[str, list[Claim]]]


def made(out: Path, sizes: dict[Any, Any]) -> Report:
    """The folder with everything, and the claims of each module."""
    found = dict[Any, list[Claim]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FOLDER, raising=False)
        for module, own in sizes.items():
            patch.setattr(module, "QUICK", own)
            found[module] = list(module.main(out, True))
    claims.write(out, found, quick=True)
    return out, {module.__name__.rpartition(".")[2]: own for module, own in found.items()}


def check_files(report: Report) -> None:
    """Tables are whole, pictures are not empty, and the report names all of them and says each claim."""
    out, found = report
    text = (out / "claims.md").read_text(encoding="utf-8")
    for name, own in found.items():
        tables = list(out.glob(f"{name}*.csv"))
        assert tables
        for path in tables:
            with path.open(encoding="utf-8") as file:
                assert len({len(row) for row in csv.reader(file)}) == 1
        assert text.count(f"]({name}") == len(list(out.glob(f"{name}*.png"))) >= 1
        assert all(f"{claim.source}: {claim.text} | {claim.measured} | **{claim.verdict}** |" in text for claim in own)
    assert all(path.stat().st_size > 10_000 for path in out.glob("*.png"))
