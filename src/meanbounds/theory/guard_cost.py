"""What a promise to experts costs: in how many decisions the guard asks them although the policy would not."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log

import numpy as np

from meanbounds.evidence.processes import LOG_WEIGHTS, STAKES
from meanbounds.policies import Guarded
from meanbounds.support.checks import as_float, as_whole
from meanbounds.support.types import Floats

__all__ = ["guarded_asks"]


def guarded_asks(
    guarded: Guarded,
    value: float,
    best: float,
    horizon: int,
    *,
    regret: Callable[[Floats], Floats] | float = 0.0,
    low: float = 0.0,
    high: float = 1.0,
) -> float:
    """Bound how often a guard overrules its policy, with the probability `guarded.confidence`.

    Parameters
    ----------
    guarded
        The guard, with its policy and its promise.
    value, best
        The upper limit on the experts' value that the guard goes by, and the mean of the best option.
    horizon
        The number of decisions.
    regret
        A bound on the policy's regret against the best option in its first n plays: a number for all n, or a function
        of an array of them.
    low, high
        The range of the rewards.

    Returns
    -------
    The bound; at most the horizon. The regret of the guarded policy against the best option is then at most `regret`
    plus ``best`` less the experts' true value for each of these questions.

    Notes
    -----
    After n plays of options and N questions the guard overrules only if ``B(N + n + 1) < (n + 1) v - C``. The options
    have earned at least ``n best - regret(n)`` in the mean. Their rewards, and with them C, are below that by at most
    twice ``h(n)``, the least ``(log(1 / error) - log w_s + n s^2 / 8) / s`` over the stakes s of the e-process, with
    their weights w_s, by Hoeffding's lemma once for each direction. With a promise that allows b a decision that leaves
    ``N <= ((n + 1) v - n best + regret(n) + 2 h(n)) / b - n - 1`` for some n. A `total` that is used up allows nothing
    more, so there is no bound but the horizon, unless lower limits on the options are enough.

    Examples
    --------
    An option is better than the experts by 0.05, and a policy knows it. The guard needs to see it:

    >>> import meanbounds as mb
    >>> guarded = mb.policies.Guarded(mb.GLUE(), mb.Promise(margin=0.02))
    >>> round(mb.theory.guarded_asks(guarded, value=0.7, best=0.75, horizon=100_000))
    2720
    """
    most = as_whole("horizon", horizon)
    v, top, span = as_float("value", value), as_float("best", best), as_float("high", high) - as_float("low", low)
    # Each direction has half of the error that the guard has for what options earned.
    levels = log(8.0 / (3.0 * (1.0 - guarded.confidence))) - LOG_WEIGHTS
    each = [float(own) for own in guarded.promise.budgets(*(np.array(own) for own in (v, 1.0, low, high)))]

    def asked(rounds: Floats) -> Floats:
        lost = regret(rounds) if callable(regret) else as_float("regret", regret)
        near = ((levels + rounds[:, None] * STAKES**2 / 8.0) / STAKES).min(axis=1)
        need = (rounds + 1.0) * (v - low) - rounds * (top - low) + lost + 2.0 * span * near
        found = [need / own - rounds - 1.0 for own in each]
        if guarded.promise.total is not None:
            found[-1] = np.where(need <= guarded.promise.total, -inf, inf)
        return np.max(found, axis=0)

    rounds = np.unique(np.geomspace(1, most, 4000).round())
    place = int(asked(rounds).argmax())
    ends = rounds[max(place - 1, 0)], rounds[min(place + 1, len(rounds) - 1)]
    found = float(asked(np.unique(np.linspace(*ends, 4000).round())).max())
    return min(float(horizon), max(0.0, found + 1.0))
