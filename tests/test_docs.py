"""README and the pages of docs: their examples run (in test_road those that need a service), links lead somewhere."""

import os
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType

import matplotlib
import pytest

ROOT = Path(__file__).parent.parent
ON_THE_ROAD = ("service.md", "columns.md")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ON_THE_ROAD], ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))
    matplotlib.use("Agg")
    module = ModuleType("a_page")  # dataclasses look for the module in which they are defined
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks:
            exec(compile(block, page.name, "exec"), vars(module))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")) + re.findall(
        r'src="([^"]+)"', page.read_text(encoding="utf-8")
    )
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


def test_docs_keep_to_their_size() -> None:
    words = [len(page.read_text(encoding="utf-8").split()) for page in PAGES if page.parent.name == "docs"]
    assert len(words) <= 20
    assert sum(words) <= 25_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 600


def test_paths_of_a_machine_are_not_in_the_pages() -> None:
    own = os.environ.get("HOME", "/root")
    assert not [page for page in PAGES if f"{own}/" in page.read_text(encoding="utf-8")]
