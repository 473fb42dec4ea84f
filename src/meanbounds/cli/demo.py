"""The whole road on one page: a log, bounds, agents, and what they save against starting from nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper.page import image, page, table
from meanbounds.plots import column, plot_contexts, plot_regret
from meanbounds.simulation.pairs import SignTest, sign_test

__all__ = ["compare_laboratories", "write_page"]

_SEED = 12
_ROWS = 20_000
_LABORATORIES = 100


def compare_laboratories(laboratories: int) -> SignTest:
    """GLUE from the bounds of a log against UCB from nothing, in the mean over the runs of many laboratories.

    A random world each, a log of 5,000 rows, bounds at 95%, 10 paired runs of 5,000 rounds; a sign test.
    """
    pairs = []
    for seed in range(laboratories):
        lab = mb.HiddenContexts.random(visible=1, hidden=4, arms=5, seed=seed)
        bounds = mb.logs.bounds(lab.sample(5000, seed), gap_low=lab.gap_low, gap_high=lab.gap_high, arms=lab.arms)["z0"]
        policies = {"UCB": mb.UCB(), "GLUE": mb.GLUE()}
        regret = mb.simulate(
            policies, lab.environment("z0"), bounds, horizon=5000, runs=10, seed=seed, checkpoints=1, progress=False
        )
        pairs.append([regret.final[label].mean() for label in policies])
    ucb, glue = np.array(pairs).T
    return sign_test(glue, ucb)


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


def write_page(folder: Path) -> str:
    """Write the log, the bounds, and index.html with all pictures in it; the result is what to say of it."""
    folder.mkdir(parents=True, exist_ok=True)
    lab = _world()
    lab.write_log(folder / "log.parquet", _ROWS, seed=_SEED)
    counts = mb.logs.read(folder / "log.parquet", context="context", arm="arm", reward="reward")
    bounds = mb.logs.bounds(counts, gap_low=lab.gap_low, gap_high=lab.gap_high, arms=lab.arms)
    bounds.save(folder / "bounds.json")
    truth = dict(zip(lab.contexts, lab.marginal_means.tolist(), strict=True))
    figures = [plot_contexts(bounds, truth)]
    figure, axes = column([2.6] * len(bounds))
    rows = []
    policies = {"UCB, from nothing": mb.UCB(), "GLUE": mb.GLUE(), "Thompson sampling": mb.ThompsonSampling()}
    by_context = lab.simulate(policies, bounds, horizon=5000, runs=100, seed=_SEED, progress=False)
    for ax, (context, regret) in zip(axes, by_context.items(), strict=True):
        plot_regret(regret, ax)
        ax.set_title(str(context), loc="left", fontsize=10)
        rows.append((str(context), *(f"{regret.final[label].mean():.1f}" for label in policies)))
    figures.append(figure)
    trial = mb.stroke_trial()
    stroke = mb.logs.bounds(trial.sample(100_000, seed=_SEED), gap_low=trial.gap_low, gap_high=trial.gap_high)
    figures.append(plot_contexts(stroke, dict(zip(trial.contexts, trial.marginal_means.tolist(), strict=True))))
    result = compare_laboratories(_LABORATORIES)
    saved = (
        f"Over {_LABORATORIES} made-up worlds, GLUE that starts from the bounds of a log of 5,000 rows loses "
        f"{1 - result.first / result.second:.0%} less than UCB that starts from nothing ({result.first:.1f} against "
        f"{result.second:.1f}): less in {result.won} of them, more in {result.lost}, and just as much where the bounds "
        f"say too little (sign test: {result.p_value:.0e})."
    )
    text = _page(figures, rows, ["context", *policies], saved)
    (folder / "index.html").write_text(text, encoding="utf-8")
    for drawn in figures:
        plt.close(drawn)
    return saved


def _page(figures: Sequence[Figure], rows: Sequence[Sequence[str]], header: Sequence[str], saved: str) -> str:
    words = (
        "each treatment's bounds and true mean, by clinic",
        "regret of each policy over 5,000 rounds, by clinic",
        "each treatment's bounds and estimated mean in the stroke trial, by age band",
    )
    bounds, regret, stroke = (image(figure, text) for figure, text in zip(figures, words, strict=True))
    body = f"""\
<p>An expert who saw everything chose among five treatments, {_ROWS:,} times. The log kept the clinic, the treatment
and the outcome; what else the expert saw is gone. The averages in such a log mislead, but bounds on every treatment's
mean follow from it, given by how much the best one is better than the others. This world is made up, so that the truth
is known.</p>
<h2>What the log says</h2>
<p>Bars: where each mean is, all of them at once with 95% confidence. Dots: the truth, which the log does not have.</p>
{bounds}
<h2>What that is worth</h2>
<p>Regret after 5,000 rounds, in the mean over 100 paired runs. UCB ignores the bounds, the other two start from
them.</p>
{table(header, rows)}
{regret}
<p><strong>{html.escape(saved)}</strong></p>
<h2>A real example</h2>
<p>The International Stroke Trial: aspirin or not, with no, low or medium heparin, and the outcome at six months from
0 (dead) to 1 (recovered). An expert who saw consciousness and the type of stroke gives what did best in such patients;
the log keeps the age band. Dots are estimated from the randomisation. Differences are small, and which arm is best in
a group is partly chance: this shows how bounds are found and checked, and says nothing about treatment. Data:
Sandercock, Niewada and Czlonkowska (2011), <a href="https://doi.org/10.7488/ds/104">doi.org/10.7488/ds/104</a>,
ODC-By 1.0.</p>
{stroke}"""
    return page("From a log to decisions", body)
