"""Bounds from a log by loops over rows and sets: slow, and written apart from `meanbounds.logs.claims`."""

import itertools
from math import comb, inf, log, sqrt

from meanbounds.logs import Experts

__all__ = ["FIELDS", "Rows", "naive_bounds", "naive_lower", "naive_upper"]

Rows = list[tuple[int, float]]
FIELDS: dict[str, tuple[float, ...]] = {
    "errors": (0.0, 0.05, 0.3),
    "loss": (0.02, 0.2),
    "gap_low": (0.03, 0.15),
    "gap_high": (0.4, 0.75),
    "odds": (1.0, 2.5),
}


def naive_kl(mean: float, budget: float) -> float:
    """The largest q with kl(mean, q) <= budget, by halving."""
    low, high = mean, 1.0
    for _ in range(60):
        q = 0.5 * (low + high)
        parts = [(mean, q), (1.0 - mean, 1.0 - q)]
        far = sum(p * log(p / r) if r > 0.0 else inf for p, r in parts if p > 0.0) > budget
        low, high = (low, q) if far else (q, high)
    return low


def naive_upper(values: list[float], low: float, nats: float, kind: str = "both") -> float:
    """The limit on the mean of values in [low, 1]."""
    if not values or nats == inf:
        return 1.0
    unit = [(x - low) / (1.0 - low) for x in values]
    n, mean = len(unit), sum(unit) / len(unit)
    variance = sum((x - mean) ** 2 for x in unit) / max(n - 1, 0.5)
    level = nats + 2 * log(2.0)
    bernstein = mean + sqrt(2.0 * variance * level / n) + 7.0 * level / (3.0 * max(n - 1, 0.5))
    chernoff = naive_kl(mean, (nats + log(2.0)) / n)
    best = chernoff if kind == "chernoff" else min(bernstein, chernoff)
    return low + (1.0 - low) * min(best, 1.0)


def naive_lower(values: list[float], low: float, nats: float, kind: str = "both") -> float:
    """One minus the limit on the mean of 1 - x, with 1 - x brought to [low, 1]."""
    width = 1.0 - low
    mirrored = [low + (1.0 - x) for x in values]
    return 1.0 - (naive_upper(mirrored, low, nats, kind) - low) if width else 0.0


def naive_sets(
    rows: Rows, arms: int, k: int, gap: float, right: float, nats: float, kind: str, flip: bool = False
) -> float:
    """The best limit over every set of other arms; with `flip` rewards are 1 - y."""
    seen = [(arm, 1.0 - y if flip else y) for arm, y in rows]
    others = [j for j in range(arms) if j != k]
    several = gap < 1.0 and bool(others)
    best = naive_lower([y if arm == k else right for arm, y in seen], 0.0, nats - log(0.2) * several, kind)
    for size in range(1, len(others) + 1) if several else ():
        left_out = len(others) - size
        weight = 0.4 / len(others) + 0.4 / ((left_out + 1) * (left_out + 2))
        price = nats - log(weight / comb(len(others), size))
        for chosen in itertools.combinations(others, size):
            x = [y if arm == k else y - gap + right if arm in chosen else right for arm, y in seen]
            best = max(best, naive_lower(x, right - gap, price, kind))
    return best


def naive_bounds(rows: Rows, arms: int, k: int, experts: Experts, kind: str) -> tuple[float, float]:
    """Both bounds of arm k at 95%, as the head of `meanbounds.logs.claims` describes them."""
    errors, loss, g, big, odds = (float(getattr(experts, name)) for name in FIELDS)
    loss, big = min(loss, 1.0), min(big, 1.0)
    wrong = min(errors, loss / g) if g > 0.0 else errors
    lost = min(loss, wrong * big)
    judged, far, near = errors < 1.0 or loss < 1.0, g > 0.0, big < 1.0
    side = log(arms) - log(0.05) + log(2.0) - (log(0.98) if judged and far else 0.0)
    weights = {
        "low sets": 0.9 if near else 0.1,
        "low odds": 0.9 if odds < inf else 0.0,
        "sets": (0.3 if judged else 0.9) if near else 0.1,
        "right": 0.9 if judged else 0.0,
        "loss": 0.45 if loss < 1.0 and far else 0.0,
        "gap": 0.1 if judged and far else 0.0,
        "odds": 0.9 if odds < inf else 0.0,
    }
    nats = {}
    for name, weight in weights.items():
        whole = sum(w for other, w in weights.items() if other.startswith("low") == name.startswith("low"))
        nats[name] = side - log(weight / whole) if weight else inf
    lower = naive_sets(rows, arms, k, big, 0.0, nats["low sets"], kind)
    upper = [1.0 - naive_sets(rows, arms, k, big, 0.0, nats["sets"], kind, flip=True)]
    if judged:
        x = [y if arm == k else y - g for arm, y in rows]
        upper.append(naive_upper(x, -g, nats["right"], kind) + wrong * g + lost)
    if weights["loss"]:
        upper.append(naive_upper([y for _, y in rows], 0.0, nats["loss"], kind) + lost)
    if weights["gap"]:
        upper.append(1.0 - naive_sets(rows, arms, k, big, g, nats["gap"], kind, flip=True) + wrong * g)
    if odds < inf:
        own = [y for arm, y in rows if arm == k]
        for sign, name in ((1, "odds"), (-1, "low odds")):
            seen = own if sign == 1 else [1.0 - y for y in own]
            mean = naive_upper(seen, 0.0, nats[name] - log(0.8), kind)
            share = naive_lower([float(arm == k) for arm, _ in rows], 0.0, nats[name] - log(0.1), "both")
            free = max(len(seen) - 1, 0.5)
            variance = sum((y - sum(seen) / len(seen)) ** 2 for y in seen) / free if seen else 0.0
            deviation = sqrt(variance) + sqrt(2.0 * (nats[name] - log(0.1)) / free)
            worth = mean + deviation * sqrt((odds - 1.0) * (1.0 - 1.0 / odds))
            found = share * mean + (1.0 - share) * min(odds * mean, 1.0 - (1.0 - mean) / odds, worth)
            if sign == 1:
                upper.append(found)
            else:
                lower = max(lower, 1.0 - found)
    return min(max(lower, 0.0), 1.0), min(max(min(upper), 0.0), 1.0)
