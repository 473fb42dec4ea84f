"""Build the documentation site: ``python -m tools.site``, or ``make docs``.

The pages are those of docs/, as they are; README becomes the first one. The reference is made from docstrings. A
warning of Sphinx is an error.
"""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
GUIDE = ["logs", "columns", "promise", "trials", "service", "live", "start", "which_policy", "trust", "own_policy"]
GUIDE += ["own_environment", "linear", "theorems", "paper", "fast"]
BESIDE = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/RESULTS.md"]
LINKED = ["src", "tests", "paper", "LICENSE"]  # what pages may link to
REFERENCE = {
    "meanbounds": "Bounds, agents, policies",
    "meanbounds.logs": "Logs",
    "meanbounds.policies": "Writing policies",
    "meanbounds.linear": "Arms with features",
    "meanbounds.service.store": "Stores",
    "meanbounds.service.client": "Asking a service",
    "meanbounds.simulation": "Simulation",
    "meanbounds.evidence": "Evidence",
    "meanbounds.theory": "Theory",
}


def main(output: Path = ROOT / "site") -> int:
    """Build the site into a folder; returns 0 if nothing is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder))
        shutil.rmtree(output, ignore_errors=True)
        options = ["-W", "--keep-going", "-q", "-c", str(ROOT / "docs"), "-d", f"{folder}/.doctrees"]
        status = subprocess.run([sys.executable, "-m", "sphinx", *options, folder, str(output)], check=False).returncode
    print(f"written to {output / 'index.html'}" if status == 0 else "the site has errors")
    return status


def stage(folder: Path) -> None:
    """Put everything that Sphinx reads into a folder."""
    odd = {path.stem for path in (ROOT / "docs").glob("*.md")} ^ set(GUIDE)
    if odd:
        raise SystemExit(f"tools/site.py lists other pages than docs/ has: {', '.join(sorted(odd))}")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("conf.py"))
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    for name in BESIDE:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    (folder / "reference").mkdir()
    for module, title in REFERENCE.items():
        (folder / "reference" / f"{module}.rst").write_text(reference(module, title), encoding="utf-8")
    first = (ROOT / "README.md").read_text(encoding="utf-8")
    first += contents("Guide", [*(f"{page.replace('_', ' ').capitalize()} <docs/{page}>" for page in GUIDE), *BESIDE])
    first += contents("Reference", [f"reference/{module}" for module in REFERENCE])
    (folder / "index.md").write_text(first, encoding="utf-8")


def contents(caption: str, pages: list[str]) -> str:
    """A part of the table of contents."""
    return "\n".join(["\n```{toctree}", ":hidden:", f":caption: {caption}\n", *pages, "```\n"])


def reference(module: str, title: str) -> str:
    """The page of a module: every public name that `meanbounds` itself does not have."""
    found, top = import_module(module), import_module("meanbounds")
    parts = [title, "=" * len(title), "", f".. automodule:: {module}", "   :no-members:", ""]
    for name in sorted(found.__all__, key=str.lower):
        value = getattr(found, name)
        if inspect.ismodule(value) or (found is not top and getattr(top, name, None) is value):
            continue
        if inspect.isclass(value):
            parts += [f".. autoclass:: {module}.{name}", "   :members:", ""]
        elif inspect.isroutine(value):
            parts += [f".. autofunction:: {module}.{name}", ""]
        else:  # its text stands where the value is made
            modules = [path for path, own in sys.modules.items() if name in vars(own).get("__all__", ())]
            parts += [f".. autodata:: {max(modules, key=len)}.{name}", "   :no-value:", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
