"""Run experiments, write their pictures and tables, and compare the paper's claims with the measurements."""

from __future__ import annotations

import html
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper import NAMES, experiment
from meanbounds.paper.base import PHONE, Claim, Experiment, Work
from meanbounds.paper.page import DPI, image, page, table
from meanbounds.paper.verdicts import Verdict
from meanbounds.support.locking import locked
from meanbounds.support.writing import write_atomically, write_text_atomically
from meanbounds.worlds.movielens import load_movielens

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["reproduce"]

_STYLE = """
.claim { border-left: 0.35rem solid; padding: 0.1rem 0 0.1rem 0.8rem; margin: 1rem 0; overflow-wrap: anywhere; }
.claim p { margin: 0.2rem 0; }
.verdict { font-weight: 600; }
.source, .about { color: #555; font-size: 0.92rem; }
.holds { border-color: #009e73; } .holds .verdict { color: #00704f; }
.corrected { border-color: #e69f00; } .corrected .verdict { color: #8a5f00; }
.fails { border-color: #d55e00; } .fails .verdict { color: #b04a00; }
"""


@dataclass(frozen=True)
class _Section:
    """Results of one experiment: its pictures, and its claims with verdicts."""

    name: str
    module: Experiment
    pictures: dict[str, bytes]
    claims: Sequence[Claim]


def reproduce(
    names: Sequence[str] = (),
    folder: str | Path = "reproduce",
    *,
    quick: bool = False,
    movielens: str | Path | None = None,
    say: Callable[[str], object] = print,
    progress: bool | None = None,
) -> Path:
    """Reproduce figures and tables of the paper and write a report; finished results are not computed again.

    Parameters
    ----------
    names
        Names of the experiments, see `meanbounds.paper.NAMES`; all by default.
    folder
        Where to write: a folder for each experiment with pictures (PNG and PDF), numbers (Parquet) and settings, the
        claims as claims.parquet and claims.md, and report.html, which needs none of the others.
    quick
        With few runs, to see whether it works: about two minutes on two cores that are free.
    movielens
        Folder or archive with the files of MovieLens 1M; without it, made-up data of the same shape.
    say
        Called with a line of text after each experiment; prints it by default.
    progress
        Show progress bars; by default on a terminal.

    Returns
    -------
    Path
        The report, ``report.html``.

    Examples
    --------
    >>> import tempfile
    >>> from meanbounds.paper.report import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce(["factor"], folder, quick=True, say=lambda line: None).name
    'report.html'
    """
    wanted = [name for name in NAMES if name in (names or NAMES)]
    modules = {name: experiment(name) for name in [*wanted, *names]}  # says so if a name is unknown
    if movielens is not None:
        movielens = Path(movielens).expanduser()
        if any(_rated(modules[name]) for name in wanted):
            load_movielens(movielens)  # says what is wrong with the files before anything else is computed
        else:
            say(f"nothing that is asked for is about ratings: {movielens} is not read")
    root = Path(folder).expanduser()
    if root.exists() and not root.is_dir():
        raise ValueError(f"{root} is a file; give the name of a folder")
    with locked(root):
        sections = []
        for number, name in enumerate(wanted, start=1):
            start = time.monotonic()
            sections.append(_section(name, modules[name], root / name, quick, movielens, progress))
            counts = Counter(claim.verdict for claim in sections[-1].claims)
            words = ", ".join(f"{count} {kind}" for kind in Verdict if (count := counts[kind]))
            took = f"{time.monotonic() - start:.0f} s"
            say(f"[{number}/{len(wanted)}] {name}: {modules[name].TITLE}, {took}; claims: {words}")
        write_atomically(root / "claims.parquet", _claims_table(sections).to_parquet)
        write_text_atomically(root / "claims.md", _claims(sections, quick))
        write_text_atomically(root / "report.html", _report(sections, quick))
    return root / "report.html"


