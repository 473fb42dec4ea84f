"""R-OFUL from the log of an expert who saw the hidden part of the parameter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.logs import ArmSums, linear_bounds, linear_bounds_from_log
from meanbounds.paper.base import PHONE, Claim, Work, bound_claim, expecting
from meanbounds.paper.linear_log import (
    BOXES,
    METHODS,
    Draw,
    World,
    ball,
    contains,
    make_draw,
    played,
    usable,
)
from meanbounds.paper.verdicts import Tally, less, tally, verdict
from meanbounds.plots import COLOURS, plot_bounds_beside, plot_regret
from meanbounds.policies import LinearPolicy
from meanbounds.simulation.pairs import sign_test

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Arms with features, bounded by an expert's log"
SOURCE = "Figure 5"
ABOUT = (
    "An expert sees the hidden part of the parameter in each round and plays the best of 12 arms; the log keeps arm "
    "and reward. Theorem 9 turns it into bounds, from which R-OFUL starts. Chosen where the paper is silent: entries "
    "of 2-sparse vectors are not negative, since latent rewards are to be in [0, 1]; the known part of a reward is "
    "<theta_z, a_kz> (printed with a_ku). The infinite log is that of a hidden part with 100,000 equally likely "
    "values, drawn from the ball in pairs opposite to each other: shares, means and the average are exact. Limits on "
    "its entries are the paper's, one pair for all coordinates; limits for each coordinate are used where it says so. "
    "Rewards online are uniform on the widest interval around the mean that stays in the range: the paper's are a "
    "mixture of such intervals with the same mean. R-OFUL clips each index at the arm's upper bound. The two settings "
    "are the first draws of the arms for which the corrected bounds leave at least 3 arms and do what the caption "
    "says (no factor among these arms is below 1/4, or some is by at least a tenth), on which R-OFUL is ahead of "
    "OFUL, as the text says, and whose printed bounds can be used; the runs that are shown had no part in that "
    "choice, and the last picture and the claims about every draw show how it is elsewhere. Shading: one standard "
    "deviation."
)

NAMES = {"corrected": "corrected", "sharp": "sharp", "paper": "as printed"}
CORRECTED, SHARP, PRINTED, PLAIN = "corrected", "sharp", "as printed", "sharp, no clip"
ALONE = ", only arms left"
WORST = 0.25  # factor of a reward of which nothing is known


@dataclass(frozen=True)
class Settings(World):
    """Those of the world, and how many draws of the arms are searched and compared."""

    logs: int = 100  # draws of the arms for which a finite log is kept
    draws: int = 300  # of the arms
    horizon: int = 5_000
    runs: int = 200
    runs_each: int = 10  # on every draw of the arms; with fewer the sign test cannot tell anything
    left: int = 3  # arms that the bounds leave in both settings, at least
    improvement: float = 0.1  # of some factor in the second setting, at least


SETTINGS = Settings()
QUICK = Settings(values=4_000, rows=20_000, logs=5, draws=40, horizon=500, runs=10, runs_each=10)


@dataclass(frozen=True, eq=False)
class Shown:
    """One of the two settings: the draw of the arms, its bounds, which of them cannot be used and why, and the regret.

    `alone` is the regret where the arms that the corrected bounds exclude are not there in the first place.
    """

    number: int
    draw: Draw
    tight: mb.MeanBounds  # corrected
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


def fitting(survey: pd.DataFrame, settings: Settings, *, improved: bool) -> list[int]:
    """Draws whose corrected bounds leave enough arms, not all, and improve some of their factors, or none."""
    own = survey[(survey["box"] == "common") & (survey["method"] == "corrected")]
    own = own[(own["left"] >= settings.left) & (own["left"] < settings.arms)]
    factor = own["least_factor"]
    fits = own[factor <= (1.0 - settings.improvement) * WORST if improved else factor > WORST - 1e-9]
    if fits.empty:
        raise ValueError(
            f"none of {settings.draws} draws of the arms leaves {settings.left} arms with "
            f"{'an improved factor' if improved else 'no improved factor'}; raise draws in the settings"
        )
    return [int(number) for number in fits["draw"]]


def ahead(online: pd.DataFrame, draws: Sequence[int]) -> list[int]:
    """Those of the draws on which R-OFUL, with corrected bounds, has less regret than OFUL in the mean."""
    means = online.groupby("draw")[["OFUL", CORRECTED]].mean()
    better = means.index[means[CORRECTED] < means["OFUL"]].tolist()
    return [number for number in draws if number in better]


def find(survey: pd.DataFrame, online: pd.DataFrame, settings: Settings, *, improved: bool) -> int:
    """The first draw that fits the caption, and on which R-OFUL is ahead as the text says, if there is one.

    Of these, if there is one, the first whose printed bounds can be used at all.
    """
    draws = fitting(survey, settings, improved=improved)
    better = ahead(online, draws)
    printed = _of(survey, "paper")
    playable = set(printed["draw"][printed["usable"]].tolist())
    return ([number for number in better if number in playable] or better or draws)[0]


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
    """Without the warnings about bounds that do not hold: those of the paper do not, and the report says so."""
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
    """What becomes of the bounds if the log is finite."""
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


def plot(results: Results) -> Mapping[str, Figure]:
    """Bounds and regret of both settings, and regret on every draw of the arms."""
    return {
        "setting-1": _picture(results.shown["setting-1"], "Setting 1: factors stay at 1/4"),
        "setting-2": _picture(results.shown["setting-2"], "Setting 2: some factor is below 1/4"),
        "draws": _every_draw(results),
    }


def _picture(shown: Shown, title: str) -> Figure:
    draw = shown.draw
    bounds = {NAMES[method]: draw.bounds(method) for method in METHODS}
    with plt.rc_context(PHONE):
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.4, 9.6), height_ratios=(5.4, 3.6), layout="constrained")
        plot_bounds_beside(bounds, draw.means, draw.known, draw.known + 1.0, upper)
        upper.axvline(shown.tight.best_lower, color="#7f7f7f", linestyle="--", linewidth=1.2, zorder=1)
        plot_regret(shown.regret, lower, band="deviation")
        lower.set_title("Regret of OFUL, and of R-OFUL from these bounds", loc="left")
        figure.suptitle(f"{title} (draw {shown.number})", fontsize=13, x=0.02, ha="left")
        notes = ["Dashed: the largest lower bound, corrected and tightened; arms left of it cannot be best."]
        notes += [f"Bounds {NAMES[method]} cannot be used: {reason}." for method, reason in shown.unusable.items()]
        note = "\n".join(line for text in notes for line in textwrap.wrap(text, 58))
        upper.set_xlabel(f"mean reward\n{note}", parse_math=False)
    return figure


def _every_draw(results: Results) -> Figure:
    means = results.online.groupby("draw").mean()
    with plt.rc_context(PHONE):
        figure, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
        top = 1.05 * float(means[["OFUL", CORRECTED]].to_numpy().max())
        ax.plot([0.0, top], [0.0, top], color="#7f7f7f", linewidth=1.2)
        for number, (label, mark) in enumerate(((CORRECTED, "o"), (PRINTED, "x"), (PLAIN, "+"))):
            ax.plot(means["OFUL"], means[label], mark, color=COLOURS[(0, 2, 4)[number]], markersize=6, label=label)
        ax.set_xlim(0.0, 1.05 * float(means["OFUL"].max()))
        ax.set_ylim(0.0, top)
        ax.set_xlabel("regret of OFUL")
        ax.set_ylabel("regret of R-OFUL")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper left", title="bounds", alignment="left")
        ax.set_title(f"{len(means)} draws of the arms on which several are left", loc="left")
    return figure


def claims(results: Results) -> Sequence[Claim]:
    """What Section 6 says of the linear log and of learning from it."""
    return [
        _containment(results),
        _finite(results),
        _first_setting(results),
        _second_setting(results),
        _outperforms(results, PRINTED),
        _outperforms(results, CORRECTED),
        _outperforms_on_every_draw(results, PRINTED),
        _outperforms_on_every_draw(results, CORRECTED),
        _matches(results),
        bound_claim(
            "Theorem 4",
            "With probability 1 - delta the regret is below the bound in all rounds (both settings, bounds that hold).",
            [regret for shown in results.shown.values() for regret in (shown.regret, shown.exact, shown.alone)],
        ),
    ]


def _of(survey: pd.DataFrame, method: str, box: str = "common") -> pd.DataFrame:
    return survey[(survey["method"] == method) & (survey["box"] == box)]


def _containment(results: Results) -> Claim:
    survey, draws = results.survey, results.settings.draws
    excluded = {(method, box): int(_of(survey, method, box)["excluded"].sum()) for method in METHODS for box in BOXES}
    printed = _of(survey, "paper")
    ratio = _of(survey, "sharp")["width"].to_numpy() / _of(survey, "corrected")["width"].to_numpy()
    right = sum(count for (method, _), count in excluded.items() if method != "paper")
    several, best, above = (
        int(column.sum()) for column in (printed["excluded"] > 0, printed["best_excluded"], printed["overstated"])
    )
    return Claim(
        "Theorem 9",
        "The mean of every arm is within the bounds.",
        f"over {draws} draws of {results.settings.arms} arms the printed bounds exclude {excluded['paper', 'common']} "
        f"means, in {several} draws: {best} are that of the best arm, {above} are below their lower bound. R-OFUL "
        f"cannot start from those of {int((~printed['usable']).sum())} draws: no parameter satisfies them, or they "
        "leave the range of the rewards. With limits for each coordinate they exclude "
        f"{excluded['paper', 'by coordinate']}. Corrected and sharp bounds exclude {right}; the sharp ones have "
        f"{np.median(ratio):.2f} of the width of the corrected ones, in the median",
        verdict(not any(excluded["paper", box] for box in BOXES), right == 0),
    )


def _finite(results: Results) -> Claim:
    logs, rows = results.logs, results.settings.rows
    missed = {method: int((logs[f"{method}_excluded"] > 0).sum()) for method in ("corrected", "sharp", "limits")}
    return Claim(
        "Section 6, empirical validation",
        f"A log of {rows:,} rows stands for an infinite one.",
        f"over {len(logs)} draws of the arms, estimates in place of shares and means move the corrected bounds by at "
        f"most {logs['corrected_apart'].max():.4f}, and some mean is excluded in {missed['corrected']} (an arm that is "
        f"played throughout has its average as both bounds); the sharp programs have no solution in "
        f"{int(logs['sharp_impossible'].sum())}. Limits at 95% exclude a mean in {missed['limits']}, and are "
        f"{logs['limits_wider'].mean():.4f} wider than the sharp bounds of the infinite log",
        verdict(missed["corrected"] == 0, missed["limits"] <= 0.05 * len(logs)),
    )


def _how_common(results: Results, *, improved: bool) -> str:
    """In how many draws several arms are left, not all, and some of their factors are improved, or none."""
    words = []
    for method in METHODS:
        own = _of(results.survey, method)
        several = own[(own["left"] > 1) & (own["left"] < results.settings.arms)]
        better = several["least_factor"] < WORST - 1e-9
        words.append(f"{int((better if improved else ~better).sum())} {NAMES[method]}")
    return f"so it is in {', '.join(words)} of {results.settings.draws} draws"


def _how_often_ahead(results: Results, *, improved: bool) -> str:
    """On how many of the draws that fit the caption R-OFUL is ahead."""
    draws = fitting(results.survey, results.settings, improved=improved)
    return f"it is ahead on {len(ahead(results.online, draws))} of the {len(draws)} draws that fit the caption"


def _first_setting(results: Results) -> Claim:
    shown = results.shown["setting-1"]
    final, left = shown.regret.final, shown.tight.possible
    least = float(shown.tight.variance_proxy[left].min())
    return Claim(
        "Figure 5, caption",
        "In the first setting the bounds improve no factor, but arms are restricted, which lowers the regret.",
        f"{left.sum()} of {left.size} arms are left, with factors of at least {least:.4f} "
        f"({_how_common(results, improved=False)}); R-OFUL against OFUL: {sign_test(final[CORRECTED], final['OFUL'])} "
        f"({_how_often_ahead(results, improved=False)}); "
        f"with the exact index, over {results.settings.runs_each} runs: {shown.exact.final['exact'].mean():.1f}",
        verdict(least > WORST - 1e-9 and left.sum() < left.size and less(final[CORRECTED], final["OFUL"])),
    )


def _second_setting(results: Results) -> Claim:
    tight = results.shown["setting-2"].tight
    factors = tight.variance_proxy[tight.possible]
    own = _of(results.survey, "corrected")
    several = own[own["left"] > 1]
    all_better = int((several["largest_factor"] < WORST - 1e-9).sum())
    return Claim(
        "Figure 5, caption",
        "In the second setting the bounds improve the rate of exploration.",
        f"factors of the {factors.size} arms left are between {factors.min():.4f} and {factors.max():.4f} "
        f"({_how_common(results, improved=True)}). As printed the rate is the largest factor, which is below 1/4 in "
        f"{all_better} of {len(several)} draws with several arms left; weights use each arm's own",
        verdict(bool(factors.max() < WORST - 1e-9), bool(factors.min() < WORST - 1e-9)),
    )


def _compared(online: pd.DataFrame, first: str, second: str) -> Tally:
    """On each draw of the arms, whether the first has less regret."""
    known = online.dropna(subset=[first, second]) if first in online and second in online else online.iloc[:0]
    return tally((own[first].to_numpy(), own[second].to_numpy()) for _, own in known.groupby("draw"))


def _outperforms(results: Results, which: str) -> Claim:
    """From the printed bounds, as the paper has it, or from the corrected ones, which hold."""
    shown = results.shown["setting-2"]
    final = shown.regret.final
    if which == PRINTED:
        wrong = int(np.count_nonzero(~contains(shown.draw.bounds("paper"), shown.draw.means)))
        return Claim(
            "Figure 5, second setting",
            "R-OFUL significantly outperforms OFUL in the second setting (from the printed bounds).",
            f"{sign_test(final[PRINTED], final['OFUL']) if PRINTED in final else 'they cannot be used'}; they exclude "
            f"{wrong} of {len(shown.draw.means)} means",
            verdict(PRINTED in final and less(final[PRINTED], final["OFUL"])),
        )
    half = int(np.searchsorted(shown.regret.rounds, results.settings.horizon // 2))
    late = {label: float(np.diff(shown.regret.mean(label)[[half, -1]])[0]) for label in (CORRECTED, "OFUL")}
    return Claim(
        "Figure 5, second setting",
        "R-OFUL significantly outperforms OFUL in the second setting (from corrected bounds).",
        f"{sign_test(final[CORRECTED], final['OFUL'])} ({_how_often_ahead(results, improved=True)}); "
        f"in the second half of the rounds it adds {late[CORRECTED]:.1f}, "
        f"OFUL {late['OFUL']:.1f}. From sharp bounds {final[SHARP].mean():.1f}, without clipping the index "
        f"{final[PLAIN].mean():.1f}; from corrected bounds with the exact index "
        f"{shown.exact.final['exact'].mean():.1f}",
        verdict(less(final[CORRECTED], final["OFUL"])),
    )


def _outperforms_on_every_draw(results: Results, which: str) -> Claim:
    """From the printed bounds, as the paper has it, or from the corrected ones, which hold."""
    found = {label: _compared(results.online, label, "OFUL") for label in (CORRECTED, SHARP, PLAIN, PRINTED)}
    if which == PRINTED:
        return Claim(
            "Section 6, empirical validation",
            "Where the bounds say something, R-OFUL significantly outperforms OFUL (from the printed bounds).",
            f"on draws of the arms where they can be used, against OFUL: {found[PRINTED]}; they exclude the mean of "
            f"the best arm in {int(_of(results.survey, 'paper')['best_excluded'].sum())} of {results.settings.draws}",
            verdict(_mostly_less(found[PRINTED])),
        )
    alone = int((_of(results.survey, "corrected")["left"] == 1).sum())
    sharp = _of(results.survey, "sharp")
    why = (
        " What hurts is clipping: the index of the best arm, whose mean is almost known, loses the lead that optimism "
        "gives it, and the others are explored first."
        if found[SHARP].more > found[PLAIN].more
        else ""
    )
    return Claim(
        "Section 6, empirical validation",
        "Where the bounds say something, R-OFUL significantly outperforms OFUL (from corrected bounds).",
        f"in {alone} of {results.settings.draws} draws of the arms one arm is left, and R-OFUL has no regret. On the "
        f"others, against OFUL: corrected {found[CORRECTED]}, sharp {found[SHARP]}, sharp without clipping "
        f"{found[PLAIN]}.{why} "
        f"In {int((sharp['played'] == 1).sum())} draws the expert plays one arm throughout, which is then the best; "
        f"bounds on single means do not say so: in {int(sharp['tied'].sum())} draws the sharp ones leave several arms, "
        "none of which can be better than the first",
        verdict(_mostly_less(found[CORRECTED])),
    )


def _mostly_less(found: Tally) -> bool:
    """Less in most of the comparisons, and more in none."""
    return found.more == 0 and 2 * found.less > found.total


def _matches(results: Results) -> Claim:
    shown = results.shown["setting-1"].alone
    found = _compared(results.online, f"{CORRECTED}{ALONE}", f"OFUL{ALONE}")
    return Claim(
        "Section 6, empirical validation",
        "Where the bounds do not help to restrict the arms, R-OFUL matches OFUL, and clipping improves it.",
        f"with the arms alone that are left, and no factor improved: in the first setting "
        f"{shown.final[CORRECTED].mean():.1f} against {shown.final['OFUL'].mean():.1f}; over such draws R-OFUL has "
        f"regret that is {found}",
        verdict(found.more == 0 and found.total > 0),
    )
