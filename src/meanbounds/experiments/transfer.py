"""R-OFUL from the log of an expert who saw the hidden part of the parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.experiments.base import PHONE, Claim, Work, expecting
from meanbounds.experiments.verdicts import less, verdict
from meanbounds.logs import LinearBounds, linear_bounds, linear_bounds_from_log
from meanbounds.paired import paired
from meanbounds.plots import plot_bounds_beside, plot_regret
from meanbounds.policies import LinearPolicy

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Arms with features, bounded by an expert's log"
SOURCE = "Figure 5"
ABOUT = (
    "An expert sees the hidden part of the parameter in each round and plays the best of 12 arms; the log keeps arm and "
    "reward. Theorem 9 turns it into bounds, from which R-OFUL starts. Chosen where the paper is silent: entries of "
    "2-sparse vectors are not negative, since latent rewards are to be in [0, 1]; the known part of a reward is "
    "<theta_z, a_kz> (printed with a_ku). The infinite log is that of a hidden part with 100,000 equally likely values, "
    "drawn from the ball in pairs that are opposite to each other, so that shares, means and the average are exact. "
    "Limits on its entries are the paper's, one pair for all coordinates; the box with limits for each is compared "
    "where it says so. Rewards online are uniform on the widest interval around the mean that stays in the range: the "
    "paper's are a mixture of such intervals with the same mean. R-OFUL clips each index at the arm's upper bound. The "
    "two settings are the first draws of the arms for which the corrected bounds leave at least 3 arms and do what the "
    "caption says: no factor among these arms is below 1/4, or some is by at least a tenth."
)

METHODS: tuple[Literal["paper", "corrected", "sharp"], ...] = ("paper", "corrected", "sharp")
NAMES = {"paper": "as printed", "corrected": "corrected", "sharp": "sharp"}
PLAIN, WORST = "R-OFUL, sharp, not clipped", 0.25
BOXES = ("common", "by coordinate")


@dataclass(frozen=True)
class Settings:
    """The paper's numbers, and how many draws of the arms are searched and compared."""

    arms: int = 12
    dimension: int = 5
    norm_known: float = 1.0
    norm_hidden: float = 0.9
    radius: float = 0.1
    values: int = 100_000  # of the hidden part, equally likely
    rows: int = 100_000  # of a finite log
    logs: int = 100  # draws of the arms for which a finite log is kept
    draws: int = 300  # of the arms
    horizon: int = 5_000
    runs: int = 200
    runs_each: int = 10  # on every draw of the arms
    left: int = 3  # arms that the bounds leave in both settings, at least
    improvement: float = 0.1  # of some factor in the second setting, at least
    seed: int = 0


SETTINGS = Settings()
QUICK = Settings(values=4_000, rows=20_000, logs=5, draws=40, horizon=500, runs=10, runs_each=2)


@dataclass(frozen=True, eq=False)
class Draw:
    """Arms, and what the infinite log of an expert says of each: its share and its mean reward when played."""

    visible: NDArray[np.float64]
    hidden: NDArray[np.float64]
    theta_known: NDArray[np.float64]
    theta_hidden: NDArray[np.float64]
    radius: float
    share: NDArray[np.float64]
    mean: NDArray[np.float64]

    @property
    def known(self) -> NDArray[np.float64]:
        """Known part of each mean."""
        known: NDArray[np.float64] = self.visible @ self.theta_known
        return known

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of each arm over the hidden part."""
        means: NDArray[np.float64] = self.known + self.hidden @ self.theta_hidden
        return means

    def box(self, kind: str = "common") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Limits on the hidden part's entries: the same for all, as in the paper, or each coordinate's own."""
        low, high = self.theta_hidden - self.radius, self.theta_hidden + self.radius
        if kind == "common":
            return np.full_like(low, low.min()), np.full_like(high, high.max())
        return low, high

    def bounds(self, method: Literal["paper", "corrected", "sharp"], box: str = "common") -> LinearBounds:
        """What the infinite log says of the arms' means."""
        given = (self.visible, self.hidden, self.theta_known, self.share, self.mean)
        names = [f"arm {k + 1}" for k in range(len(self.hidden))]
        return linear_bounds(*given, *self.box(box), method, arms=names)

    def environment(self) -> mb.Linear:
        """Where rewards come from online."""
        known = self.known
        return mb.Linear(self.hidden, self.theta_hidden, None, "uniform", known, known + 1.0, offset=known)


