"""Figure 5: bounds on arms with features from the log of an expert who sees the hidden parameter, and R-OFUL from them.

Twelve arms are drawn at random, many times. The hidden parameter of a case is uniform in a ball of radius 0.1; the
expert plays the best arm for it. The paper shows two draws and gives no numbers, so they are searched for: the first
draws that are as the captions say, on which R-OFUL from corrected bounds is ahead of OFUL if there are such draws, and
whose printed bounds can be used if there are such draws among these. The runs shown had no part in that choice.
Rewards are uniform around the mean, within 1 above the known part. Unclipped: from corrected bounds, with the index of
OFUL.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.linear import tighten
from meanbounds.simulation import Linear
from meanbounds.support.types import Booleans, Floats, Integers
from meanbounds.theory import linear_log_bounds
from paper.finite_log import finite_log_bounds
from paper.output import Claim, command, verdict, write_csv
from paper.verdicts import Pairs, below_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Draw", "Logged", "bounds_from", "main", "make_draw", "play_expert"]

Form = Literal["paper", "corrected", "sharp"]
FORMS: tuple[Form, ...] = ("paper", "corrected", "sharp")
LABELS = {"paper": "R-OFUL, printed", "corrected": "R-OFUL, corrected", "sharp": "R-OFUL, sharp"}
PRINTED, CORRECTED, SHARP = LABELS.values()
UNCLIPPED = "R-OFUL, unclipped"
ARMS, DIMENSION, RADIUS, NORM = 12, 5, 0.1, 0.9
LEFT, IMPROVED = 3, 0.9  # both settings have so many arms left; the second has a factor of at most 0.9 / 4
WORST = 0.25 - 1e-9  # a factor above this says nothing


class Sizes(NamedTuple):
    """Draws of the arms; those with a finite log; its rows; rounds; runs shown, and on each draw."""

    draws: int = 300
    logs: int = 100
    rows: int = 100_000
    horizon: int = 5_000
    runs: int = 200
    each: int = 10


FULL, QUICK = Sizes(), Sizes(40, 10, 100_000, 500, 20, 10)


@dataclass(frozen=True, eq=False)
class Draw:
    """Arms: the known part of each mean, features of the hidden part, share in an infinite log, mean reward there."""

    number: int
    known: Floats
    hidden: Floats
    theta: Floats
    share: Floats
    mean: Floats

    @property
    def means(self) -> Floats:
        """The mean of each arm, which the agent has to learn."""
        return self.known + self.hidden @ self.theta

    def box(self, own: bool = False) -> tuple[Floats, Floats]:
        """Limits on the hidden parameter: one interval for all coordinates, as in the paper, or each one's own."""
        low, high = self.theta - RADIUS, self.theta + RADIUS
        return (low, high) if own else (np.full_like(low, low.min()), np.full_like(high, high.max()))

    def bounds(self, form: Form, own: bool = False) -> tuple[Floats, Floats]:
        """Bounds from the infinite log."""
        return bounds_from(self, self.share, self.mean, form, own)

    def environment(self, arms: Booleans | slice = slice(None)) -> Linear:
        """What the agent meets, with all arms or only these."""
        known = self.known[arms]
        return Linear(self.hidden[arms], self.theta, law="uniform", low=known, high=known + 1.0, offset=known)


class Logged(NamedTuple):
    """A row of the survey: bounds of one form on one draw of the arms."""

    draw: int
    box: str
    form: str
    excluded: int  # means outside their bounds
    best_excluded: bool
    overstated: int  # means below their lower bound
    width: float
    usable: bool
    left: int  # arms that can be best, after tightening
    least: float  # factor of these arms
    largest: float


@dataclass(frozen=True, eq=False)
class Shown:
    """A setting: the draw, bounds that R-OFUL starts from, regret, and regret with no arms but those left."""

    draw: Draw
    start: mb.MeanBounds
    regrets: Mapping[str, mb.Regret]
    alone: mb.Regret


