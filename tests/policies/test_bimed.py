"""BIMED and settling against their definitions, written with plain loops."""

import math
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.policies.settling import settled
from meanbounds.support.streams import Draws, stream
from meanbounds.theory import bernoulli_kl, bernoulli_kl_upper

Numbers = dict[str, Any]

pytestmark = pytest.mark.usefixtures("as_the_engine_does")


def random_case(rng: np.random.Generator) -> tuple[Known, Seen, float]:
    """Bounds with points, equal upper bounds, trust and priors; arms of which some are not eligible or never played."""
    size = int(rng.integers(2, 6))
    low = rng.choice([0.0, -2.0], size)
    high = low + rng.choice([1.0, 4.0], size)
    ends = np.sort(rng.random((2, size)), axis=0)
    lower, upper = low + (high - low) * ends
    if rng.random() < 0.4:
        upper = np.maximum(lower, np.minimum(high, np.median(upper)))
    trust = rng.choice([0.5, 0.9, 0.99, 1.0], size) if rng.random() < 0.6 else 1.0
    prior = None
    if rng.random() < 0.3:
        share = rng.uniform(0.2, 0.8, size)
        prior = mb.Prior(low + (high - low) * share, rng.uniform(5.0, 20.0, size))
    own = mb.Knowledge(mb.MeanBounds(lower, upper, low=low, high=high), trust=trust, prior=prior)
    eligible = rng.random((1, size)) < 0.7
    eligible[0, 0] = True
    known = Known.of([own]).among(eligible if rng.random() < 0.3 else None)
    plays = rng.integers(0, rng.choice([3, 50, 1000]), size).astype(float)
    total = np.round(plays * rng.random(size) * 8.0) / 8.0
    squares = np.maximum(total**2 / np.maximum(plays, 1.0), total - rng.random(size) * np.minimum(total, plays - total))
    seen = Seen(*(part[None] for part in (plays, total, squares, np.floor(total))))
    return known, seen, float(rng.choice([2, 50, 10_000, 1e7]))


def arms_of(known: Known, seen: Seen) -> list[Numbers]:
    """The arms that can be best whatever the bounds that may be wrong are, with the prior as plays."""
    arms = []
    for k in np.flatnonzero(known.without_doubted.possible[0]):
        own: Numbers = {name: float(getattr(known, name)[0, k]) for name in ("lower", "upper", "low", "high", "width")}
        own |= {name: float(getattr(seen, name)[0, k]) for name in ("plays", "total", "squares")}
        if known.prior is not None:
            ones, zeros = (float(part[0, k]) for part in known.prior)
            own["plays"] += ones + zeros
            own["total"], own["squares"] = own["total"] + ones, own["squares"] + ones
        own["log_n"] = math.inf if known.log_n is None else float(known.log_n[0, k])
        own["kept"] = bool(known.possible[0, k])
        own["free"] = own["low"], own["high"]
        if own["log_n"] == math.inf:
            own["free"] = own["lower"], own["upper"]
        own["mean"] = own["low"] + own["width"] * own["total"] / own["plays"] if own["plays"] else math.nan
        own["clipped"] = min(own["upper"], max(own["lower"], own["mean"])) if own["plays"] else own["lower"]
        own["against"] = 0.0
        if own["plays"]:
            nearest = (own["clipped"] - own["low"]) / own["width"]
            own["against"] = own["plays"] * float(bernoulli_kl(own["total"] / own["plays"], nearest))
        own["estimate"] = own["mean"] if own["plays"] and own["against"] >= own["log_n"] else own["clipped"]
        arms.append(own | {"place": int(k)})
    return arms


def divergence(own: Numbers, goal: float, moments: int) -> float:
    """``plays * kl`` from means of at least the goal."""
    if not own["plays"] or own["mean"] >= goal:
        return 0.0
    mean, unit = own["total"] / own["plays"], (goal - own["low"]) / own["width"]
    if unit > 1.0:
        return math.inf
    if moments == 2 and own["plays"] > own["total"]:
        x = min(mean, max(0.0, (own["total"] - own["squares"]) / (own["plays"] - own["total"])))
        mean, unit = (mean - x) / (1.0 - x), (unit - x) / (1.0 - x)
    return own["plays"] * float(bernoulli_kl(mean, unit))


def cap(own: Numbers, arms: list[Numbers], log_f: float) -> float:
    """How good an arm can be."""
    best = own["upper"] if own["kept"] else -math.inf
    least = min(other["log_n"] for other in arms)

    def index(level: float) -> float:
        if not own["plays"]:
            return float(own["free"][1])
        limit = float(bernoulli_kl_upper(own["total"] / own["plays"], level / own["plays"]))
        return min(float(own["free"][1]), own["low"] + own["width"] * limit)

    if log_f > own["log_n"]:
        best = max(best, index(log_f - own["log_n"]))
    if least < own["log_n"] and log_f > least:
        best = max(best, min(own["upper"], index(log_f - least)))
    return best


