"""Bounds and regret of the two settings, and regret on every draw of the arms."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from meanbounds.paper.transfer.results import CORRECTED, NAMES, PLAIN, PRINTED, SHARP, Results, Shown
from meanbounds.paper.transfer.world import METHODS
from meanbounds.plots import COLOURS, column, fold, plot_bounds_beside, plot_regret, title

__all__ = ["plot"]

_COLOURS = {CORRECTED: COLOURS[4], SHARP: COLOURS[3], PRINTED: COLOURS[7], PLAIN: COLOURS[5]}


def plot(results: Results) -> Mapping[str, Figure]:
    """Bounds and regret of both settings, and regret on every draw of the arms."""
    return {
        "setting-1": _picture(results.shown["setting-1"], "Setting 1: factors stay at 1/4"),
        "setting-2": _picture(results.shown["setting-2"], "Setting 2: some factor is below 1/4"),
        "draws": _every_draw(results),
    }


def _picture(shown: Shown, words: str) -> Figure:
    """Bounds above, regret below; a bound and the policy that starts from it have one colour."""
    draw = shown.draw
    bounds = {NAMES[method]: draw.bounds(method) for method in METHODS}
    notes = ["Dashed: the largest lower bound, corrected and tightened; arms left of it cannot be best."]
    notes += [f"Bounds {NAMES[method]} cannot be used: {reason}." for method, reason in shown.unusable.items()]
    note = "\n".join(["mean reward", *(fold(text, 40) for text in notes)])
    figure, (upper, lower) = column([5.2 + 0.18 * note.count("\n"), 3.0], extra=0.3)
    plot_bounds_beside(bounds, draw.means, low=draw.known, high=draw.known + 1.0, ax=upper, colours=_COLOURS)
    upper.axvline(shown.tight.best_lower, color="#7f7f7f", linestyle="--", linewidth=1.2, zorder=1)
    plot_regret(shown.regret, lower, band="deviation", colours=_COLOURS)
    title(lower, "Regret of OFUL, and of R-OFUL from these bounds")
    figure.suptitle(fold(f"{words} (draw {shown.number})", 44), x=0.02, ha="left", fontsize="medium")
    upper.set_xlabel(note, parse_math=False)
    return figure


def _every_draw(results: Results) -> Figure:
    means = results.online.groupby("draw").mean()
    figure, (ax,) = column([4.0])
    top = 1.05 * float(means[["OFUL", CORRECTED]].to_numpy().max())
    ax.plot([0.0, top], [0.0, top], color="#7f7f7f", linewidth=1.2)
    for label, mark in ((CORRECTED, "o"), (PRINTED, "x"), (PLAIN, "+")):
        ax.plot(means["OFUL"], means[label], mark, color=_COLOURS[label], markersize=6, label=label)
    ax.set_xlim(0.0, 1.05 * float(means["OFUL"].max()))
    ax.set_ylim(0.0, top)
    ax.set_xlabel("regret of OFUL")
    ax.set_ylabel("regret of R-OFUL")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", title="bounds", alignment="left")
    words = f"{len(means)} draws of the arms on which several are left"
    ax.set_title(fold(words, 34), loc="left", fontsize="medium")
    return figure