Finals = Mapping[int, Mapping[str, Floats]]
"""For each draw on which corrected bounds leave several arms: regret at the end, by policy."""


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Bound the means of every draw, let agents start from them, and look at finite logs."""
    sizes = QUICK if quick else FULL
    draws = [make_draw(number) for number in range(sizes.draws)]
    survey = [logged(draw, form, own) for draw in draws for own in (False, True) for form in FORMS]
    write_csv(out / "transfer.csv", ",".join(Logged._fields), survey)
    with warnings.catch_warnings():  # the printed bounds fail, which is reported below
        warnings.filterwarnings("ignore", message=".*(rewards contradicted bounds|outside its bounds)")
        finals = {row.draw: play_draw(draws[row.draw], sizes) for row in of(survey, "corrected") if row.left > 1}
        shown = {
            name: play_shown(draws[find(survey, finals, improved)], sizes)
            for name, improved in (("setting-1", False), ("setting-2", True))
        }
    rows = [(draw, label, own.mean()) for draw, by in finals.items() for label, own in by.items()]
    write_csv(out / "transfer-regret.csv", "draw,policy,regret", rows)
    titles = {"setting-1": "Setting 1: no factor is improved", "setting-2": "Setting 2: some factor is improved"}
    for name, one in shown.items():
        draw_setting(out / f"transfer-{name}.png", f"{titles[name]} (draw {one.draw.number})", one)
    draw_finals(out / "transfer-draws.png", finals)
    return [
        contained(survey, sizes),
        stands_for_infinite(draws[: sizes.logs], sizes),
        first_setting(shown["setting-1"], survey, finals, sizes),
        second_setting(shown["setting-2"], survey, sizes),
        outperforms(shown["setting-2"], survey, finals),
        outperforms_on_every_draw(survey, finals, sizes),
        matches(shown["setting-1"], finals),
        below_bounds(
            "Theorem 4",
            "With probability 1 - delta the regret is below the bound in all rounds (both settings, valid bounds).",
            [regret for one in shown.values() for label, regret in one.regrets.items() if label != PRINTED],
        ),
    ]


def make_draw(number: int, values: int = 100_000) -> Draw:
    """Draw arms; the expert plays them for so many values of the hidden parameter, which stand for an infinite log."""
    rng = np.random.default_rng([5, number])
    along = np.arange(1.0, DIMENSION + 1.0) / np.linalg.norm(np.arange(1.0, DIMENSION + 1.0))
    theta, visible = NORM * along, np.abs(rng.normal(size=(ARMS, DIMENSION)))
    hidden = np.zeros((ARMS, DIMENSION))
    hidden[0] = theta + ball(rng, 1)[0]
    for k in range(1, ARMS):
        hidden[k, rng.choice(DIMENSION, 2, replace=False)] = np.abs(rng.normal(size=2))
        hidden[k] /= np.linalg.norm(hidden[k])
    half, known = ball(rng, values // 2), visible @ along
    best, latent = play_expert(known, hidden, theta + np.concatenate([half, -half]))
    count, total = tally(best, np.ones(values)), tally(best, known[best] + latent)
    mean = np.divide(total, count, out=np.zeros(ARMS), where=count > 0.0)
    return Draw(number, known, hidden, theta, count / count.sum(), mean)


def ball(rng: np.random.Generator, size: int) -> Floats:
    """Uniform draws from the ball around 0."""
    points = rng.normal(size=(size, DIMENSION))
    lengths = RADIUS * rng.uniform(size=size) ** (1.0 / DIMENSION)
    return points * (lengths / np.linalg.norm(points, axis=1))[:, None]


def play_expert(known: Floats, hidden: Floats, parameters: Floats) -> tuple[Integers, Floats]:
    """The best arm for each value of the hidden parameter, and the hidden part of its mean."""
    latent = parameters @ hidden.T
    best = np.argmax(known + latent, axis=1)
    return best, latent[np.arange(len(best)), best]


def tally(arms: Integers, values: Floats) -> Floats:
    """The sum of the values of each arm."""
    return np.bincount(arms, values, ARMS).astype(np.float64)


def bounds_from(draw: Draw, share: Floats, mean: Floats, form: Form, own: bool = False) -> tuple[Floats, Floats]:
    """Theorem 9 with these shares and means."""
    low, high = draw.box(own)
    return linear_log_bounds(share, mean, draw.known, draw.hidden, box_low=low, box_high=high, form=form)


def outside(bounds: tuple[Floats, Floats], means: Floats) -> Booleans:
    """Which means are outside their bounds, by more than rounding."""
    slack = 1e-9 * (1.0 + np.abs(means))
    return (means < bounds[0] - slack) | (means > bounds[1] + slack)


def start_from(draw: Draw, bounds: tuple[Floats, Floats], own: bool = False) -> mb.MeanBounds:
    """Bounds on the means within the range of the rewards, tightened by each other and by the box.

    Each coordinate of the hidden parameter is one more arm, whose bounds are the limits of the box. Bounds that no
    parameter satisfies, or that are outside the range, are a BoundsError.
    """
    low, high = draw.known, draw.known + 1.0
    if np.any((bounds[1] < low - 1e-9) | (bounds[0] > high + 1e-9) | (bounds[0] > bounds[1] + 1e-9)):
        raise mb.BoundsError("some bounds cross or leave the range of the rewards")
    lower, upper = (np.clip(side, low, high) for side in (bounds[0], np.maximum(*bounds)))
    box = draw.box(own)
    ends = [np.concatenate(pair) for pair in zip((lower, upper, low, high), (*box, *box), strict=True)]
    both = mb.MeanBounds(ends[0], ends[1], low=ends[2], high=ends[3])
    rows, offset = np.vstack([draw.hidden, np.eye(DIMENSION)]), np.append(draw.known, np.zeros(DIMENSION))
    tight = tighten(rows, both, norm_high=longest(draw), offset=offset)
    names = [f"arm {k + 1}" for k in range(ARMS)]
    return mb.MeanBounds(tight.lower[:ARMS], tight.upper[:ARMS], low=low, high=high, arms=names)


def longest(draw: Draw) -> float:
    """The largest norm of a hidden parameter in the paper's box."""
    return float(np.linalg.norm(np.abs(np.stack(draw.box())).max(axis=0)))


