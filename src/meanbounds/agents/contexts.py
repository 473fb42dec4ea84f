"""Names of contexts: what may be one, and how they are saved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meanbounds.support.checks import shown

__all__ = ["Context", "as_lists", "as_tuples", "check_context"]

Context = Any
"""The name of a context: a text, a number, or a tuple of these."""

_DEEPEST = 20  # tuples within tuples in the name of a saved context


def check_context(context: Context) -> Context:
    """Check the name of a context and return it with numpy's numbers made plain.

    Names that cannot be compared or saved, such as NaN and None, are refused.

    Examples
    --------
    >>> check_context((np.int64(3), "old"))
    (3, 'old')
    >>> check_context(float("nan"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: a context is a text, a number or a tuple of these; got nan. A missing value (NaN, None) needs...
    """
    if isinstance(context, tuple):
        return tuple(check_context(part) for part in context)
    plain = context.item() if isinstance(context, np.generic) else context
    if not isinstance(plain, str | int | float) or (isinstance(plain, float) and math.isnan(plain)):
        raise TypeError(
            f"a context is a text, a number or a tuple of these; got {context!r}. A missing value (NaN, None) needs a "
            f'name of its own, such as "unknown"'
        )
    return plain


def as_lists(context: Context) -> Context:
    """The name as JSON has it.

    Examples
    --------
    >>> as_lists(("old", (3, "a")))
    ['old', [3, 'a']]
    """
    return [as_lists(part) for part in context] if isinstance(context, tuple) else context


def as_tuples(context: Context, depth: int = 0) -> Context:
    """The name that `as_lists` was given.

    Examples
    --------
    >>> as_tuples(["old", [3, "a"]])
    ('old', (3, 'a'))
    """
    if depth > _DEEPEST:
        raise ValueError(f"the name of a saved context is nested more than {_DEEPEST} times: {shown(context)}")
    return tuple(as_tuples(part, depth + 1) for part in context) if isinstance(context, list) else context
