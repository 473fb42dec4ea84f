"""Import packages that come with an extra; where one is missing, the error names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = ["EXTRAS", "import_optional", "optional"]

EXTRAS: dict[str, tuple[str, ...]] = {
    "plots": ("matplotlib",),
    "frames": ("pandas", "pyarrow"),
    "worlds": ("pandas", "pyarrow", "scipy"),
    "logs": ("duckdb", "pyarrow", "scipy"),
    "spark": ("pyspark", "pyarrow"),
    "postgres": ("psycopg",),
    "service": ("starlette", "msgspec", "uvicorn", "httpx", "psycopg", "httptools", "uvloop"),
    "distributed": ("dask", "distributed"),
    "river": ("river",),
    "gymnasium": ("gymnasium",),
}
"""The packages that each extra installs: ``pip install "meanbounds[plots]"`` brings matplotlib."""


@contextmanager
def optional(extra: str, purpose: str) -> Iterator[None]:
    """Import packages of an extra inside this block; if one is missing, the error says which extra to install.

    Parameters
    ----------
    extra
        One of `EXTRAS`.
    purpose
        What the packages are imported for, as the start of the message: "pictures need matplotlib: ...".

    Examples
    --------
    >>> from meanbounds.support.optional import optional
    >>> with optional("frames", "data frames"):
    ...     import pandas as pd

    Where pandas is missing, the import fails like this:

    >>> with optional("frames", "data frames"):
    ...     raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
    Traceback (most recent call last):
    ModuleNotFoundError: data frames need pandas, which is not installed: pip install "meanbounds[frames]"
    """
    packages = EXTRAS[extra]
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in packages:  # something else is missing, such as a package that pandas itself needs
            raise
        raise ModuleNotFoundError(
            f'{purpose} need {package}, which is not installed: pip install "meanbounds[{extra}]"', name=package
        ) from error


def import_optional(module: str, extra: str, purpose: str) -> Any:
    """Import one module of an extra by its name; if it is missing, the error says which extra to install.

    For modules that are imported without their types; otherwise use an import statement inside `optional`.

    Examples
    --------
    >>> from meanbounds.support.optional import import_optional
    >>> import_optional("pyarrow", "logs", "tables in memory").__name__
    'pyarrow'
    """
    with optional(extra, purpose):
        return import_module(module)