def usable(draw: Draw, form: Form, own: bool = False) -> mb.MeanBounds | None:
    """What R-OFUL starts from, or None if the bounds cannot be used."""
    try:
        return start_from(draw, draw.bounds(form, own), own)
    except mb.BoundsError:
        return None


def logged(draw: Draw, form: Form, own: bool) -> Logged:
    """What the bounds of this form are like."""
    bounds, means = draw.bounds(form, own), draw.means
    wrong, start = outside(bounds, means), usable(draw, form, own)
    factors = np.array([np.nan]) if start is None else start.variance_proxy[start.possible]
    return Logged(
        draw.number,
        "own" if own else "common",
        form,
        int(wrong.sum()),
        bool(wrong[means.argmax()]),
        int(np.count_nonzero(wrong & (bounds[0] > means))),
        float((bounds[1] - bounds[0]).sum()),
        start is not None,
        0 if start is None else int(start.possible.sum()),
        float(factors.min()),
        float(factors.max()),
    )


def of(survey: Sequence[Logged], form: Form, box: str = "common") -> list[Logged]:
    """The rows of one form of the bounds and one kind of box."""
    return [row for row in survey if row.form == form and row.box == box]


def policies(draw: Draw) -> Iterator[tuple[str, mb.OFUL, mb.MeanBounds | None]]:
    """OFUL, R-OFUL from each form of the bounds that can be used, and R-OFUL that does not clip its index."""
    norm, known = longest(draw), draw.known
    yield "OFUL", mb.OFUL(norm_high=norm), mb.MeanBounds.vacuous(ARMS, low=known, high=known + 1.0)
    starts = {form: usable(draw, form) for form in FORMS}
    for form, start in starts.items():
        yield LABELS[form], mb.ROFUL(norm_high=norm, index="clip"), start
    yield UNCLIPPED, mb.ROFUL(norm_high=norm, index="plain"), starts["corrected"]