def settling(arms: list[Numbers], log_f: float, moments: int) -> list[int]:
    """The leaders that settle."""
    leader, places = max(own["estimate"] for own in arms), []
    caps = [cap(own, arms, log_f) for own in arms]
    for n, own in enumerate(arms):
        goal = max(caps[:n] + caps[n + 1 :], default=-math.inf)
        share = 0.5 if abs(caps[n] - goal) < 1e-11 else 0.25
        leads = own["estimate"] > leader - 1e-11 and caps[n] > goal - 1e-11
        if leads and divergence(own, goal, moments) <= share * log_f:
            places.append(own["place"])
    return places


def costs(arms: list[Numbers], moments: int) -> dict[int, float]:
    """What each arm costs; minus infinity for one that comes first."""
    leader, found = max(own["estimate"] for own in arms), {}
    for own in arms:
        skipped = own["upper"] < leader if own["kept"] else own["upper"] <= leader
        fine = max(0.0, own["log_n"] - own["against"]) if skipped else 0.0
        if own["plays"]:
            cost = divergence(own, leader, moments)
            cost = min(cost, 1e300) if own["estimate"] == leader else cost
            found[own["place"]] = cost + math.log(own["plays"]) + fine
        else:
            found[own["place"]] = fine or -math.inf
    return found


@pytest.mark.parametrize("moments", [1, 2])
def test_scores_are_those_of_the_definition(moments: int) -> None:
    rng = np.random.default_rng(40 + moments)
    settlings = 0
    for _ in range(400):
        known, seen, t = random_case(rng)
        policy, size = mb.BIMED(moments=moments), known.lower.shape[1]
        arms, log_f = arms_of(known, seen), float(policy.log_f(np.array([t]))[0])
        plain = mb.BIMED(moments=moments, settle=False).scores(known, seen, np.array([t]))[0][0]
        leads = settled(known, seen, np.array([[log_f]]), moments)[0]
        full = policy.scores(known, seen, np.array([t]))[0][0]
        expected = costs(arms, moments)
        np.testing.assert_allclose(plain, [-expected.get(k, math.inf) for k in range(size)], rtol=1e-9)
        assert np.flatnonzero(leads).tolist() == settling(arms, log_f, moments)
        settlings += leads.any()
        assert np.array_equal(full == 0.0, leads) if leads.any() else np.array_equal(full, plain)
    assert 40 < settlings < 360


def test_arms_whose_range_ends_below_the_leader_are_not_played() -> None:
    # Whatever its bounds are, arm 0 pays at most 1, and all of its rewards were 1.
    own = mb.Knowledge(mb.MeanBounds([0.2, 0.0], [0.9, 3.5], low=0.0, high=[1.0, 4.0]), trust=0.5)
    seen = Seen(*(np.array([part]) for part in ([50.0, 50.0], [50.0, 30.0], [50.0, 30.0], [50.0, 30.0])))
    draws = Draws(stream(1, [0], "policy"), 0)
    assert choose(mb.BIMED(settle=False), Known.of([own]), seen, np.array([101.0]), draws).tolist() == [1]


def test_parameters_are_checked() -> None:
    wrong: Any = 1
    with pytest.raises(ValueError, match="moments must be 1 or 2; got 3"):
        mb.BIMED(moments=3)
    with pytest.raises(TypeError, match="settle must be True or False"):
        mb.ThompsonSampling(settle=wrong)


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
def test_bounds_at_the_top_that_rewards_contradict_are_played_on() -> None:
    agent = mb.Agent(mb.BIMED(), mb.MeanBounds([1.0, 1.0, 0.0], [1.0, 1.0, 0.5]), seed=1)
    for _ in range(6):
        arm = agent.pull()
        assert arm != 2
        agent.update(arm, 0.9)
    assert agent.plays()[:2].min() > 0


def test_doubt_about_bounds_that_say_nothing_changes_nothing() -> None:
    bounds = mb.MeanBounds([0.4, 0.0, 0.0], [0.8, 0.3, 1.0], high=[1.0, 0.3, 1.0])
    known, some = (Known.of([mb.Knowledge(bounds, trust=trust)]) for trust in ([0.9, 1.0, 1.0], [0.9, 0.9, 0.5]))
    assert known.log_n is not None
    assert some.log_n is not None
    assert known.log_n.tolist() == some.log_n.tolist()