def make_draw(settings: Settings, number: int) -> Draw:
    """Draw the arms of this number, and the values of the hidden part."""
    rng = np.random.default_rng([settings.seed, number])
    along = np.arange(1.0, settings.dimension + 1.0)
    along /= np.linalg.norm(along)
    theta = settings.norm_hidden * along
    visible = np.abs(rng.normal(size=(settings.arms, settings.dimension)))
    hidden = np.zeros((settings.arms, settings.dimension))
    hidden[0] = theta + _ball(rng, 1, settings)[0]
    for k in range(1, settings.arms):
        hidden[k, rng.choice(settings.dimension, 2, replace=False)] = np.abs(rng.normal(size=2))
        hidden[k] /= np.linalg.norm(hidden[k])
    half = _ball(rng, settings.values // 2, settings)
    known = settings.norm_known * visible @ along
    count, total = _played(known, hidden, theta + np.concatenate([half, -half]))[:2]
    mean = np.divide(total, count, out=np.zeros(settings.arms), where=count > 0)
    return Draw(visible, hidden, settings.norm_known * along, theta, settings.radius, count / count.sum(), mean)


def _ball(rng: np.random.Generator, size: int, settings: Settings) -> NDArray[np.float64]:
    """Uniform draws from the ball around 0."""
    points = rng.normal(size=(size, settings.dimension))
    lengths = settings.radius * rng.uniform(size=size) ** (1.0 / settings.dimension)
    ball: NDArray[np.float64] = points * (lengths / np.linalg.norm(points, axis=1))[:, None]
    return ball


def _played(
    known: NDArray[np.float64], hidden: NDArray[np.float64], parameters: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """What the expert plays: counts and sums of means of each arm, and in each round the arm and the latent mean."""
    latent = parameters @ hidden.T
    best = np.argmax(known + latent, axis=1)
    latent = latent[np.arange(len(best)), best]
    count = np.bincount(best, minlength=len(known)).astype(np.float64)
    return count, np.bincount(best, known[best] + latent, minlength=len(known)), best, latent


@dataclass(frozen=True, eq=False)
class Shown:
    """One of the two settings: the draw of the arms, its bounds, which of them cannot be used and why, and the regret.

    `alone` is the regret where the arms that the corrected bounds exclude are not there in the first place.
    """

    number: int
    draw: Draw
    unusable: Mapping[str, str]
    regret: mb.Regret
    exact: mb.Regret
    alone: mb.Regret


@dataclass(frozen=True, eq=False)
class Results:
    """Bounds and regret on every draw of the arms, finite logs, and the two settings."""

    settings: Settings
    survey: pd.DataFrame  # draw x box x method: what the bounds are like
    online: pd.DataFrame  # draw x run: regret at the end, for draws whose corrected bounds leave several arms
    logs: pd.DataFrame  # draw: what becomes of bounds from a finite log
    shown: Mapping[str, Shown]


def run(settings: Settings, work: Work) -> Results:
    """Bounds of all draws first, since the two settings are found among them."""
    survey = work.frame("survey", partial(_survey, settings))
    online = work.frame("online", partial(_online, settings, survey))
    logs = work.frame("logs", partial(_logs, settings))
    shown = {
        name: _shown(settings, find(survey, settings, improved=improved), name, work)
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
                row["width"] = float((found.upper - found.lower).sum())
                tight, _ = usable(draw, found)
                row["usable"] = tight is not None
                factors = tight.variance_proxy[tight.possible] if tight is not None else np.array([np.nan])
                row["left"] = int(tight.possible.sum()) if tight is not None else 0
                row["least_factor"], row["largest_factor"] = float(factors.min()), float(factors.max())
                rows.append(row)
    return pd.DataFrame(rows)


def contains(bounds: LinearBounds, means: NDArray[np.float64]) -> NDArray[np.bool_]:
    """For each arm, whether its mean is within its bounds but for rounding."""
    slack = 1e-9 * (1.0 + np.abs(means))
    return (bounds.lower <= means + slack) & (means - slack <= bounds.upper)


def usable(draw: Draw, found: LinearBounds) -> tuple[mb.TightBounds | None, str]:
    """Bounds as R-OFUL starts from them, or why it cannot."""
    try:
        return found.tightened(draw.known, draw.known + 1.0), ""
    except mb.BoundsError as error:
        return None, str(error)


def find(survey: pd.DataFrame, settings: Settings, *, improved: bool) -> int:
    """The first draw whose corrected bounds leave enough arms, not all, and improve some of their factors, or none."""
    own = survey[(survey["box"] == "common") & (survey["method"] == "corrected")]
    own = own[(own["left"] >= settings.left) & (own["left"] < settings.arms)]
    factor = own["least_factor"]
    fits = own[factor <= (1.0 - settings.improvement) * WORST if improved else factor > WORST - 1e-9]
    if fits.empty:
        raise ValueError(
            f"none of {settings.draws} draws of the arms leaves {settings.left} arms with "
            f"{'an improved factor' if improved else 'no improved factor'}; raise draws in the settings"
        )
    return int(fits["draw"].iloc[0])


def _policies(draw: Draw) -> Iterator[tuple[str, LinearPolicy, mb.MeanBounds]]:
    """OFUL, and R-OFUL from each kind of bounds that can be used."""
    sharp = draw.bounds("sharp")
    known = draw.known
    yield "OFUL", sharp.limited(mb.OFUL()), mb.MeanBounds.vacuous(sharp.arms, known, known + 1.0)
    for method in METHODS:
        tight, _ = usable(draw, draw.bounds(method))
        if tight is not None:
            yield f"R-OFUL, {NAMES[method]}", sharp.limited(mb.ROFUL(index="clip")), tight
    tight, _ = usable(draw, sharp)
    if tight is not None:
        yield PLAIN, sharp.limited(mb.ROFUL(index="plain")), tight


def _alone(draw: Draw) -> tuple[mb.Linear, mb.MeanBounds, dict[str, LinearPolicy]]:
    """The arms that corrected bounds leave, and no others: nothing is restricted any more."""
    found = draw.bounds("corrected")
    tight = found.tightened(draw.known, draw.known + 1.0)
    left = np.flatnonzero(tight.possible)
    known = draw.known[left]
    environment = mb.Linear(draw.hidden[left], draw.theta_hidden, None, "uniform", known, known + 1.0, offset=known)
    bounds = mb.MeanBounds(tight.lower[left], tight.upper[left], [tight.arms[k] for k in left], known, known + 1.0)
    policies = {"OFUL": found.limited(mb.OFUL()), "R-OFUL, corrected": found.limited(mb.ROFUL(index="clip"))}
    return environment, bounds, policies


def _online(settings: Settings, survey: pd.DataFrame) -> pd.DataFrame:
    """Regret on every draw whose corrected bounds leave something to learn."""
    import pandas as pd

    own = survey[(survey["box"] == "common") & (survey["method"] == "corrected") & (survey["left"] > 1)]
    parts = []
    for number, least in zip(own["draw"], own["least_factor"], strict=True):
        draw = make_draw(settings, int(number))
        given = settings.horizon, settings.runs_each, int(number), 1
        columns: dict[str, NDArray[np.float64]] = {}
        for label, policy, bounds in _policies(draw):
            with expecting("is outside its bounds"), expecting("bounds and data contradicted each other"):
                found = mb.simulate({label: policy}, draw.environment(), bounds, *given, progress=False)
            columns[label] = found.final[label]
        if least > WORST - 1e-9:  # clipping is all that R-OFUL does to these arms
            environment, bounds, policies = _alone(draw)
            found = mb.simulate(policies, environment, bounds, *given, progress=False)
            columns |= {f"{label}, arms left alone": final for label, final in found.final.items()}
        parts.append(pd.DataFrame({"draw": number, "run": range(settings.runs_each), **columns}))
    return pd.concat(parts, ignore_index=True)


def _logs(settings: Settings) -> pd.DataFrame:
    """What becomes of the bounds if the log is finite."""
    import pandas as pd

    rows = []
    for number in range(settings.logs):
        draw = make_draw(settings, number)
        rng = np.random.default_rng([settings.seed, number, 1])
        _, _, best, latent = _played(draw.known, draw.hidden, draw.theta_hidden + _ball(rng, settings.rows, settings))
        rewards = draw.known[best] + latent + np.minimum(latent, 1.0 - latent) * rng.uniform(-1.0, 1.0, settings.rows)
        count, total, squares = (
            np.bincount(best, weights, settings.arms) for weights in (np.ones(settings.rows), rewards, rewards**2)
        )
        given = (draw.visible, draw.hidden, draw.theta_known)
        mean = np.divide(total, count, out=np.zeros(settings.arms), where=count > 0)
        row: dict[str, float | bool] = {"draw": number}
        for method in ("corrected", "sharp"):
            try:
                plugged = linear_bounds(*given, count / settings.rows, mean, *draw.box(), method, progress=False)
            except mb.BoundsError:
                row[f"{method}_impossible"], row[f"{method}_excluded"] = True, 0
                continue
            row[f"{method}_impossible"] = False
            row[f"{method}_excluded"] = int(np.count_nonzero(~contains(plugged, draw.means)))
            apart = [getattr(plugged, side) - getattr(draw.bounds(method), side) for side in ("lower", "upper")]
            row[f"{method}_apart"] = float(np.abs(apart).max())
        limits = linear_bounds_from_log(
            *given, count, total, squares, *draw.box(), draw.known, draw.known + 1.0, progress=False
        )
        row["limits_excluded"] = int(np.count_nonzero(~contains(limits, draw.means)))
        sharp = draw.bounds("sharp")
        row["limits_wider"] = float(np.mean((limits.upper - limits.lower) - (sharp.upper - sharp.lower)))
        rows.append(row)
    return pd.DataFrame(rows)


def _shown(settings: Settings, number: int, name: str, work: Work) -> Shown:
    """Play one of the two settings."""
    draw = make_draw(settings, number)
    environment, parts = draw.environment(), {}
    given = settings.horizon, settings.runs, number
    for label, policy, bounds in _policies(draw):
        with expecting("is outside its bounds"), expecting("bounds and data contradicted each other"):
            parts[label] = work.regret(f"{name}-{len(parts)}", {label: policy}, environment, bounds, *given)
    found = draw.bounds("corrected")
    tight = found.tightened(draw.known, draw.known + 1.0)
    exact = {"exact": found.limited(mb.ROFUL())}
    left, bounds, policies = _alone(draw)
    reasons = {method: usable(draw, draw.bounds(method))[1] for method in METHODS}
    return Shown(
        number,
        draw,
        {method: reason for method, reason in reasons.items() if reason},
        mb.Regret.beside(parts),
        work.regret(f"{name}-exact", exact, environment, tight, settings.horizon, settings.runs_each, number),
        work.regret(f"{name}-alone", policies, left, bounds, *given),
    )
