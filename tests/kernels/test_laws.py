"""Where the law of a mean begins and ends: found with few densities, as halving with all of them finds it."""

from __future__ import annotations

import numpy as np
import pytest

from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, Shape, fill_laws, laws_of, log_density_of, shape_of
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats
from tests.kernels.test_chances import tables
from tests.kernels.test_ids import random_arm


@compiled
def fill(plan: Floats, parameters: Floats, state: Floats, rows: Floats) -> None:
    fill_laws(plan_of(plan), parameters, state_of(state), laws_of(rows))


def halved(shape: Shape, mode: float, end: float, depth: float) -> float:
    """The definition: halve between mode and end, with a density at each step."""
    near, far = 0.0, end - mode
    if log_density_of(shape, far) >= -depth:
        return end
    while abs(far - near) > 0.1 * abs(far):
        middle = 0.5 * (near + far)
        if log_density_of(shape, middle) >= -depth:
            near = middle
        else:
            far = middle
    return mode + far


@pytest.mark.parametrize("seed", range(100))
def test_ends_and_core(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = (1.0, 1.0) if seed % 4 else (1.0 + 3.0 * rng.random(), 1.0 + 3.0 * rng.random())
    arms = [random_arm(rng) for _ in range(5)]
    rows = np.zeros((LAW_ROWS, len(arms)))
    fill(*tables(arms, prior, 1), rows)
    laws = Laws(*rows)
    for k in range(len(arms)):
        if laws.start[k] < laws.stop[k]:
            shape, mode, start, stop = shape_of(laws, k), laws.mode[k], laws.start[k], laws.stop[k]
            assert laws.left[k] == halved(shape, mode, start, 36.0)
            assert laws.right[k] == halved(shape, mode, stop, 36.0)
            assert laws.core[k] == halved(shape, mode, stop, 1.0) - halved(shape, mode, start, 1.0)
