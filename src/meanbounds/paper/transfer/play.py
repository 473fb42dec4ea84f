"""Bounds of every draw of the arms, and the regret of policies that start from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.logs import ArmSums, linear_bounds, linear_bounds_from_log
from meanbounds.paper.base import Work, expecting
from meanbounds.paper.transfer.results import (
    ALONE,
    CORRECTED,
    NAMES,
    PLAIN,
    SHARP,
    WORST,
    Results,
    Settings,
    Shown,
)
from meanbounds.paper.transfer.search import find
from meanbounds.paper.transfer.world import BOXES, METHODS, Draw, ball, contains, make_draw, played, usable
from meanbounds.policies import LinearPolicy

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["run"]


def run(settings: Settings, work: Work) -> Results:
    """Bounds of all draws first, since the two settings are found among them."""
    survey = work.frame("survey", partial(_survey, settings))
    online = work.frame("online", partial(_online, settings, survey))
    logs = work.frame("logs", partial(_logs, settings))
    shown = {
        name: _shown(settings, find(survey, online, settings, improved=improved), name, work)
        for name, improved in (("setting-1", False), ("setting-2", True))
    }
    return Results(settings, survey, online, logs, shown)


def _survey(settings: Settings) -> pd.DataFrame:
    """Bounds of every draw, with both boxes and all methods."""
    import pandas as pd

    rows = []
    for number in range(settings.draws):
        draw = make_draw(settings, number)
        for box in BOXES:
            for method in METHODS:
                found = draw.bounds(method, box)
                excluded = ~contains(found, draw.means)
                row = {"draw": number, "box": box, "method": method, "excluded": int(excluded.sum())}
                row["best_excluded"] = bool(excluded[np.argmax(draw.means)])
                row["overstated"] = int(np.count_nonzero(excluded & (found.lower > draw.means)))
                row["played"] = int(np.count_nonzero(draw.share))
                row["width"] = float((found.upper - found.lower).sum())
                tight, _ = usable(draw, found)
                row["usable"] = tight is not None
                row["tied"] = tight is not None and _tied(tight)
                factors = tight.variance_proxy[tight.possible] if tight is not None else np.array([np.nan])
                row["left"] = int(tight.possible.sum()) if tight is not None else 0
                row["least_factor"], row["largest_factor"] = float(factors.min()), float(factors.max())
                rows.append(row)
    return pd.DataFrame(rows)


def _tied(bounds: mb.MeanBounds) -> bool:
    """Whether several arms are left, and none can be better than the one with the largest lower bound."""
    possible = bounds.possible
    return bool(possible.sum() > 1 and np.all(bounds.upper[possible] <= bounds.best_lower + 1e-7))


def _policies(draw: Draw) -> Iterator[tuple[str, LinearPolicy, mb.MeanBounds]]:
    """R-OFUL from each kind of bounds that can be used, OFUL, and R-OFUL that restricts but does not clip."""
    known, sharp = draw.known, draw.bounds("sharp")
    tight = {NAMES[method]: usable(draw, draw.bounds(method))[0] for method in METHODS}
    for name, bounds in tight.items():
        if bounds is not None:
            yield name, sharp.limited(mb.ROFUL(index="clip")), bounds
    yield "OFUL", sharp.limited(mb.OFUL()), mb.MeanBounds.vacuous(sharp.arms, low=known, high=known + 1.0)
    bounds = tight[SHARP]
    if bounds is not None:
        yield PLAIN, sharp.limited(mb.ROFUL(index="plain")), bounds


@contextmanager
def _counted() -> Iterator[None]:
    """Silence warnings about bounds that do not hold: the paper's do not, and the report says so."""
    with expecting("is outside its bounds"), expecting("bounds and data contradicted each other"):
        yield


def _alone(draw: Draw) -> tuple[mb.Linear, mb.MeanBounds, dict[str, LinearPolicy]]:
    """The arms that corrected bounds leave, and no others: nothing is restricted any more."""
    found = draw.bounds("corrected")
    tight = found.tightened(draw.known, draw.known + 1.0)
    left = np.flatnonzero(tight.possible)
    known = draw.known[left]
    environment = mb.Linear(
        draw.hidden[left], draw.theta_hidden, offered=None, rewards="uniform", low=known, high=known + 1.0, offset=known
    )
    bounds = mb.MeanBounds(
        tight.lower[left], tight.upper[left], arms=[tight.arms[k] for k in left], low=known, high=known + 1.0
    )
    policies = {"OFUL": found.limited(mb.OFUL()), CORRECTED: found.limited(mb.ROFUL(index="clip"))}
    return environment, bounds, policies


