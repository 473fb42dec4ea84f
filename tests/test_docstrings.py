"""Everything public says what it is for, and shows it."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

ROOMS = [
    *("meanbounds", "meanbounds.evidence", "meanbounds.logs", "meanbounds.theory", "meanbounds.plots"),
    *("meanbounds.worlds", "meanbounds.service"),
    *("meanbounds.fits.gymnasium", "meanbounds.fits.obp", "meanbounds.fits.river"),
]
PUBLIC = sorted({(room, name) for room in ROOMS for name in import_module(room).__all__ if not name.startswith("__")})


def documented(room: str, name: str) -> object:
    """A public class, function or module; None for a plain value, which cannot have a docstring of its own."""
    value = getattr(import_module(room), name)
    return value if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value) else None


def has_examples(text: str) -> bool:
    """Whether a numpydoc docstring has a section of examples, with at least one."""
    _, found, section = text.partition("\nExamples\n--------\n")
    return bool(found) and ">>> " in section


@pytest.mark.parametrize(("room", "name"), PUBLIC)
def test_public_names_have_a_docstring_with_examples(room: str, name: str) -> None:
    value = documented(room, name)
    if value is None:
        return
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__  # a class inherits its parent's
    assert own, f"{name} has no docstring"
    shown = inspect.ismodule(value) or has_examples(inspect.cleandoc(own))
    assert shown, f"the docstring of {name} has no Examples section"


def test_examples_are_recognised() -> None:
    assert has_examples("Say it.\n\nExamples\n--------\n>>> 1\n1\n")
    assert not has_examples("Say it.\n\nExamples\n--------\nNone.\n")
    assert not has_examples("Say it: Examples\n>>> 1\n1\n")
