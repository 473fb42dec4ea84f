"""The claims of Section 6 about the linear log, with the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from meanbounds.paper.base import Claim, bound_claim
from meanbounds.paper.transfer.results import ALONE, CORRECTED, NAMES, PLAIN, PRINTED, SHARP, WORST, Results, of
from meanbounds.paper.transfer.search import ahead, fitting
from meanbounds.paper.transfer.world import BOXES, METHODS, contains
from meanbounds.paper.verdicts import Tally, less, tally, verdict
from meanbounds.simulation.pairs import sign_test

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["claims", "mostly_less"]


def claims(results: Results) -> Sequence[Claim]:
    """The claims of Section 6 about the linear log and about learning from it."""
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


def _containment(results: Results) -> Claim:
    survey, draws = results.survey, results.settings.draws
    excluded = {(method, box): int(of(survey, method, box)["excluded"].sum()) for method in METHODS for box in BOXES}
    printed = of(survey, "paper")
    ratio = of(survey, "sharp")["width"].to_numpy() / of(survey, "corrected")["width"].to_numpy()
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
        own = of(results.survey, method)
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
    own = of(results.survey, "corrected")
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
            f"the best arm in {int(of(results.survey, 'paper')['best_excluded'].sum())} of {results.settings.draws}",
            verdict(mostly_less(found[PRINTED])),
        )
    alone = int((of(results.survey, "corrected")["left"] == 1).sum())
    sharp = of(results.survey, "sharp")
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
        verdict(mostly_less(found[CORRECTED])),
    )


def mostly_less(found: Tally) -> bool:
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
