"""GLUE and its rivals on four instances, with two kinds of rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper.base import Claim, Work, bound_claim
from meanbounds.paper.verdicts import comparable, less, same, verdict
from meanbounds.plots import bounds_height, column, fold, plot_bounds, plot_regret, title
from meanbounds.simulation.pairs import sign_test

TITLE = "GLUE against its rivals, on four instances"
SOURCE = "Figure 3"
ABOUT = (
    "Bounds and true means, then regret with rewards of 0 or 1 and with rewards that are uniform on the widest "
    "interval around the mean; shading is one standard deviation. The paper gives no numbers: the instances are "
    "meanbounds' own, each with what its caption says. Then the same with the bounds of Theorem 6, "
    "corrected (dashed; the scale is logarithmic), and with the slopes that regret has at most in the long run "
    "(dotted; rounds are on a logarithmic scale): these are no bounds on what is seen."
)

POLICIES = {"B-UCB": mb.BUCB(), "ImprovedUCB": mb.ImprovedUCB(), "GLUE": mb.GLUE(), "B-KL-UCB": mb.BKLUCB()}
VANILLA = {"UCB": mb.UCB(), "KL-UCB": mb.KLUCB()}
LAWS = {"Bernoulli": mb.Bernoulli, "uniform": mb.Uniform}

Results = Mapping[tuple[str, str], mb.Regret]  # by instance and law of the rewards


@dataclass(frozen=True)
class Settings:
    """Length and number of the runs; the instances are `meanbounds.INSTANCES`."""

    horizon: int = 100_000
    runs: int = 200
    seed: int = 3


SETTINGS = Settings()
QUICK = Settings(horizon=50_000, runs=60)


def run(settings: Settings, work: Work) -> Results:
    """Simulate four instances with two kinds of rewards."""
    results = {}
    for name, instance in mb.INSTANCES.items():
        for law, kind in LAWS.items():
            results[name, law] = work.regret(
                f"{name}-{law.lower()}",
                {**POLICIES, **VANILLA},
                kind(instance.means),
                instance.bounds,
                settings.horizon,
                settings.runs,
                settings.seed,
            )
    return results


def plot(results: Results) -> Mapping[str, Figure]:
    """Draw a picture for each instance, and two of all four with the theorems' bounds and slopes."""
    figures = {}
    for name, instance in mb.INSTANCES.items():
        figure, axes = column([bounds_height(instance.bounds), 2.8, 2.8], extra=0.4)
        plot_bounds(instance.bounds, instance.means, ax=axes[0])
        for ax, law in zip(axes[1:], LAWS, strict=True):
            plot_regret(results[name, law].select(POLICIES), ax, band="deviation")
            title(ax, f"{law} rewards")
        figure.suptitle(fold(instance.title, 44), fontsize="medium", parse_math=False)
        figures[name] = figure
    return figures | {f"theory-{kind}": _theory(results, kind) for kind in ("bounds", "slopes")}


def _theory(results: Results, kind: str) -> Figure:
    """Draw the theorems' bounds, or slopes, beside the simulated regret, with rewards of 0 or 1."""
    figure, axes = column([3.6] * len(mb.INSTANCES))
    for ax, (name, instance) in zip(axes, mb.INSTANCES.items(), strict=True):
        results[name, "Bernoulli"].select(POLICIES).plot(ax, band=None, theory=kind)
        title(ax, instance.title)
    return figure


def claims(results: Results) -> Sequence[Claim]:
    """The claims of captions and text about each panel."""
    found = [claim for law in LAWS for claim in _of_law(results, law)]
    for panel, name, arm in (("3a", "high-lower-bound", 2), ("3b", "meta-pruned", 1)):
        found.append(_meta_pruned(panel, name, arm, results))
    informed = mb.INSTANCES["high-lower-bound"].bounds
    factors, lead = informed.best_variance_proxy[informed.possible], mb.variance_proxy(informed.best_lower)
    found.append(
        Claim(
            "Figure 3a",
            "Every arm is explored at the factor of the arm with the largest lower bound.",
            f"squared factors {factors.min():.4f} to {factors.max():.4f}; that of l_max = {informed.best_lower} is "
            f"{lead:.4f}",
            verdict(bool(np.allclose(factors, lead))),
        )
    )
    found.append(
        bound_claim(
            "Theorem 6",
            "Expected regret is below the bound in all rounds (all four instances and both laws).",
            list(results.values()),
        )
    )
    return found


