"""Random instances for hypothesis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import meanbounds as mb

RANGES = [(0.0, 1.0), (-1.0, 0.0), (0.0, 2.5), (1.0, 5.0)]


class Case(NamedTuple):
    environment: mb.Environment
    bounds: mb.MeanBounds
    horizon: int
    seed: int


def bounds_around(
    shares: list[float], slack: list[tuple[float, float]], ranges: list[tuple[float, float]]
) -> tuple[np.ndarray, mb.MeanBounds]:
    """Means at these shares of their ranges, and bounds that contain them."""
    low, high = np.array(ranges).T
    means = np.clip(low + (high - low) * np.array(shares), low, high)
    below, above = np.array(slack).T
    lower = np.clip(means - below * (high - low), low, means)
    upper = np.clip(means + above * (high - low), means, high)
    return means, mb.MeanBounds(lower, upper, low=low, high=high)


@st.composite
def cases(draw: st.DrawFn, most_arms: int = 6, horizon: int = 400) -> Case:
    """Few or many arms, coarse means (ties) or fine ones, bounds from exact to vacuous, one range or several."""
    size = draw(st.integers(1, most_arms))
    share = st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]) | st.floats(0.0, 1.0)
    shares = draw(st.lists(share, min_size=size, max_size=size))
    reach = st.sampled_from([0.0, 0.05, 0.2, 2.0]) | st.floats(0.0, 1.0)
    slack = draw(st.lists(st.tuples(reach, reach), min_size=size, max_size=size))
    one = draw(st.booleans())
    ranges = [RANGES[0]] * size if one else draw(st.lists(st.sampled_from(RANGES), min_size=size, max_size=size))
    means, bounds = bounds_around(shares, slack, ranges)
    if one and draw(st.booleans()):  # caps that are equal, as the bounds from a log without gaps are
        cap = min(1.0, float(means.max()) + draw(st.sampled_from([0.0, 0.02, 0.2])))
        bounds = mb.MeanBounds(bounds.lower, np.full(size, cap))
    kind = draw(st.sampled_from(["bernoulli", "bernoulli", "uniform", "table"]))
    environment: mb.Environment
    if kind == "bernoulli":
        environment = mb.Bernoulli(means, low=bounds.low, high=bounds.high)
    elif kind == "uniform":
        environment = mb.Uniform(means, low=bounds.low, high=bounds.high)
    else:
        values = [[m, lo + 0.5 * (m - lo), m + 0.5 * (m - lo)] for m, lo in zip(means, bounds.low, strict=True)]
        values = [v if v[2] <= hi else [m] for v, m, hi in zip(values, means, bounds.high, strict=True)]
        environment = mb.Table(values, low=bounds.low, high=bounds.high)
    return Case(environment, bounds, draw(st.integers(1, horizon)), draw(st.integers(0, 2**32)))
