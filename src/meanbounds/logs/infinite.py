"""Bounds from an infinite log: the claims of an assumption with the means as they are."""

from __future__ import annotations

import numpy as np

from meanbounds.logs.assumptions.claims import Claims, Raised
from meanbounds.logs.cells import Cells
from meanbounds.logs.weights import Weights
from meanbounds.support.types import Floats

__all__ = ["infinite_bounds", "infinite_checks"]


def infinite_bounds(cells: Cells, weights: Weights | None, claims: Claims) -> tuple[Floats, Floats]:
    """Both bounds on each arm's mean, contexts x arms, in units of the range.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.assumptions import OptimalExpert, World
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.infinite import infinite_bounds
    >>> share, part = np.array([[0.75, 0.25]]), np.array([[0.6, 0.2]])
    >>> claims = OptimalExpert(gap_low=0.2, gap_high=0.4).claims(World(("all",), 0.0, 1.0))
    >>> lower, upper = infinite_bounds(Cells.without_values(share, part, part), None, claims)
    >>> lower.round(3), upper.round(3)
    (array([[0.7, 0.5]]), array([[0.75, 0.65]]))
    """
    rows = np.maximum(cells.rows.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    share, part = cells.rows / rows, cells.total / rows
    gain = np.maximum(part - claims.gap_high[:, None] * share, 0.0)
    lower = part + gain.sum(axis=1, keepdims=True) - gain
    upper: Floats = np.min([_raised(cells, share, part, rows, one) for one in claims.raised], axis=0)
    turned = cells.mirrored() if claims.tilted else cells
    for one in claims.tilted:
        upper = np.minimum(upper, _tilted(cells, share, one.odds))
        lower = np.maximum(lower, 1.0 - _tilted(turned, share, one.odds))
    if weights is not None and claims.weighted:
        known = weights.plain_means()
        lower, upper = np.fmax(lower, known), np.fmin(upper, known)  # NaN where an arm was never played
    return lower, upper


def infinite_checks(cells: Cells, gap: Floats) -> Floats:
    """The mean of (Y - gap) 1{A = k} for each arm."""
    rows = np.maximum(cells.rows.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    found: Floats = (cells.total - gap[:, None] * cells.rows) / rows
    return found


def _raised(cells: Cells, share: Floats, part: Floats, rows: Floats, one: Raised) -> Floats:
    """The least of the bounds over all floors: it is at a reward that occurs, or at an end of the range."""
    floors: set[float] = set(one.floors)
    if len(floors) > 1:
        floors = {0.0, 1.0, *cells.values_high.tolist()}
    best = np.full(share.shape, np.inf)
    minus, plus, errors = (column[:, None] for column in (one.minus, one.plus, one.errors))
    for floor in floors:
        if 0.0 < floor < 1.0 and cells.values_high.size:
            raised = cells.counted @ np.maximum(cells.values_high, floor) / rows
        else:
            raised = floor * share + (1.0 - floor) * part
        rest = raised.sum(axis=1, keepdims=True) - raised - minus * (1.0 - share)
        best = np.minimum(best, part + rest + plus + errors * (1.0 + minus - floor))
    return best


def _tilted(cells: Cells, share: Floats, odds: Floats) -> Floats:
    """The least of the bounds over all thresholds; 1 for an arm that was never played."""
    played = cells.rows > 0.0
    own = np.where(played, cells.rows, 1.0)
    mean = cells.total / own
    factor = odds[:, None]
    best = np.ones(share.shape)
    for q in {0.0, 1.0, *cells.values_high.tolist()}:
        if cells.values_high.size:
            above = cells.counted @ np.maximum(cells.values_high - q, 0.0) / own
            below = cells.counted @ np.maximum(q - cells.values_high, 0.0) / own
        else:
            above, below = mean * (1.0 - q), (1.0 - mean) * q
        tilted = q + factor * above - below / factor
        best = np.where(played, np.minimum(best, share * mean + (1.0 - share) * tilted), best)
    return best
