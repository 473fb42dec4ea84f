"""A plan: the arms that a policy may play and the numbers it uses for each, decided before the first round."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.kernels.arms.codes import ROWS_OF_DOUBT
from meanbounds.support.checks import as_floats, as_positions, is_masked, shown
from meanbounds.support.rounding import rounding
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True, eq=False)
class Plan:
    """The arms that a policy may play, and the numbers that its kernel uses for each; `make_plan` makes one.

    All arrays have one entry for each arm that is kept.

    Attributes
    ----------
    table
        The rows as kernels take them: arms, low, width, lower, cap, proxy, high.
    arms
        The positions of these arms among all arms.
    low, width
        Where each arm's reward range starts, and how wide it is, in reward units.
    lower
        The lower bound on the mean that the kernel may use, in reward units.
    cap
        The largest value of the index, in reward units; infinite for no cap.
    proxy
        The variance proxy, in reward units squared.
    is_doubted
        Whether the bounds may be wrong. The table then has two plans, with the bounds and without, and two more rows;
        the attributes above are those with the bounds.
    prior_code
        What the prior in the last rows of each plan in the table adds to the code of the kernel; 0 if there is none.
        `meanbounds.Prior.rows` and `meanbounds.PriorMixture.parts` give the rows.

    Examples
    --------
    >>> import meanbounds as mb
    >>> plan = mb.GLUE().plan(mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]))
    >>> plan.arms, plan.cap
    (array([0, 2]), array([0.9, 0.8]))
    >>> len(plan), plan.proxy.round(3)
    (2, array([0.247, 0.247]))
    """

    table: Floats
    """The rows as kernels take them: arms, low, width, lower, cap, proxy, high."""

    is_doubted: bool = False
    """Whether the table has two plans, for bounds that may be wrong; see `meanbounds.kernels.arms.doubt`."""

    prior_code: int = 0
    """What the prior in the last rows of the table adds to the code of the kernel; 0 if there is none."""

    @property
    def arms(self) -> Integers:
        """The positions, among all arms, of the arms that are kept."""
        arms: Integers = self.table[0].astype(np.int64)
        return arms

    @property
    def low(self) -> Floats:
        """The bottom of each arm's reward range."""
        low: Floats = self.table[1]
        return low

    @property
    def width(self) -> Floats:
        """The width of each arm's reward range."""
        width: Floats = self.table[2]
        return width

    @property
    def lower(self) -> Floats:
        """The lower bound on each arm's mean that the kernel may use."""
        lower: Floats = self.table[3]
        return lower

    @property
    def cap(self) -> Floats:
        """The largest value that each arm's index may take."""
        cap: Floats = self.table[4]
        return cap

    @property
    def proxy(self) -> Floats:
        """The variance proxy of each arm, in reward units squared."""
        proxy: Floats = self.table[5]
        return proxy

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def __repr__(self) -> str:
        rows = {name: getattr(self, name).tolist() for name in ("arms", "low", "width", "lower", "cap", "proxy")}
        return f"Plan({', '.join(f'{name}={values}' for name, values in rows.items())})"

    def select(self, keep: Booleans | Integers) -> Plan:
        """The same plan with only these arms.

        Parameters
        ----------
        keep
            A mask over the arms of the plan, or their positions in the plan.

        Examples
        --------
        >>> import meanbounds as mb
        >>> plan = mb.make_plan(mb.MeanBounds([0.2, 0.3], [0.8, 0.9]), cap=[0.8, 0.9])
        >>> plan.select(plan.cap > 0.85).arms
        array([1])
        """
        return replace(self, table=np.ascontiguousarray(self.table[:, as_positions(keep, len(self))]))

    def placed(self, positions: ArrayLike) -> Plan:
        """The same plan, renumbered for arms that are some of a larger set.

        A plan made for the eligible arms counts them 0, 1, 2, ...; this puts in their positions among all arms.

        Parameters
        ----------
        positions
            For each arm that the plan was made for, its position among all arms.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.make_plan(mb.MeanBounds([0.2, 0.3], [0.8, 0.9])).placed([3, 7]).arms
        array([3, 7])
        """
        table = self.table.copy()
        try:
            table[0] = _places(positions)[self.arms]
        except IndexError:
            raise ValueError(
                f"positions must have one entry for each arm that the plan was made for; got {shown(positions)}"
            ) from None
        if self.is_doubted:
            table[(len(table) - ROWS_OF_DOUBT) // 2] = table[0]
        return replace(self, table=table)


def make_plan(
    bounds: MeanBounds,
    keep: Booleans | None = None,
    *,
    cap: ArrayLike = np.inf,
    proxy: ArrayLike = 0.0,
    lower: ArrayLike | None = None,
) -> Plan:
    """Make a plan for the arms of these bounds; `Policy.prepare` of most policies is one call of this.

    Parameters
    ----------
    bounds
        The arms and their reward ranges; the bounds themselves are used only through the other arguments.
    keep
        Which arms may be played, as a mask; all by default.
    cap
        The largest value of each arm's index, in reward units: one number or one for each arm; no cap by default. Caps
        that differ by rounding errors alone are made equal.
    proxy
        The variance proxy of each arm, in reward units squared: one number or one for each arm.
    lower
        The lower bound on each mean that the kernel may use, in reward units; the bottom of the range by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8])
    >>> plan = mb.make_plan(bounds, bounds.possible, cap=bounds.upper, proxy=0.25)  # B-UCB
    >>> plan.arms, plan.cap, plan.proxy
    (array([0, 2]), array([0.9, 0.8]), array([0.25, 0.25]))
    """
    check_bounds(bounds)
    size = len(bounds)
    table = np.empty((7, size))
    table[0] = np.arange(size)
    table[1] = bounds.low
    table[2] = bounds.high - bounds.low
    table[3] = bounds.low if lower is None else _for_each("lower", lower, size)
    table[4] = _joined(_for_each("cap", cap, size), bounds)
    table[5] = _for_each("proxy", proxy, size)
    table[6] = bounds.high
    if np.isnan(table).any():
        raise ValueError("a plan needs numbers for each arm; one of lower, cap and proxy is not a number (NaN)")
    plan = Plan(table)
    return plan if keep is None else plan.select(keep)


def _for_each(name: str, value: Any, size: int) -> Floats:
    """One number, or one for each arm."""
    array = as_floats(name, value)
    if array.shape not in ((), (size,)):
        raise ValueError(f"{name} has shape {array.shape}; give one number or one for each of {size} arms")
    return array


def _joined(caps: Floats, bounds: MeanBounds) -> Floats:
    """The same caps, those that differ by rounding errors alone raised to the largest of them, so that indices tie."""
    caps = np.array(np.broadcast_to(caps, (len(bounds),)))
    order = np.argsort(caps, kind="stable")[::-1]
    slack = float(rounding(bounds.low, bounds.high).max())
    for larger, smaller in itertools.pairwise(order.tolist()):
        if np.isfinite(caps[larger]) and caps[larger] - caps[smaller] <= slack:
            caps[smaller] = caps[larger]
    return caps


def _places(positions: Any) -> Integers:
    """Positions among all arms: whole numbers from 0 on."""
    try:
        places = np.asarray(None if is_masked(positions) else positions)
    except ValueError:  # rows of different lengths
        places = np.zeros(())
    if places.ndim != 1 or places.dtype.kind not in "iu" or np.any(places < 0):
        raise ValueError(f"positions must be whole numbers from 0 on, one for each arm; got {shown(positions)}")
    return places
