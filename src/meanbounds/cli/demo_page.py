"""The page of the demo: a log, bounds, agents, and the regret they save compared with starting from nothing."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import meanbounds as mb
from meanbounds.cli.log_options import naive_means
from meanbounds.paper.page import image, page, table
from meanbounds.plots import plot_bounds, plot_regret
from meanbounds.simulation.pairs import SignTest, sign_test
from meanbounds.support.writing import write_text_atomically

__all__ = ["compare_laboratories", "write_page"]

_SEED = 12
_ROWS = 20_000
_LABORATORIES = 100
_WIDE, _NARROW = 8.0, 3.8  # inches: shown 750 and 358 pixels wide, letters of 9 points are at least 11 pixels high
_POLICIES = {"UCB": mb.UCB(), "GLUE": mb.GLUE(), "Thompson sampling": mb.ThompsonSampling()}


def compare_laboratories(laboratories: int) -> SignTest:
    """Compare GLUE that starts from the bounds of a log with UCB that starts from nothing, in many made-up worlds.

    Each world has a log of 5,000 rows, bounds at 95% confidence, and 10 paired runs of 5,000 rounds. The sign test is
    over worlds.
    """
    pairs = []
    for seed in range(laboratories):
        lab = mb.HiddenContexts.random(visible=1, hidden=4, arms=5, seed=seed)
        bounds = mb.logs.bounds(
            lab.sample(5000, seed=seed), gap_low=lab.gap_low, gap_high=lab.gap_high, confidence=0.95, arms=lab.arms
        )["z0"]
        policies = {"UCB": mb.UCB(), "GLUE": mb.GLUE()}
        regret = mb.simulate(
            policies,
            lab.environment("z0"),
            bounds=bounds,
            horizon=5000,
            runs=10,
            seed=seed,
            checkpoints=1,
            progress=False,
        )
        pairs.append([regret.final[label].mean() for label in policies])
    ucb, glue = np.array(pairs).T
    return sign_test(glue, ucb)


def write_page(folder: Path) -> str:
    """Write log.parquet, bounds.json and index.html, and return the sentence that sums it up."""
    folder.mkdir(parents=True, exist_ok=True)
    lab = _world()
    lab.write_log(folder / "log.parquet", _ROWS, seed=_SEED)
    counts = mb.logs.read(folder / "log.parquet", context="context", arm="arm", reward="reward")
    bounds = mb.logs.bounds(counts, gap_low=lab.gap_low, gap_high=lab.gap_high, confidence=0.95, arms=lab.arms)
    bounds.save(folder / "bounds.json")
    regrets = lab.simulate(_POLICIES, bounds, horizon=5000, runs=100, seed=_SEED, progress=False)
    saved = _saved(compare_laboratories(_LABORATORIES))
    parts = {
        "rows": f"{_ROWS:,}",
        "naive_table": _naive_table(lab, counts, bounds),
        "bounds": _bounds_picture(lab, counts, bounds),
        "regret_table": _regret_table(regrets),
        "regret": _regret_picture(regrets),
        "saved": html.escape(saved),
        "stroke": _stroke_picture(),
    }
    write_text_atomically(folder / "index.html", page("From a log to decisions", _BODY.format(**parts), _STYLE))
    return saved


def _world() -> mb.HiddenContexts:
    """Three clinics, five treatments, twelve kinds of patients that only the expert can tell apart.

    Each clinic has a treatment that is best for many kinds, in some for more than in others.
    """
    rng = np.random.default_rng(_SEED)
    clinics, kinds, arms = ("north", "south", "west"), 12, ("a", "b", "c", "d", "e")
    means = rng.uniform(0.3, 0.68, (len(clinics), kinds, len(arms)))
    for z in range(len(clinics)):
        usual = rng.random(kinds) < (0.8, 0.65, 0.5)[z]
        best = np.where(usual, z, rng.integers(0, len(arms), kinds))
        means[z, np.arange(kinds), best] = rng.uniform(0.78, 0.95, kinds)
    return mb.HiddenContexts(means, contexts=clinics, arms=arms)


def _saved(result: SignTest) -> str:
    """Say in one sentence how much regret the bounds saved over many worlds."""
    return (
        f"Over {_LABORATORIES} made-up worlds, GLUE that starts from the bounds of a log of 5,000 rows loses "
        f"{1 - result.first / result.second:.0%} less than UCB that starts from nothing ({result.first:.1f} against "
        f"{result.second:.1f}): less in {result.won} of them, more in {result.lost}, and just as much where the bounds "
        f"say too little (sign test: {result.p_value:.0e})."
    )


def _naive_table(lab: mb.HiddenContexts, counts: mb.logs.Counts, bounds: mb.logs.ContextBounds) -> str:
    """Naive mean, bounds and truth of each treatment in each clinic."""
    rows = []
    for z, (context, own) in enumerate(bounds.items()):
        naive = naive_means(counts, context, own.arms)
        for k, (arm, (_, mean)) in enumerate(zip(own.arms, naive, strict=True)):
            average = "no rows" if mean is None else f"{mean:.2f}"
            known = (own.lower[k], own.upper[k], lab.marginal_means[z, k])
            rows.append((f"{context}, {arm}", average, *(f"{number:.2f}" for number in known)))
    return table(["treatment", "naive mean", "lower", "upper", "truth"], rows)


def _regret_table(regrets: Mapping[Any, mb.Regret]) -> str:
    """Final regret of each policy in each clinic."""
    rows = [
        (str(context), *(f"{regret.final[label].mean():.1f}" for label in _POLICIES))
        for context, regret in regrets.items()
    ]
    return table(["clinic", *_POLICIES], rows)


@dataclass(frozen=True)
class _Panels:
    """Pictures of several contexts: beside each other where there is room, below each other on a phone.

    `draw` draws the panel at one place; heights are those of a panel, in inches; `columns` is how many there are side
    by side on a wide page.
    """

    titles: Sequence[str]
    draw: Callable[[Axes, int], object]
    height: float
    narrow_height: float
    columns: int

    def picture(self, words: str) -> str:
        """HTML with both versions; the style of the page shows the one that fits the window."""
        wide, narrow = self._figure(_WIDE, self.height, self.columns), self._figure(_NARROW, self.narrow_height, 1)
        shown = [
            f'<div class="{name}">{image(figure, words)}</div>'
            for name, figure in (("broad", wide), ("narrow", narrow))
        ]
        plt.close(wide)
        plt.close(narrow)
        return "\n".join(shown)

    def _figure(self, width: float, height: float, columns: int) -> Figure:
        """A figure of this width with panels of this height, with one key for all of its panels."""
        rows = -(-len(self.titles) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(width, height * rows + 0.4), squeeze=False)
        figure.set_layout_engine("constrained", h_pad=0.08, w_pad=0.08)
        for place, (ax, title) in enumerate(zip(axes.flat, self.titles, strict=True)):
            self.draw(ax, place)
            ax.set_title(title, loc="left", fontsize=11, parse_math=False)
            if place + columns < len(self.titles):
                ax.set_xlabel("")
            if place % columns:
                ax.set_ylabel("")
                ax.tick_params(labelleft=False)
            if width == _NARROW:
                _leave_room(ax)
        self._one_key(figure, 2 if columns == 1 else 4)
        return figure

    def _one_key(self, figure: Figure, columns: int) -> None:
        """One key above all panels instead of one in each."""
        handles = figure.axes[0].get_legend_handles_labels()[0]
        for ax in figure.axes:
            if (key := ax.get_legend()) is not None:
                key.remove()
        if handles:
            figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)


def _leave_room(ax: Axes) -> None:
    """Fewer numbers below the axes, and long names beside them on two lines."""
    ax.xaxis.set_major_locator(MaxNLocator(3))
    names = [label.get_text() for label in ax.get_yticklabels()]
    if any(character.isalpha() for name in names for character in name):
        folded = [textwrap.fill(" ".join(name.split()), 15) for name in names]
        ax.set_yticks(ax.get_yticks(), folded, parse_math=False)


def _bounds_picture(lab: mb.HiddenContexts, counts: mb.logs.Counts, bounds: mb.logs.ContextBounds) -> str:
    """Bounds, truth and naive means, a panel for each clinic."""
    contexts = list(bounds)

    def draw(ax: Axes, place: int) -> None:
        """One clinic."""
        own = bounds[contexts[place]]
        plot_bounds(own, lab.marginal_means[place].tolist(), ax=ax)
        naive = [np.nan if mean is None else mean for _, mean in naive_means(counts, contexts[place], own.arms)]
        ax.plot(naive, range(len(own)), "x", color="#b00000", markersize=7, markeredgewidth=2, label="naive mean")

    panels = _Panels([str(context) for context in contexts], draw, height=2.1, narrow_height=2.1, columns=3)
    return panels.picture("each treatment's bounds, true mean and naive mean, by clinic")


def _regret_picture(regrets: Mapping[Any, mb.Regret]) -> str:
    """Regret against rounds, a panel for each clinic."""
    every = list(regrets.values())
    panels = _Panels(
        list(map(str, regrets)),
        lambda ax, place: plot_regret(every[place], ax),
        height=2.4,
        narrow_height=2.4,
        columns=1,
    )
    return panels.picture("regret of each policy over 5,000 rounds, by clinic")


def _stroke_picture() -> str:
    """Bounds and estimated means in the stroke trial, a panel for each age band."""
    trial = mb.stroke_trial()
    found = mb.logs.bounds(
        trial.sample(100_000, seed=_SEED), gap_low=trial.gap_low, gap_high=trial.gap_high, confidence=0.95
    )
    bands = sorted(found, key=mb.logs.natural_order)

    def draw(ax: Axes, place: int) -> None:
        """One age band."""
        means = trial.marginal_means[trial.contexts.index(bands[place])]
        plot_bounds(found[bands[place]], means.tolist(), ax=ax)

    panels = _Panels(list(map(str, bands)), draw, height=3.0, narrow_height=3.2, columns=2)
    return panels.picture("each treatment's bounds and estimated mean in the stroke trial, by age band")


_STYLE = """
.broad img { max-width: none; }
.narrow { display: none; }
@media (max-width: 600px) { .broad { display: none; } .narrow { display: block; } }
"""

_BODY = """\
<p>An expert who saw everything chose among five treatments, {rows} times. The log kept the clinic, the treatment and
the outcome; what else the expert saw is gone. The averages in such a log mislead: a treatment looks good because it was
given to the patients for whom it is good. But bounds on every treatment's mean follow from the log, if one can say by
how much the best treatment is better than the others. This world is made up, so the truth is known.</p>
<h2>What the log says</h2>
<p>Bars: bounds on each mean; with 95% confidence all of them hold at once. Dots: the truth, which the log does not
have. Crosses: the naive mean, the plain average of the treatment's rows, which is what people would have used. It says
how the treatment did where the expert chose it, not how it would do for everybody.</p>
{bounds}
{naive_table}
<h2>What that is worth</h2>
<p>Regret after 5,000 rounds, the mean over 100 paired runs. UCB starts from nothing; the other two start from the
bounds.</p>
{regret_table}
{regret}
<p><strong>{saved}</strong></p>
<h2>A real example</h2>
<p>The International Stroke Trial: aspirin or not, with no, low or medium heparin, and the outcome at six months from
0 (dead) to 1 (recovered). An expert who saw consciousness and the type of stroke gives what did best in such patients;
the log keeps the age band. Dots are estimated from the randomisation. Differences are small, and which arm is best in
a group is partly chance: this shows how bounds are found and checked, and says nothing about treatment. Data:
Sandercock, Niewada and Czlonkowska (2011), <a href="https://doi.org/10.7488/ds/104">doi.org/10.7488/ds/104</a>,
ODC-By 1.0.</p>
{stroke}"""