def _section(
    name: str, module: Experiment, folder: Path, quick: bool, movielens: str | Path | None, progress: bool | None
) -> _Section:
    settings: Any = module.QUICK if quick else module.SETTINGS
    if movielens is not None and _rated(module):
        settings = replace(settings, movielens=str(movielens))
    work = Work(folder, settings, progress)
    results = module.run(settings, work)
    pictures = {}
    with plt.rc_context(PHONE):
        for picture, figure in module.plot(results).items():
            pictures[picture] = _save(figure, work, picture)
    return _Section(name, module, pictures, module.claims(results))


def _rated(module: Experiment) -> bool:
    """Whether the experiment is about ratings."""
    return any(field.name == "movielens" for field in fields(module.SETTINGS))


def _save(figure: Figure, work: Work, name: str) -> bytes:
    """Write a picture as PNG and PDF, and return the content of the PNG file."""
    path = work.write(f"{name}.png", lambda partial: figure.savefig(partial, dpi=DPI))
    without_date = {"CreationDate": None}  # the same file each time
    work.write(f"{name}.pdf", lambda partial: figure.savefig(partial, metadata=without_date))
    plt.close(figure)
    return path.read_bytes()


def _claims_table(sections: Sequence[_Section]) -> pd.DataFrame:
    """The claims as a data frame."""
    import pandas as pd

    rows = [
        {
            "experiment": section.name,
            "source": claim.source,
            "claim": claim.text,
            "measured": claim.measured,
            "verdict": str(claim.verdict),
        }
        for section in sections
        for claim in section.claims
    ]
    return pd.DataFrame(rows)


def _claims(sections: Sequence[_Section], quick: bool) -> str:
    """The claims as Markdown."""
    command = "meanbounds reproduce --quick" if quick else "meanbounds reproduce"
    lines = ["# What becomes of the paper's claims", "", f"Written by `{command}`, meanbounds {mb.__version__}.", ""]
    for section in sections:
        lines += [f"## {section.module.TITLE}", "", f"{section.module.SOURCE}. {section.module.ABOUT}", ""]
        lines += ["| claim | measured | verdict |", "|---|---|---|"]
        for claim in section.claims:
            cells = (f"{claim.source}: {claim.text}", claim.measured, f"**{claim.verdict}**")
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _report(sections: Sequence[_Section], quick: bool) -> str:
    rows = []
    for section in sections:
        counts = Counter(claim.verdict for claim in section.claims)
        name = f"{section.module.SOURCE}: {section.module.TITLE}"
        rows.append((name, *(str(counts[kind] or "") for kind in Verdict)))
    warning = (
        "<p><strong>A quick look: with so few runs, orders that are there may not show. Run it without --quick for "
        "verdicts.</strong></p>"
        if quick
        else ""
    )
    body = [
        "<p>Each figure and table of <em>Bandits with Mean Bounds</em> (Sharma, Basu, Shanmugam, Shakkottai), computed "
        "anew, with what the paper claims of it beside what was measured. Verdicts are computed from the numbers: "
        "regrets are compared run by run, on the same rewards, or draw by draw where runs share their arms, by an "
        "exact sign test. A claim <em>holds after correction</em> if it is false as printed and true once the error is "
        "put right; docs/paper.md lists the errors. The paper gives no instances for most figures; those used are in "
        "each folder's settings.json. "
        f"meanbounds {mb.__version__}.</p>",
        warning,
        table(("", *Verdict), rows),
    ]
    for section in sections:
        module = section.module
        body.append(f'<h2 id="{section.name}">{html.escape(module.TITLE)}</h2>')
        body.append(f'<p class="about">{html.escape(f"{module.SOURCE}. {module.ABOUT}")}</p>')
        body += [image(data, f"{module.TITLE}: {picture}") for picture, data in section.pictures.items()]
        body += [_card(claim) for claim in section.claims]
    return page("What becomes of the paper's claims", "\n".join(body), _STYLE)


def _card(claim: Claim) -> str:
    kind = claim.verdict.name.lower()
    return (
        f'<div class="claim {kind}"><p><span class="verdict">{claim.verdict}</span> '
        f'<span class="source">({html.escape(claim.source)})</span></p>'
        f"<p>{html.escape(claim.text)}</p><p>Measured: {html.escape(claim.measured)}.</p></div>"
    )
