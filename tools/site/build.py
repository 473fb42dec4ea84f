"""Build the site: stage the pages, draw the pictures, run Sphinx, write llms.txt."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

from sphinx.cmd.build import build_main

from tools.site.llms import llms_text
from tools.site.pages import ROOT
from tools.site.pictures import PICTURES, draw
from tools.site.staging import stage

__all__ = ["build"]


def build(output: Path, *, quick: bool = False) -> Path | None:
    """Build the site in a folder and return its first page; None if there was a warning, which Sphinx has printed.

    Parameters
    ----------
    output
        The folder; what an earlier build left there is removed first. The site itself is in `html`.
    quick
        Draw the pictures from fewer runs.
    """
    source, html = output / "source", output / "html"
    for folder in (source, html, output / "doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    stage(source, frozenset(PICTURES))
    draw(source, quick=quick)
    options = ["-b", "html", "-q", "-n", "-W", "--keep-going", "-d", str(output / "doctrees")]
    if build_main([*options, str(source), str(html)]) != 0:
        return None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (html / "llms.txt").write_text(llms_text(source, project["description"]), encoding="utf-8")
    return html / "index.html"
