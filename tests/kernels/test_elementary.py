"""Logarithms and exponentials of many numbers against long doubles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from meanbounds.kernels.arms.elementary import LARGEST, LEAST, fill_exponentials, fill_logarithms
from meanbounds.support.types import Floats

RIGHT = 4e-16


def logarithms(x: Floats) -> Floats:
    out = x.copy()
    fill_logarithms(out, np.empty_like(out))
    return out


def exponentials(x: Floats) -> Floats:
    out = x.copy()
    fill_exponentials(out, np.empty_like(out))
    return out


@pytest.mark.parametrize("size", [0, 1, 3, 16, 1000])
def test_exponentials(size: int) -> None:
    rng = np.random.default_rng(size)
    for x in (rng.uniform(-LARGEST, LARGEST, size), -rng.exponential(10.0, size), rng.normal(0.0, 1e-3, size)):
        exact = np.exp(x.astype(np.longdouble))
        assert np.all(abs(exponentials(x) - exact) <= RIGHT * exact)


@pytest.mark.parametrize("size", [0, 1, 3, 16, 1000])
def test_logarithms(size: int) -> None:
    rng = np.random.default_rng(size)
    for x in (np.exp(rng.uniform(-LARGEST, LARGEST, size)), rng.uniform(0.0, 2.0, size), rng.normal(1.0, 1e-6, size)):
        exact = np.log(x.astype(np.longdouble))
        assert np.all(abs(logarithms(x) - exact) <= RIGHT * abs(exact))


def test_where_one_power_of_two_follows_another() -> None:
    roots = np.sqrt([0.5, 2.0, 8.0])
    x = np.concatenate([[0.5, 1.0, 2.0, 4.0], roots, np.nextafter(roots, 0.0), np.nextafter(roots, 9.0)])
    assert logarithms(x) == pytest.approx(np.log(x), rel=RIGHT, abs=0.0)
    assert logarithms(np.ones(1))[0] == 0.0
    halves = np.arange(-5.5, 6.0) * np.log(2.0)
    assert exponentials(halves) == pytest.approx(np.exp(halves), rel=1e-15)
    assert exponentials(np.zeros(1))[0] == 1.0


def test_beyond_their_ranges() -> None:
    assert logarithms(np.array([0.0, -1.0, -np.inf])).tolist() == [logarithms(np.array([LEAST]))[0]] * 3
    assert np.isfinite(logarithms(np.array([np.inf]))).all()
    ends = exponentials(np.array([-LARGEST, LARGEST]))
    assert exponentials(np.array([-np.inf, np.inf])).tolist() == ends.tolist()
    assert ends[0] < LEAST * 10.0


@pytest.mark.parametrize("fill", [fill_logarithms, fill_exponentials])
def test_the_same_bits_as_plain_python(fill: Callable[[Floats, Floats], None]) -> None:
    """Several numbers at once are computed as one is."""
    compiled, plain = (np.random.default_rng(1).uniform(-1.0, 3.0, 100) for _ in range(2))
    fill(compiled, np.empty(100))
    getattr(fill, "py_func", fill)(plain, np.empty(100))
    assert compiled.tolist() == plain.tolist()
