"""Print lines of Python and of pages by part of the repository, beside the budget of each.

Usage: python tools/size.py. It needs nothing but Python; docstrings and comments count.
"""

from __future__ import annotations

import sys
from pathlib import Path

BUDGETS = {
    "src/meanbounds/support": 450,
    "src/meanbounds/*.py": 1_700,
    "src/meanbounds/evidence": 600,
    "src/meanbounds/policies": 2_000,  # the guard included
    "src/meanbounds/linear": 1_800,
    "src/meanbounds/agents": 1_500,
    "src/meanbounds/theory": 1_300,
    "src/meanbounds/simulation": 4_000,
    "src/meanbounds/logs": 5_000,
    "src/meanbounds/service": 2_900,  # the page's markup included
    "src/meanbounds/cli": 1_300,
    "src": 26_000,
    "tests": 16_000,
    "paper": 3_500,
    "examples": 1_000,
    "benchmarks": 2_500,
}
WORDS = {"docs": 25_000, "README.md": 600}


def files(part: str) -> list[Path]:
    """The files of a part, markup that is served included: a folder with everything in it, or a pattern."""
    if part.endswith("*.py"):
        return list(Path().glob(part))
    kinds = {".py", ".html", ".css", ".js"} if part.startswith("src") else {".py"}
    return [path for path in Path(part).rglob("*") if path.suffix in kinds]


def lines(part: str) -> int:
    """Lines in a part."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files(part))


def words(part: str) -> int:
    """Words of Markdown in a folder or file."""
    path = Path(part)
    pages = [path] if path.is_file() else list(path.glob("*.md"))
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def main() -> int:
    """Print the table; return 1 if a part is over its budget."""
    rows = [(part, lines(part), budget, "lines") for part, budget in BUDGETS.items()]
    rows += [(part, words(part), budget, "words") for part, budget in WORDS.items()]
    over = 0
    for part, size, budget, unit in rows:
        over += size > budget
        print(f"{part:28} {size:7,} of {budget:7,} {unit}{'  over' if size > budget else ''}")
    longest = sorted(
        ((len(path.read_text(encoding="utf-8").splitlines()), path) for path in files("src")), reverse=True
    )
    print("longest files:", ", ".join(f"{path.name} {size}" for size, path in longest[:6]))
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
