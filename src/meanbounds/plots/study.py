"""A simulation on one page: bounds above, regret below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from matplotlib.figure import Figure

from meanbounds.bounds import MeanBounds
from meanbounds.plots.bounds import bounds_height, plot_bounds
from meanbounds.plots.regret import Curves, plot_regret
from meanbounds.plots.style import column, fold

__all__ = ["Study", "plot_study"]


class Study(Curves, Protocol):
    """Regret curves with the settings of the simulation; `meanbounds.Regret` is one."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the simulation: ``bounds``, and the true means as ``environment["means"]``."""


def plot_study(regret: Study, title: str | None = None) -> Figure:
    """Draw bounds and true means above, regret below: a tall picture that is legible on a phone.

    Parameters
    ----------
    regret
        The result of `meanbounds.simulate`.
    title
        Title above the picture; none by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_study
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), bounds, horizon=100, runs=10, seed=7)
    >>> figure = plot_study(regret, "Two arms")
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['', 'regret, mean of 10 runs']
    >>> plt.close(figure)  # or figure.savefig("study.png") first
    """
    bounds = MeanBounds.from_dict(regret.settings["bounds"])
    figure, (upper, lower) = column([bounds_height(bounds), 3.0])
    plot_bounds(bounds, regret.settings["environment"]["means"], ax=upper)
    plot_regret(regret, lower)
    if title:
        figure.suptitle(fold(title, 42), parse_math=False)
    return figure
