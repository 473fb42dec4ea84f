"""Import packages that come with an extra; where one is missing, the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["import_optional"]


def import_optional(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an extra; if it is missing, the error says which extra to install.

    Examples
    --------
    >>> import_optional("nosuchmodule", "plots", "pictures")
    Traceback (most recent call last):
    ModuleNotFoundError: pictures need nosuchmodule; in a clone of meanbounds: pip install ".[plots]"
    """
    package = module.split(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:  # something else is missing, such as a package that it needs itself
            raise
        raise ModuleNotFoundError(
            f'{purpose} need {package}; in a clone of meanbounds: pip install ".[{extra}]"', name=package
        ) from error
