"""Slow, readable twins of the policies with a prior: its plays come first, and nothing else is known of the means."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from scipy import optimize, special

import meanbounds as mb
from meanbounds.kernels.arms.thompson import truncated_beta
from meanbounds.kernels.random.stream import uniform
from tests import naive
from tests.naive import UNDECIDED, Posterior, Round

NOTHING = (0.0, 0.0)
Rows = list[list[float]]


def informed(r: Round, rows: Rows) -> Round:
    """The round as if the prior's plays had been made before the first one, each with the best or the worst reward."""
    plays, total, lack = rows
    return r._replace(
        plays=[n + more for n, more in zip(cast(list[Any], r.plays), plays, strict=True)],
        total=[value + more for value, more in zip(r.total, total, strict=True)],
        squares=[value + more for value, more in zip(r.squares, total, strict=True)],
        ones=[value + more for value, more in zip(r.ones, total, strict=True)],
        lack=[value + more for value, more in zip(r.lack, lack, strict=True)],
        lack_squares=[value + more for value, more in zip(r.lack_squares, lack, strict=True)],
    )


def drawn(law: Posterior, v: float) -> float:
    """The value that a truncated Beta law exceeds with probability v: a root in the logit, of scipy's functions."""
    upper = min(1.0, law.upper)
    if not law.lower < upper:
        return law.lower
    ends = special.betainc(law.a, law.b, law.lower), special.betaincc(law.a, law.b, upper)
    if ends[0] + ends[1] > 0.999:
        return float("nan")
    goal = ends[1] + v * (1.0 - ends[0] - ends[1])
    root = optimize.brentq(lambda y: special.betaincc(law.a, law.b, special.expit(y)) - goal, -700.0, 36.0, xtol=1e-13)
    return float(min(upper, max(law.lower, special.expit(root))))


def thompson(r: Round, settle: bool = True) -> int:
    """Largest draw by inversion; undecided where draws are nearer to each other than scipy says them."""
    first = naive.settled(r, 1) if settle else None
    if first is not None:
        return first
    stream, laws = naive.child(r.key, r.number), naive.posteriors(r, 1, NOTHING)
    units = {k: drawn(law, 1.0 - float(uniform(stream, k))) for k, law in laws.items()}
    draws = {k: law.mean(r, k, units[k]) for k, law in laws.items()}
    best = max(draws, key=lambda k: draws[k])
    if any(map(math.isnan, units.values())) or any(not abs(draws[k] - draws[best]) > 1e-9 for k in draws if k != best):
        r.memory[UNDECIDED] = 1.0
    return best


def rejected(r: Round, moments: int) -> int:
    """Thompson sampling by rejection, from the same hats as the kernel."""
    first = naive.settled(r, moments)
    if first is not None:
        return first
    stream, laws = naive.child(r.key, r.number), naive.posteriors(r, moments, NOTHING)
    draws = {}
    for k, law in laws.items():
        key = naive.child(stream, k)
        draws[k] = law.mean(r, k, truncated_beta(law.a, law.b, law.lower, min(1.0, law.upper), key))
    if len(set(draws.values())) < len(draws):
        r.memory[UNDECIDED] = 1.0
    return r.largest(draws)


TWINS: dict[mb.Policy, Callable[[Round], int]] = {
    mb.ThompsonSampling(): thompson,
    mb.ThompsonSampling(settle=False): partial(thompson, settle=False),
    mb.ThompsonSampling(draws="rejection"): partial(rejected, moments=1),
    mb.ThompsonSampling(moments=2): partial(rejected, moments=2),
    mb.OptimisticGittins(): partial(naive.gittins, prior=NOTHING),
    mb.OptimisticGittins(moments=2): partial(naive.gittins, moments=2, prior=NOTHING),
    mb.BIMED(): naive.bimed,
    mb.BIMED(moments=2): partial(naive.bimed, moments=2),
}


def twin_for(policy: mb.Policy, known: mb.Knowledge) -> Callable[[Round], int]:
    """The twin of a policy with this prior."""
    assert known.prior is not None
    rows = known.prior.rows(known.bounds).tolist()
    return lambda r: TWINS[policy](informed(r, rows))
