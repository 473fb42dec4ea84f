"""The divergence of Bernoulli rewards and its inverse, with 50 digits."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from meanbounds.theory import bernoulli_kl, bernoulli_kl_upper


def exact(p: Any, q: Any) -> mpmath.mpf:
    a, b = mpmath.mpf(p), mpmath.mpf(q)
    parts = ((a, b), (1 - a, 1 - b))
    return mpmath.fsum(own * mpmath.log(own / other) for own, other in parts if own > 0)


def cases(number: int) -> list[tuple[float, float]]:
    """Means anywhere, near the ends, and close to each other."""
    rng = np.random.default_rng(1)
    ends = [10.0 ** -rng.uniform(0, 9, number), 1 - 10.0 ** -rng.uniform(0, 9, number)]
    p, q = (rng.choice([rng.random(number), *ends]) for _ in range(2))
    close = np.clip(p + rng.choice([-1, 1], number) * 10.0 ** -rng.uniform(2, 12, number), 1e-9, 1 - 1e-9)
    return list(zip(p.tolist(), np.where(rng.random(number) < 0.5, q, close).tolist(), strict=True))


def test_to_all_digits() -> None:
    with mpmath.workdps(50):
        for p, q in cases(600):
            assert abs(mpmath.mpf(float(bernoulli_kl(p, q))) - exact(p, q)) <= mpmath.mpf("1e-12") * exact(p, q)


def test_the_upper_limit_is_where_the_budget_is_spent() -> None:
    """To 1e-11 in its own coordinate; a limit above 1 - 1e-12 is 1."""
    rng = np.random.default_rng(2)
    means = rng.choice(
        [0.0, 1.0, *rng.random(60), *10.0 ** -rng.uniform(0, 9, 20), *1 - 10.0 ** -rng.uniform(0, 9, 20)], 400
    )
    budgets = 10.0 ** rng.uniform(-9, 1.5, 400)
    with mpmath.workdps(50):
        for p, budget, q in zip(means, budgets, np.asarray(bernoulli_kl_upper(means, budgets)), strict=True):
            assert p <= q <= 1.0
            assert q - 1e-11 <= p or exact(p, q - 1e-11) <= budget * (1 + 1e-12)
            if q < 1.0:
                assert exact(p, min(q + 1e-11, math.nextafter(1.0, 0.0))) >= budget * (1 - 1e-12)
            elif p < 1.0:
                assert exact(p, 1 - 2e-12) <= budget * (1 + 1e-9)


def test_edges() -> None:
    assert [bernoulli_kl(*pair) for pair in ((0, 0), (1, 1), (0.5, 1), (0.5, 0))] == [0.0, 0.0, math.inf, math.inf]
    assert bernoulli_kl_upper(0.3, 0.0) == 0.3
    assert np.asarray(bernoulli_kl_upper([0.0, 1.0], [math.log(2), 3.0])).tolist() == pytest.approx([0.5, 1.0])
    assert np.shape(bernoulli_kl([], [])) == np.shape(bernoulli_kl_upper([], 0.5)) == (0,)