def play_draw(draw: Draw, sizes: Sizes) -> dict[str, Floats]:
    """Regret at the end, of every policy, and of two with nothing but the arms that are left."""
    play = partial(mb.simulate, horizon=sizes.horizon, runs=sizes.each, seed=draw.number, checkpoints=1)
    found = {
        label: play({label: policy}, draw.environment(), start).final[label]
        for label, policy, start in policies(draw)
        if start is not None
    }
    start = start_from(draw, draw.bounds("corrected"))
    if start.variance_proxy[start.possible].min() > WORST:
        found |= {f"{label}, alone": own for label, own in play_alone(draw, start, play).final.items()}
    return found


def play_alone(draw: Draw, start: mb.MeanBounds, play: partial[mb.Regret]) -> mb.Regret:
    """OFUL and R-OFUL where the arms that the bounds exclude are not there in the first place."""
    own = draw.environment(start.possible)
    pair = {"OFUL": mb.OFUL(norm_high=longest(draw)), CORRECTED: mb.ROFUL(norm_high=longest(draw), index="clip")}
    return play(pair, own, start.subset(np.flatnonzero(start.possible)))


def find(survey: Sequence[Logged], finals: Finals, improved: bool) -> int:
    """The draw to show: see the head of this module."""
    fits = fitting(survey, improved)
    if not fits:
        raise ValueError("no draw of the arms is as the caption says: raise draws")
    ahead = [draw for draw in fits if is_ahead(finals[draw])]
    printed = {row.draw for row in of(survey, "paper") if row.usable}
    return ([draw for draw in ahead if draw in printed] or ahead or fits)[0]


def fitting(survey: Sequence[Logged], improved: bool) -> list[int]:
    """Draws whose corrected bounds leave some arms, not all, and improve one of their factors or none."""
    rows = [row for row in of(survey, "corrected") if LEFT <= row.left < ARMS]
    return [row.draw for row in rows if (row.least <= IMPROVED * 0.25 if improved else row.least > WORST)]


def is_ahead(final: Mapping[str, Floats]) -> bool:
    """Whether R-OFUL from corrected bounds has less regret than OFUL in the mean."""
    return bool(final[CORRECTED].mean() < final["OFUL"].mean())


def play_shown(draw: Draw, sizes: Sizes) -> Shown:
    """Play one of the two settings, in runs that had no part in choosing it."""
    play = partial(mb.simulate, horizon=sizes.horizon, runs=sizes.runs, seed=10_000 + draw.number, checkpoints=100)
    start = start_from(draw, draw.bounds("corrected"))
    regrets = {
        label: play({label: policy}, draw.environment(), own)
        for label, policy, own in policies(draw)
        if own is not None
    }
    return Shown(draw, start, regrets, play_alone(draw, start, play))


