"""Files that commands write: pictures and tables, whole or not at all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from meanbounds.support.text import inert_cell
from meanbounds.support.writing import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["need", "save_picture", "save_table"]


def need(*packages: str) -> None:
    """Import packages that a command uses at its end, so that a missing one is noticed before hours of work.

    Examples
    --------
    >>> from meanbounds.cli.files import need
    >>> need("json")
    >>> need("not_installed")
    Traceback (most recent call last):
    ModuleNotFoundError: No module named 'not_installed'
    """
    for package in packages:
        import_module(package)


def save_picture(figure: Figure, path: Path) -> Path:
    """Save a figure and return the path; a name without a suffix gets ``.png``."""
    path = path if path.suffix else path.with_name(f"{path.name}.png")
    write_atomically(path, lambda partial: figure.savefig(partial, dpi=150))
    return path


def save_table(frame: pd.DataFrame, path: Path) -> None:
    """Save a data frame as a CSV file in which no cell, and no name of a column, is a formula to a spreadsheet."""
    inert = frame.map(inert_cell).rename(columns=inert_cell)
    write_atomically(path, lambda partial: inert.to_csv(partial, index=False))
