"""What can be assumed of those who wrote a log, one file for each assumption.

Each is a small frozen object. `claims` explains the mathematics that all of them share, and `base` what every one can
do. `meanbounds.logs.bounds` takes one; ``a & b`` assumes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions.any_expert import AnyExpert
from meanbounds.logs.assumptions.base import Assumption, Believed, PerContext, World, by_context
from meanbounds.logs.assumptions.erring import ErringExpert
from meanbounds.logs.assumptions.marginal import MarginalSensitivity
from meanbounds.logs.assumptions.nearly_optimal import NearlyOptimalExpert
from meanbounds.logs.assumptions.optimal import OptimalExpert
from meanbounds.logs.assumptions.propensity import KnownPropensity
from meanbounds.support.checks import as_mapping, shown

__all__ = [
    "KINDS",
    "AnyExpert",
    "Assumption",
    "Believed",
    "ErringExpert",
    "KnownPropensity",
    "MarginalSensitivity",
    "NearlyOptimalExpert",
    "OptimalExpert",
    "PerContext",
    "World",
    "assumption_from_dict",
    "by_context",
    "check_assumption",
]

KINDS: Mapping[str, type[Assumption]] = {
    one.kind: one
    for one in (OptimalExpert, ErringExpert, NearlyOptimalExpert, AnyExpert, MarginalSensitivity, KnownPropensity)
}
"""The assumptions by the names under which they are saved."""


def assumption_from_dict(data: Mapping[str, Any]) -> Assumption:
    """Make the assumption that `Assumption.to_dict` described.

    Parameters
    ----------
    data
        Its kind, and its numbers by name.

    Raises
    ------
    BoundsError
        If the data describe no assumption.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.logs.assumption_from_dict({"kind": "erring-expert", "errors": 0.05, "gap_low": 0.1})
    ErringExpert(0.05, gap_low=0.1)
    """
    entries = dict(as_mapping("a saved assumption", data, error=BoundsError))
    kind = entries.pop("kind", None)
    if kind == Believed.kind:
        parts = entries.get("parts")
        if not (isinstance(parts, list) and parts):
            raise BoundsError(f"an assumption of the kind {kind!r} needs a list of parts; got {shown(parts)}")
        return Believed(tuple(assumption_from_dict(part) for part in parts))
    if not (isinstance(kind, str) and kind in KINDS):
        raise BoundsError(f"an assumption needs a kind, one of {', '.join(map(repr, KINDS))}; got {shown(kind)}")
    try:
        return KINDS[kind](**entries)
    except TypeError:
        raise BoundsError(
            f"an assumption of the kind {kind!r} cannot have the entries {shown(sorted(entries))}"
        ) from None


def check_assumption(given: object) -> Assumption:
    """Return an assumption as it is, and refuse everything else.

    Examples
    --------
    >>> from meanbounds.logs.assumptions import check_assumption
    >>> check_assumption("any-expert")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: assumption must be an object such as meanbounds.logs.AnyExpert() or OptimalExpert(gap_low=0.1); got ...
    """
    if isinstance(given, Assumption):
        return given
    raise TypeError(
        f"assumption must be an object such as meanbounds.logs.AnyExpert() or OptimalExpert(gap_low=0.1); got "
        f"{shown(given)}"
    )