def draw_setting(path: Path, title: str, shown: Shown) -> None:
    """Bounds of all forms above, regret below."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import draw_regret

    figure = Figure(figsize=(4.0, 8.6), layout="constrained", dpi=200)
    above, below = figure.subplots(2, 1, height_ratios=(1.5, 1.0))
    draw_forms(above, shown)
    first, *others = shown.regrets.values()
    caption = "Grey: the range of an arm's rewards; the printed upper bounds are beyond the picture. Dashed: the "
    caption += "largest lower bound, corrected and tightened; arms that end left of it cannot be best."
    caption += " The printed bounds cannot be used by R-OFUL." * (PRINTED not in shown.regrets)
    caption += "\n" + draw_regret(below, first.beside(*others), band="deviation")
    figure.suptitle(textwrap.fill(title, 46), fontsize=11.0)
    words = "\n".join(textwrap.fill(line, 55) for line in caption.split("\n"))
    figure.supxlabel(words, x=0.02, ha="left", fontsize=9.0, color="#666666")
    figure.savefig(path)


def draw_forms(ax: Axes, shown: Shown) -> None:
    """For each arm a bar for each form of the bounds, and its true mean; crossed bounds have no bar."""
    from meanbounds.simulation.plots import colours

    draw, places, shades = shown.draw, np.arange(ARMS), colours(shown.regrets)
    ax.hlines(places, draw.known, draw.known + 1.0, color="#dddddd", linewidth=14.0, zorder=0)
    for form, shift in zip(FORMS, (-0.24, 0.0, 0.24), strict=True):
        lower, upper = draw.bounds(form)
        width, name = np.maximum(upper - lower, 0.0), "printed" if form == "paper" else form
        shade = shades.get(LABELS[form], "#7f7f7f")
        style: dict[str, Any] = {"color": shade, "edgecolor": shade, "linewidth": 0.8}
        ax.barh(places + shift, width, 0.2, left=lower, label=f"{name} bounds", **style)
    ax.plot(draw.means, places, "o", color="black", markersize=4.0, label="true mean")
    ax.axvline(shown.start.best_lower, color="#666666", linestyle="--", linewidth=1.2, zorder=0)
    ax.set_yticks(places, [str(arm) for arm in shown.start.arms], fontsize=9.0)
    ax.set(ylim=(ARMS - 0.4, -0.6), xlim=(draw.known.min() - 0.1, draw.known.max() + 1.3), xlabel="mean reward")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.42, 1.0), ncols=2, frameon=False, fontsize=9.0)


def draw_finals(path: Path, finals: Finals) -> None:
    """Regret of R-OFUL beside that of OFUL on every draw of the arms on which several are left."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import colours

    figure = Figure(figsize=(4.0, 4.4), layout="constrained", dpi=200)
    ax, top, shades = figure.subplots(), 0.0, colours(["OFUL", *LABELS.values(), UNCLIPPED])
    for label, mark in {PRINTED: "x", CORRECTED: "o", SHARP: "s", UNCLIPPED: "+"}.items():
        pairs = np.array([(own["OFUL"].mean(), own[label].mean()) for own in finals.values() if label in own])
        top = max(top, float(pairs.max(initial=0.0)))
        ax.plot(*pairs.reshape(-1, 2).T, mark, color=shades[label], label=label, markersize=5.0, fillstyle="none")
    ax.plot([0.0, top], [0.0, top], color="#999999", linewidth=1.0, zorder=0)
    ax.set(xlabel="regret of OFUL", ylabel="regret of R-OFUL")
    ax.set_title(f"{len(finals)} draws of the arms that leave several", fontsize=10.0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9.0)
    figure.savefig(path)


def contained(survey: Sequence[Logged], sizes: Sizes) -> Claim:
    """The claim of Theorem 9."""
    excluded = {
        key: sum(row.excluded for row in of(survey, *key)) for key in ((f, b) for f in FORMS for b in ("common", "own"))
    }
    printed = of(survey, "paper")
    ratio = [a.width / b.width for a, b in zip(of(survey, "sharp"), of(survey, "corrected"), strict=True)]
    valid = sum(count for (form, _), count in excluded.items() if form != "paper")
    return Claim(
        "Theorem 9",
        "The mean of every arm is within the bounds.",
        f"on {sizes.draws} draws of {ARMS} arms the printed bounds exclude {excluded['paper', 'common']} means, on "
        f"{sum(row.excluded > 0 for row in printed)} draws: {sum(row.best_excluded for row in printed)} are that of "
        f"the best arm, {sum(row.overstated for row in printed)} are below their lower bound; R-OFUL cannot start from "
        f"those of {sum(not row.usable for row in printed)} draws. With limits for each coordinate they exclude "
        f"{excluded['paper', 'own']}. Corrected and sharp bounds exclude {valid}; the sharp ones have "
        f"{np.median(ratio):.2f} of the width of the corrected ones, in the median",
        verdict(excluded["paper", "common"] + excluded["paper", "own"] == 0, valid == 0),
    )