def _online(settings: Settings, survey: pd.DataFrame) -> pd.DataFrame:
    """Regret on every draw whose corrected bounds leave something to learn."""
    import pandas as pd

    own = survey[(survey["box"] == "common") & (survey["method"] == "corrected") & (survey["left"] > 1)]
    parts = []
    for number, least in zip(own["draw"], own["least_factor"], strict=True):
        draw = make_draw(settings, int(number))
        simulate = partial(
            mb.simulate,
            horizon=settings.horizon,
            runs=settings.runs_each,
            seed=int(number),
            checkpoints=1,
            progress=False,
        )
        columns: dict[str, NDArray[np.float64]] = {}
        for label, policy, bounds in _policies(draw):
            with _counted():
                found = simulate({label: policy}, draw.environment(), bounds)
            columns[label] = found.final[label]
        if least > WORST - 1e-9:  # clipping is all that R-OFUL does to these arms
            environment, bounds, policies = _alone(draw)
            with _counted():
                found = simulate(policies, environment, bounds)
            columns |= {f"{label}{ALONE}": final for label, final in found.final.items()}
        parts.append(pd.DataFrame({"draw": number, "run": range(settings.runs_each), **columns}))
    return pd.concat(parts, ignore_index=True)


def _logs(settings: Settings) -> pd.DataFrame:
    """Bounds from finite logs, compared with the true means and with the bounds from the infinite log."""
    import pandas as pd

    rows = []
    for number in range(settings.logs):
        draw = make_draw(settings, number)
        rng = np.random.default_rng([settings.seed, number, 1])
        _, _, best, latent = played(draw.known, draw.hidden, draw.theta_hidden + ball(rng, settings.rows, settings))
        rewards = draw.known[best] + latent + np.minimum(latent, 1.0 - latent) * rng.uniform(-1.0, 1.0, settings.rows)
        count, total, squares = (
            np.bincount(best, weights, settings.arms) for weights in (np.ones(settings.rows), rewards, rewards**2)
        )
        setting = draw.setting()
        mean = np.divide(total, count, out=np.zeros(settings.arms), where=count > 0)
        row: dict[str, float | bool] = {"draw": number}
        for method in ("corrected", "sharp"):
            try:
                plugged = linear_bounds(setting, share=count / settings.rows, mean=mean, method=method, progress=False)
            except mb.BoundsError:
                row[f"{method}_impossible"], row[f"{method}_excluded"] = True, 0
                continue
            row[f"{method}_impossible"] = False
            row[f"{method}_excluded"] = int(np.count_nonzero(~contains(plugged, draw.means)))
            apart = [getattr(plugged, side) - getattr(draw.bounds(method), side) for side in ("lower", "upper")]
            row[f"{method}_apart"] = float(np.abs(apart).max())
        limits = linear_bounds_from_log(
            setting, ArmSums(count, total, squares), low=draw.known, high=draw.known + 1.0, progress=False
        )
        row["limits_excluded"] = int(np.count_nonzero(~contains(limits, draw.means)))
        sharp = draw.bounds("sharp")
        row["limits_wider"] = float(np.mean((limits.upper - limits.lower) - (sharp.upper - sharp.lower)))
        rows.append(row)
    return pd.DataFrame(rows)


def _shown(settings: Settings, number: int, name: str, work: Work) -> Shown:
    """Play one of the two settings."""
    draw = make_draw(settings, number)
    environment = draw.environment()
    parts: dict[str, mb.Regret] = {}
    given = settings.horizon, settings.runs, settings.draws + number  # runs that had no part in choosing the draw
    found = draw.bounds("corrected")
    exact = {"exact": found.limited(mb.ROFUL())}
    tight = found.tightened(draw.known, draw.known + 1.0)
    reasons = {method: usable(draw, draw.bounds(method))[1] for method in METHODS}
    with _counted():
        for label, policy, bounds in _policies(draw):
            parts[label] = work.regret(f"{name}-{len(parts)}", {label: policy}, environment, bounds, *given)
        few = work.regret(f"{name}-exact", exact, environment, tight, settings.horizon, settings.runs_each, given[-1])
        left, bounds, policies = _alone(draw)
        alone = work.regret(f"{name}-alone", policies, left, bounds, *given)
    unusable: dict[str, str] = {method: reason for method, reason in reasons.items() if reason}
    return Shown(number, draw, tight, unusable, mb.Regret.beside(parts), few, alone)
