"""Linear programs: how small and how large an arm's hidden part can be in the rounds in which another was best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.bounds import BoundsError
from meanbounds.kernels.solvers.simplex import Polytope, Vertices, maximise_all
from meanbounds.logs.hidden_parameter.setting import LinearSetting
from meanbounds.support.progress import Progress
from meanbounds.support.types import Booleans, Floats

__all__ = ["ROUNDING", "MeanLimits", "Values", "solve_programs", "when_best"]

ROUNDING = 1e-10
"""How far each limit is relaxed, as a share of its scale, so that a log that fits exactly still does when rounded."""


@dataclass(frozen=True, eq=False)
class MeanLimits:
    """Limits on each arm's mean reward when it was played; both are the same array if the means are known."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Values:
    """Least and largest ``<hidden_k, x_j>``, at [j, k], and for each j whether some x_j satisfies all constraints."""

    least: Floats
    most: Floats
    possible: Booleans


def when_best(setting: LinearSetting, j: int, mean_low: float, mean_high: float) -> Polytope:
    """Return the constraints on x_j, the mean of the hidden parameter over the rounds in which arm j was the best.

    The arm's mean reward in these rounds is between `mean_low` and `mean_high`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.hidden_parameter.programs import when_best
    >>> known = {"theta_visible": [1.0], "box_low": 0.0, "box_high": 1.0}
    >>> setting = mb.logs.LinearSetting([[0.0], [0.3]], [[1.0, 0.0], [0.0, 1.0]], **known)
    >>> when_best(setting, 0, 0.75, 0.75).upper.round(6)  # x[0] <= 0.75, and x[1] - x[0] <= -0.3
    array([ 0.75, -0.3 ])
    """
    hidden, offset, low, high = setting.hidden, setting.offset, setting.box_low, setting.box_high
    rows, upper = hidden - hidden[j], offset[j] - offset
    lower = np.full(len(setting), -np.inf)
    rows[j], lower[j], upper[j] = hidden[j], mean_low - offset[j], mean_high - offset[j]
    scale = np.abs(rows) @ np.maximum(np.abs(low), np.abs(high)) + np.abs(offset)
    scale += abs(offset[j]) + max(abs(mean_low), abs(mean_high))
    return Polytope(rows, lower - ROUNDING * scale, upper + ROUNDING * scale, low, high)


def solve_programs(
    setting: LinearSetting, means: MeanLimits, *, solve: Booleans, certain: Booleans, progress: bool | None
) -> Values:
    """Solve the linear programs of the arms j in `solve`.

    An arm in `certain` was played, so it was best in some rounds: without a solution for it the log contradicts the
    setting, which is a BoundsError.

    Examples
    --------
    >>> import numpy as np
    >>> import meanbounds as mb
    >>> from meanbounds.logs.hidden_parameter.programs import MeanLimits, solve_programs
    >>> known = {"theta_visible": [1.0], "box_low": 0.0, "box_high": 1.0}
    >>> setting = mb.logs.LinearSetting([[0.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]], **known)
    >>> means, both = np.array([0.75, 0.5]), np.array([True, True])
    >>> found = solve_programs(setting, MeanLimits(means, means), solve=both, certain=both, progress=False)
    >>> found.most.round(6)  # where arm 0 was best with mean 0.75, arm 1 had 0.75 at most
    array([[0.75, 0.75],
           [0.5 , 0.5 ]])
    """
    size = len(setting)
    found = Values(np.zeros((size, size)), np.zeros((size, size)), np.zeros(size, dtype=np.bool_))
    targets = np.vstack([setting.hidden, -setting.hidden])
    with Progress(int(solve.sum()), "bounding", progress) as bar:
        for j in np.flatnonzero(solve).tolist():
            vertices = maximise_all(targets, when_best(setting, j, means.low[j], means.high[j]))
            found.possible[j] = bool(np.all(vertices.value > -np.inf))
            if found.possible[j]:
                found.most[j], found.least[j] = vertices.value[:size], -vertices.value[size:]
            elif certain[j]:
                raise BoundsError(_why(setting, j, means, vertices))
            bar.advance(1)
    return found


def _why(setting: LinearSetting, j: int, means: MeanLimits, vertices: Vertices) -> str:
    """Why nothing in the box can be the mean of the parameter over the rounds in which arm j was the best."""
    mean_low, mean_high = float(means.low[j]), float(means.high[j])
    least, most = (float(setting.offset[j] + side[j]) for side in setting.reach())
    seen = f"{mean_low:.6g}" if mean_low == mean_high else f"between {mean_low:.6g} and {mean_high:.6g}"
    start = f"arm {setting.arms[j]!r}: its mean reward when it was played is {seen}"
    clash = vertices.clash[np.argmin(vertices.value)]
    rivals = [repr(setting.arms[i]) for i in np.flatnonzero(clash > 1e-9 * clash.max(initial=0.0)) if i != j]
    if not rivals or mean_high < least or mean_low > most:
        return (
            f"{start}, but with a hidden parameter in the box it is between {least:.6g} and {most:.6g} (its known part "
            f"is {setting.offset[j]:.6g}); the box, the features or the known parameter is wrong"
        )
    return (
        f"{start}; no hidden parameter in the box gives it such a mean and makes it at least as good as arm"
        f"{'s' * (len(rivals) > 1)} {', '.join(rivals)}; either the expert did not play the best arm, or the box, the "
        f"features or the known parameter is wrong"
    )