def stands_for_infinite(draws: Sequence[Draw], sizes: Sizes) -> Claim:
    """The claim about the size of the log: estimates in place of shares and means, and limits at a confidence."""
    missed, impossible, apart, wider = {"corrected": 0, "sharp": 0, "limits": 0}, 0, [0.0], []
    for draw in draws:
        rng = np.random.default_rng([6, draw.number])
        best, latent = play_expert(draw.known, draw.hidden, draw.theta + ball(rng, sizes.rows))
        noise = np.minimum(latent, 1.0 - latent) * rng.uniform(-1.0, 1.0, sizes.rows)
        reward = draw.known[best] + latent + noise
        count, total, squares = (tally(best, part) for part in (np.ones(sizes.rows), reward, reward**2))
        mean, share = np.divide(total, count, out=np.zeros(ARMS), where=count > 0.0), count / sizes.rows
        plugged = bounds_from(draw, share, mean, "corrected")
        missed["corrected"] += bool(outside(plugged, draw.means).any())
        apart += [float(np.abs(one - two).max()) for one, two in zip(plugged, draw.bounds("corrected"), strict=True)]
        try:
            missed["sharp"] += bool(outside(bounds_from(draw, share, mean, "sharp"), draw.means).any())
        except mb.BoundsError:
            impossible += 1
        ends = draw.known, draw.known + 1.0
        limits = finite_log_bounds((count, total, squares), draw.known, draw.hidden, draw.box(), ends)
        missed["limits"] += bool(outside(limits, draw.means).any())
        infinite = draw.bounds("sharp")
        wider.append(float(np.mean(limits[1] - limits[0] - infinite[1] + infinite[0])))
    return Claim(
        "Section 6, empirical validation",
        f"A log of {sizes.rows:,} rows stands for an infinite one.",
        f"in {len(draws)} logs estimates in place of shares and means move the corrected bounds by at most "
        f"{max(apart):.4f} and exclude some mean in {missed['corrected']} (an arm that is always played has its "
        f"average as both bounds); the sharp bounds exclude one in {missed['sharp']}, and contradict themselves in "
        f"{impossible}. Limits at 95% exclude one in {missed['limits']}, and are {np.mean(wider):.4f} wider than the "
        f"sharp bounds of the infinite log",
        verdict(missed["corrected"] == 0, missed["limits"] <= 0.05 * len(draws)),
    )


def first_setting(shown: Shown, survey: Sequence[Logged], finals: Finals, sizes: Sizes) -> Claim:
    """The first half of the caption."""
    left, fits = shown.start.possible, fitting(survey, False)
    pair = Pairs.of(shown.regrets[CORRECTED].final[CORRECTED], shown.regrets["OFUL"].final["OFUL"])
    least = float(shown.start.variance_proxy[left].min())
    return Claim(
        "Figure 5, caption",
        "In the first setting the bounds improve no factor, but arms are restricted, which lowers the regret.",
        f"{left.sum()} of {ARMS} arms are left, with factors of at least {least:.4f}, as on {len(fits)} of "
        f"{sizes.draws} draws; R-OFUL and OFUL: {pair}. It is ahead on {sum(is_ahead(finals[k]) for k in fits)} of "
        f"these draws",
        verdict(least > WORST and bool(left.sum() < ARMS) and pair.shows),
    )


def second_setting(shown: Shown, survey: Sequence[Logged], sizes: Sizes) -> Claim:
    """The second half of the caption."""
    factors, several = (
        shown.start.variance_proxy[shown.start.possible],
        [r for r in of(survey, "corrected") if r.left > 1],
    )
    return Claim(
        "Figure 5, caption",
        "In the second setting the bounds provide improved exploration rates.",
        f"factors of the {factors.size} arms left are {factors.min():.4f} to {factors.max():.4f}; so it is on "
        f"{len(fitting(survey, True))} of {sizes.draws} draws. As printed the rate is the largest factor, below 1/4 on "
        f"{sum(row.largest < WORST for row in several)} of {len(several)} draws that leave several arms; weights use "
        f"each arm's own",
        verdict(bool(factors.max() < WORST), bool(factors.min() < WORST)),
    )


