"""The setting of a log: the arms' features, the known parameter, and the box of the hidden one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.support.checks import LARGEST, as_floats, shown
from meanbounds.support.types import Booleans, Floats

__all__ = ["LinearSetting", "check_setting"]


@dataclass(frozen=True, eq=False)
class LinearSetting:
    """Arms with features, a parameter of which one part is known, and a box for the part that only the expert saw.

    The mean reward of an arm is ``<visible, theta_visible> + <hidden, T>``, where T is the hidden part.

    Parameters
    ----------
    visible, hidden
        Features of each arm (a row for each) that go with the known and with the hidden parameter.
    theta_visible
        The known parameter.
    box_low, box_high
        Limits on the hidden parameter, in every round: one number, or one for each coordinate.
    arms
        Names, by default 0, 1, 2, ...

    Attributes
    ----------
    offset
        Known part of each arm's mean, ``<visible, theta_visible>``.

    Examples
    --------
    Two treatments. The effect of age is known; how a patient responds to the new treatment is hidden:

    >>> import meanbounds as mb
    >>> setting = mb.logs.LinearSetting(
    ...     visible=[[-0.8], [0.5]], hidden=[[0.9], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0,
    ...     arms=["new", "old"],
    ... )  # fmt: skip
    >>> setting.offset
    array([-0.8,  0.5])
    """

    visible: Floats
    hidden: Floats
    theta_visible: Floats
    box_low: Floats
    box_high: Floats
    arms: tuple[Arm, ...]
    offset: Floats

    def __init__(
        self,
        visible: ArrayLike,
        hidden: ArrayLike,
        *,
        theta_visible: ArrayLike,
        box_low: ArrayLike,
        box_high: ArrayLike,
        arms: Iterable[Arm] | None = None,
    ) -> None:
        rows = np.ascontiguousarray(as_floats("hidden", hidden))
        if rows.ndim != 2 or 0 in rows.shape:
            raise ValueError(f"hidden must have a row of features for each arm; got an array of shape {rows.shape}")
        names = MeanBounds.vacuous(len(rows) if arms is None else arms).arms
        known = as_floats("visible", visible)
        theta = np.atleast_1d(as_floats("theta_visible", theta_visible))
        _check_features(known, rows, names)
        _check_parameter(theta, known.shape[1])
        low, high = _box(box_low, box_high, rows.shape[1])
        parts: dict[str, Any] = {"visible": known, "hidden": rows, "theta_visible": theta, "arms": names}
        parts |= {"box_low": low, "box_high": high, "offset": known @ theta}
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def __len__(self) -> int:
        return len(self.arms)

    def reach(self) -> tuple[Floats, Floats]:
        """Return the least and the largest hidden part ``<hidden, x>`` of each arm's mean, over all x in the box.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = {"theta_visible": [1.0], "box_low": 0.0, "box_high": 2.0}
        >>> mb.logs.LinearSetting([[0.0], [0.0]], [[1.0], [-1.0]], **known).reach()
        (array([ 0., -2.]), array([2., 0.]))
        """
        up, down = np.maximum(self.hidden, 0.0), np.minimum(self.hidden, 0.0)
        return up @ self.box_low + down @ self.box_high, up @ self.box_high + down @ self.box_low

    def per_arm(self, what: str, value: ArrayLike) -> Floats:
        """Return an array of one number for each arm; a ValueError says what was given instead.

        Examples
        --------
        >>> import meanbounds as mb
        >>> setting = mb.logs.LinearSetting([[0.0]], [[1.0]], theta_visible=[1.0], box_low=0.0, box_high=2.0)
        >>> setting.per_arm("share", [0.5, 0.5])
        Traceback (most recent call last):
        ValueError: share must have one entry for each of 1 arms; got an array of shape (2,)
        """
        array = as_floats(what, value)
        if array.shape != (len(self),):
            raise ValueError(
                f"{what} must have one entry for each of {len(self)} arms; got an array of shape {array.shape}"
            )
        return array


def check_setting(setting: object) -> None:
    """Raise a TypeError unless this is a `LinearSetting`.

    Examples
    --------
    >>> check_setting(None)
    Traceback (most recent call last):
    TypeError: setting must be a LinearSetting; got None
    """
    if not isinstance(setting, LinearSetting):
        raise TypeError(f"setting must be a LinearSetting; got {shown(setting)}")


def _check_features(visible: Floats, hidden: Floats, names: tuple[Arm, ...]) -> None:
    if len(names) != len(hidden) or visible.ndim != 2 or len(visible) != len(hidden):
        raise ValueError(
            f"hidden has {len(hidden)} rows, visible has shape {visible.shape}, and there are {len(names)} names: give "
            f"a row of hidden features, a row of visible ones and a name for each arm"
        )
    for what, block in (("visible", visible), ("hidden", hidden)):
        for k in np.flatnonzero(~np.all(_fit(block), axis=1)):
            raise ValueError(
                f"arm {names[k]!r}: its {what} features {block[k].tolist()} are not all finite numbers, smaller than "
                f"{LARGEST:g} in size"
            )


def _check_parameter(theta: Floats, size: int) -> None:
    if theta.shape != (size,):
        raise ValueError(f"theta_visible has shape {theta.shape}; visible has {size} features for each arm")
    if not _fit(theta).all():
        raise ValueError(
            f"theta_visible must be finite numbers; got {theta.tolist()}"
            + (f"; they are smaller than {LARGEST:g} in size" if np.isfinite(theta).all() else "")
        )


def _fit(values: Floats) -> Booleans:
    """Numbers whose products do not overflow; NaN is none."""
    fit: Booleans = np.abs(values) < LARGEST
    return fit


def _box(box_low: ArrayLike, box_high: ArrayLike, size: int) -> tuple[Floats, Floats]:
    ends = []
    for what, value in (("box_low", box_low), ("box_high", box_high)):
        end = as_floats(what, value)
        if end.shape not in ((), (size,)) or not _fit(end).all():
            raise ValueError(
                f"{what} must be one finite number, or one for each of {size} hidden features, smaller than "
                f"{LARGEST:g} in size; got {shown(value)}"
            )
        ends.append(np.broadcast_to(end, size).copy())
    for i in np.flatnonzero(ends[0] > ends[1]):
        raise ValueError(f"the box is empty: coordinate {i} is between {ends[0][i]} and {ends[1][i]}")
    return ends[0], ends[1]