def _of_law(results: Results, law: str) -> list[Claim]:
    """The claims about each panel, with this kind of rewards."""
    found = []
    final = {name: results[name, law].final for name in mb.INSTANCES}
    first, low = final["high-lower-bound"], final["low-rewards"]
    for rival in ("B-UCB", "ImprovedUCB"):
        found.append(_order(f"Figure 3a, {law} rewards", "With l_max near 1", "GLUE", rival, first))
    ratio = first["GLUE"].mean() / first["B-KL-UCB"].mean()
    found.append(
        Claim(
            f"Figure 3a, {law} rewards",
            "With l_max near 1, GLUE is comparable to B-KL-UCB (within a factor of 2).",
            f"{ratio:.2f} times its regret: {sign_test(first['GLUE'], first['B-KL-UCB'])}",
            verdict(comparable([first["GLUE"].mean(), first["B-KL-UCB"].mean()])),
        )
    )
    curves = results["low-rewards", law].curves
    found.append(
        Claim(
            f"Figure 3c, {law} rewards",
            "With all upper bounds below 1/2, ImprovedUCB and GLUE coincide.",
            f"largest difference {np.abs(curves['ImprovedUCB'] - curves['GLUE']).max():g}, over all runs and "
            "checkpoints",
            verdict(same(curves["ImprovedUCB"], curves["GLUE"])),
        )
    )
    found.append(_order(f"Figure 3c, {law} rewards", "With all upper bounds below 1/2", "GLUE", "B-UCB", low))
    found.append(_order(f"Figure 3c, {law} rewards", "With all upper bounds below 1/2", "B-KL-UCB", "GLUE", low))
    for panel, name in (("3b", "meta-pruned"), ("3d", "clipping-only")):
        curves = results[name, law].curves
        apart = max(np.abs(curves[label] - curves["GLUE"]).max() for label in ("B-UCB", "ImprovedUCB"))
        found.append(
            Claim(
                f"Figure {panel}, {law} rewards",
                "Bounds that say nothing of the factors leave only clipping: B-UCB, ImprovedUCB and GLUE coincide.",
                f"largest difference {apart:g}, over all runs and checkpoints",
                verdict(same(curves["B-UCB"], curves["GLUE"]) and same(curves["ImprovedUCB"], curves["GLUE"])),
            )
        )
    ahead = [name for name in final if less(final[name]["KL-UCB"], final[name]["UCB"])]
    shares = {name: final[name]["KL-UCB"].mean() / final[name]["UCB"].mean() for name in final}
    middle = min(shares["meta-pruned"], shares["clipping-only"])
    found.append(
        Claim(
            f"Section 5, {law} rewards",
            "KL-UCB always outperforms UCB, with larger gains where the means are near 0 or 1.",
            "its regret, as a share of UCB's: " + ", ".join(f"{name} {x:.2f}" for name, x in shares.items()),
            verdict(len(ahead) == len(final) and max(shares["high-lower-bound"], shares["low-rewards"]) < middle),
        )
    )
    for clipped, plain in (("B-UCB", "UCB"), ("B-KL-UCB", "KL-UCB"), ("GLUE", "UCB")):
        worse = [name for name in final if less(final[name][plain], final[name][clipped])]
        ratios = [final[name][clipped].mean() / final[name][plain].mean() for name in final]
        found.append(
            Claim(
                f"Section 5, {law} rewards",
                f"On these instances {clipped} is not worse than {plain}.",
                f"{min(ratios):.2f} to {max(ratios):.2f} of its regret; worse by a paired test on "
                f"{len(worse)} of {len(ratios)} instances",
                verdict(not worse),
            )
        )
    return found


def _order(source: str, where: str, better: str, worse: str, final: Mapping[str, np.ndarray]) -> Claim:
    return Claim(
        source,
        f"{where}, {better} has less regret than {worse}.",
        str(sign_test(final[better], final[worse])),
        verdict(less(final[better], final[worse])),
    )


def _meta_pruned(panel: str, name: str, arm: int, results: Results) -> Claim:
    """The caption's arm, and only that one, is meta-pruned, and is played no more often than the theorem allows."""
    instance = mb.INSTANCES[name]
    plays = np.stack([results[name, law].plays["GLUE"][:, arm] for law in LAWS])
    horizon = int(next(iter(results.values())).rounds[-1])
    allowed = float(mb.theory.glue_plays(instance.means, instance.bounds, horizon)[arm])
    alone = np.flatnonzero(instance.meta_pruned).tolist() == [arm]
    return Claim(
        f"Figure {panel}",
        f"Arm {arm + 1} is meta-pruned: played a bounded number of times, however long it goes on.",
        f"its upper bound {instance.upper[arm]} is below the best mean {max(instance.means)}; {plays.mean():.2f} plays "
        f"on average in {horizon:,} rounds, {allowed:.1f} allowed",
        verdict(alone and bool(np.all(plays.mean(axis=1) <= allowed))),
    )