def outperforms(shown: Shown, survey: Sequence[Logged], finals: Finals) -> Claim:
    """The claim about regret in the second setting."""
    final = {label: regret.final[label] for label, regret in shown.regrets.items()}
    pairs = {label: Pairs.of(final[label], final["OFUL"]) for label in (PRINTED, CORRECTED) if label in final}
    wrong, fits = int(outside(shown.draw.bounds("paper"), shown.draw.means).sum()), fitting(survey, True)
    return Claim(
        "Figure 5, second setting",
        "R-OFUL significantly outperforms OFUL in the second setting.",
        f"from printed bounds, which exclude {wrong} of {ARMS} means: {pairs.get(PRINTED, 'they cannot be used')}; "
        f"from corrected bounds: {pairs[CORRECTED]}; from sharp bounds {final[SHARP].mean():.1f}, unclipped "
        f"{final[UNCLIPPED].mean():.1f}. From corrected bounds it is ahead on "
        f"{sum(is_ahead(finals[k]) for k in fits)} of {len(fits)} draws that are as the caption says",
        verdict(PRINTED in pairs and pairs[PRINTED].shows and wrong == 0, pairs[CORRECTED].shows),
    )


def outperforms_on_every_draw(survey: Sequence[Logged], finals: Finals, sizes: Sizes) -> Claim:
    """The same claim of the text, without a choice of the draw."""
    found = {label: compared(finals, label, "OFUL") for label in (PRINTED, CORRECTED, SHARP, UNCLIPPED)}
    alone = sum(row.left == 1 for row in of(survey, "corrected"))
    excluded = sum(row.best_excluded for row in of(survey, "paper"))
    mostly = {label: more == 0 and 2 * less > len(finals) for label, (less, more, _) in found.items()}
    words = "; ".join(f"{label.removeprefix('R-OFUL, ')} {said}" for label, (_, _, said) in found.items())
    clipped = " Clipping takes from the best arm, whose mean is almost known, the lead that optimism gives it."
    return Claim(
        "Section 6, empirical validation",
        "Where the bounds say something, R-OFUL significantly outperforms OFUL.",
        f"on {alone} of {sizes.draws} draws one arm is left, and R-OFUL has no regret. On the others, draw by draw: "
        f"{words}.{clipped * (found[CORRECTED][1] > found[UNCLIPPED][1])} The printed bounds exclude the mean of the "
        f"best arm on {excluded} draws",
        verdict(mostly[PRINTED] and excluded == 0, mostly[CORRECTED]),
    )


def compared(finals: Finals, first: str, second: str) -> tuple[int, int, str]:
    """On how many draws the first has significantly less regret, and more, and both in words."""
    pairs = [(own[first], own[second]) for own in finals.values() if first in own and second in own]
    less, more = (sum(Pairs.of(*pair[::way]).shows for pair in pairs) for way in (1, -1))
    return less, more, f"has less on {less}, more on {more} of {len(pairs)}"


def matches(shown: Shown, finals: Finals) -> Claim:
    """The claim about arms that the bounds do not restrict."""
    less, more, said = compared(finals, f"{CORRECTED}, alone", "OFUL, alone")
    ours, plain = (shown.alone.final[label].mean() for label in (CORRECTED, "OFUL"))
    return Claim(
        "Section 6, empirical validation",
        "Where the bounds do not help to restrict the arms, R-OFUL matches OFUL, and clipping improves it.",
        f"with none but the arms that are left, no factor improved: {ours:.1f} against {plain:.1f} in the first "
        f"setting; over such draws R-OFUL {said}",
        verdict(more == 0 and less > 0),
    )


if __name__ == "__main__":
    command(__doc__, main)
