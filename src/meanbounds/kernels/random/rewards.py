"""Simulated rewards: the n-th pull of an arm in a run gives the same reward whichever policy pulls."""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.support.types import Floats

__all__ = ["BERNOULLI", "BETA", "CLIPPED", "TABLE", "UNIFORM", "Law", "Rewards", "draw", "draw_simple", "law_of"]

BERNOULLI = 0
UNIFORM = 1
BETA = 2
TABLE = 3
CLIPPED = 4

Law = tuple[int, float, float, float]


class Rewards(NamedTuple):
    """The law of each arm's rewards, in units of the arm's range.

    Rows of `parameters` by kind: Bernoulli: success probability, value of a failure, value of a success. Uniform:
    start, width. Beta: both shapes, start, width. Table: first atom, number of atoms. Clipped (a Gaussian variable):
    mean, deviation, both ends. Rows of `atoms`: value, probability of keeping the atom, the atom taken otherwise
    (Walker's alias method).
    """

    kind: int
    parameters: Floats
    atoms: Floats


@compiled
def law_of(kind: int, parameters: Floats, arm: int) -> Law:
    """Law of an arm for `draw_simple`: the kind and up to three parameters."""
    return kind, parameters[0, arm], parameters[1, arm], parameters[2, arm] if kind == BERNOULLI else 0.0


@compiled
def draw_simple(law: Law, key: np.uint64, number: int) -> float:
    """`draw` for the kinds up to `UNIFORM`, from numbers alone: inlined in a loop it costs a tenth of `draw`."""
    kind, first, second, third = law
    u = uniform(key, number)
    if kind == BERNOULLI:
        return third if u < first else second
    return first + u * second


@compiled
def draw(rewards: Rewards, arm: int, key: np.uint64, number: int) -> float:
    """Reward of this arm's pull with this number; `key` is the arm's stream."""
    if rewards.kind <= UNIFORM:
        return draw_simple(law_of(rewards.kind, rewards.parameters, arm), key, number)
    p = rewards.parameters
    if rewards.kind == BETA:
        odds = _log_gamma(p[1, arm], child(key, number), 1) - _log_gamma(p[0, arm], child(key, number), 0)
        return float(p[2, arm] + p[3, arm] * (1.0 / (1.0 + exp(odds)) if odds < 700.0 else 0.0))
    if rewards.kind == CLIPPED:
        value = p[0, arm] + p[1, arm] * _normal(key, 2 * number)
        return float(min(max(value, p[2, arm]), p[3, arm]))
    place = uniform(key, number) * p[1, arm]
    atom = int(place)
    share = place - atom
    atom += int(p[0, arm])
    if share >= rewards.atoms[1, atom]:
        atom = int(rewards.atoms[2, atom])
    return float(rewards.atoms[0, atom])


@compiled
def _normal(key: np.uint64, number: int) -> float:
    """Standard normal variate (Box and Muller, 1958) from the stream's numbers at this place and the next."""
    return sqrt(-2.0 * log(1.0 - uniform(key, number))) * cos(2.0 * pi * uniform(key, number + 1))


@compiled
def _log_gamma(shape: float, parent: np.uint64, number: int) -> float:
    """Logarithm of a gamma variate (Marsaglia and Tsang, 2000), which may be too small for a number itself.

    A shape below 1 is raised by 1 and scaled back.
    """
    key = child(parent, number)
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    value = d
    for attempt in range(1000):
        normal = _normal(key, 3 * attempt + 1)
        v = (1.0 + c * normal) ** 3
        if v > 0.0 and log(1.0 - uniform(key, 3 * attempt + 3)) < 0.5 * normal**2 + d - d * v + d * log(v):
            value = d * v
            break
    return log(value) + (log(1.0 - uniform(key, 0)) / shape if shape < 1.0 else 0.0)
