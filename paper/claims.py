"""What becomes of the paper's claims: a report with the verdict on each, and the pictures."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from paper.output import CORRECTED, FAILS, HOLDS, Claim

__all__ = ["write"]

_PLURAL = {HOLDS: "hold", CORRECTED: "hold after correction", FAILS: "do not hold"}
_FEW = (
    " These are the numbers of a quick run, with fewer runs and rounds: verdicts can differ from those of a full one."
)


def write(out: Path, found: Mapping[ModuleType, Sequence[Claim]], quick: bool) -> None:
    """Write claims.md: for each module what it does, its pictures in this folder, and a table of claims."""
    counts = Counter(claim.verdict for claims in found.values() for claim in claims)
    total = ", ".join(f"{count} {_PLURAL[word]}" for word, count in counts.most_common())
    lines = ["# What becomes of the paper's claims", f"{total}.{_FEW * quick}"]
    for module, claims in found.items():
        title, _, about = inspect.cleandoc(module.__doc__ or "").partition("\n")
        name = module.__name__.rpartition(".")[2]
        pictures = [f"![{path.stem}]({path.name})" for path in sorted(out.glob(f"{name}*.png"))]
        rows = [("claim", "measured", "verdict"), ("---", "---", "---")]
        rows += [(f"{claim.source}: {claim.text}", claim.measured, f"**{claim.verdict}**") for claim in claims]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        lines += [f"## {title.rstrip('.')}", about.strip(), " ".join(pictures), table]
    (out / "claims.md").write_text("\n\n".join(filter(None, lines)) + "\n", encoding="utf-8")
