"""Pictures, drawn from plain arrays: nothing here simulates, reads logs or computes theory.

- `plot_regret`, `plot_kept`: lines against rounds, one for each policy.
- `plot_bounds`, `plot_bounds_beside`, `plot_contexts`: bounds on means, as intervals.
- `plot_cone`: the parameters of a linear bandit that satisfy all bounds, in two dimensions.
- `plot_sensitivity`: which options can be best under each assumption, as a heat map.
- `plot_study`: bounds above, regret below.
- `COLOURS`, `column`, `looks`: the common style. A policy has the same colour in every picture, and the text is still
  legible on a phone.

Pictures need matplotlib: ``pip install "meanbounds[plots]"``.
"""

from meanbounds.support.optional import optional

with optional("plots", "pictures"):
    from meanbounds.plots.bounds import bounds_height, plot_bounds, plot_bounds_beside, plot_contexts
    from meanbounds.plots.cone import plot_cone
    from meanbounds.plots.regret import plot_kept, plot_regret
    from meanbounds.plots.sensitivity import plot_sensitivity
    from meanbounds.plots.study import plot_study
    from meanbounds.plots.style import COLOURS, SMALL, WIDTH, column, fold, looks, title

__all__ = [
    "COLOURS",
    "SMALL",
    "WIDTH",
    "bounds_height",
    "column",
    "fold",
    "looks",
    "plot_bounds",
    "plot_bounds_beside",
    "plot_cone",
    "plot_contexts",
    "plot_kept",
    "plot_regret",
    "plot_sensitivity",
    "plot_study",
    "title",
]
