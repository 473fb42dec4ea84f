"""Bounds from two logs of people's own choices, beside the answer that is known: LaLonde's training, and NHEFS.

Usage: ``python -m benchmarks.observed [--write docs/columns.md]``. The data come from the package causaldata.

LaLonde's log joins those whom the experiment trained (National Supported Work, 185 people) to 15,992 people of the
Current Population Survey, who were not trained. The experiment's own controls are left out of the log and tell what is
true of people like those in the experiment. In NHEFS nobody was randomised: its answer is the published one, adjusted
for nine columns (Hernán and Robins, Causal Inference: What If), and 63 of 1,629 outcomes are missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from causaldata import cps_mixtape, nhefs, nsw_mixtape
from scipy.optimize import brentq

import meanbounds as mb
from benchmarks.gain import write

ODDS = 1e4  # as good as no limit
MISSING = {None: "none", 0.0: "at random", 5.0: "within 5 kg", inf: "any"}
CAUSALRL = [  # docs/causal_mbrl_agent/REAL_DATA.md and README of causalrl 3.0.0
    ["data", "rows", "naive", "its model", "its rivals", "tips at odds of"],
    ["---", "---:", "---:", "---:", "---:", "---:"],
    ["LaLonde, dollars", "614, controls of PSID", "-635", "+1,053", "-597 to +508", "1.27; its policy 1.10"],
    ["NHEFS, kg", "1,566", "+2.54", "+3.41", "+3.23 to +3.33", "1.33"],
]


@dataclass(frozen=True)
class Observed:
    """A log of choices, and what is known of the effect of the first option against the second."""

    name: str
    rows: pd.DataFrame
    columns: tuple[str, ...]
    arms: tuple[str, str]
    reward: str
    low: float
    high: float
    answer: tuple[float, float, float]  # and its published limits, at 95%
    apart: float  # no two options are assumed to be further apart, in any kind of case
    cases: pd.DataFrame  # whose average effect the answer is
    missing: tuple[float | None, ...] = (None,)

    @property
    def said(self) -> str:
        """The answer with its limits."""
        value, low, high = map(shown, self.answer)
        return f"{value} ({low} to {high})"

    def reading(self, missing: float | None) -> dict[str, Any]:
        said = {"arm": "option", "reward": self.reward, "low": self.low, "high": self.high}
        return said | ({} if missing is None else {"missing": missing})

    def effect(
        self, counts: mb.logs.Counts, experts: mb.logs.Experts, shares: Mapping[Any, float]
    ) -> tuple[float, float]:
        """Bounds on the average effect over cases, of which each context has a share."""
        found, low, high = mb.logs.bounds(counts, experts), 0.0, 0.0
        for context, share in shares.items():
            own = found[context]
            first, second = (own.position(arm) for arm in self.arms)
            low += share * (own.lower[first] - own.upper[second])
            high += share * (own.upper[first] - own.lower[second])
        return float(low), float(high)


def lalonde() -> Observed:
    """Earnings in 1978, in dollars; the experiment's answer, for people like those in it."""
    trial, others = (module.load_pandas().data for module in (nsw_mixtape, cps_mixtape))
    rows = pd.concat([trial[trial["treat"] == 1], others], ignore_index=True)
    rows["option"] = np.where(rows["treat"] == 1, "training", "none")
    treated, control = (trial["re78"][trial["treat"] == k] for k in (1, 0))
    answer, error = (
        treated.mean() - control.mean(),
        np.sqrt(treated.var() / len(treated) + control.var() / len(control)),
    )
    limits = answer, answer - 1.96 * error, answer + 1.96 * error
    columns, arms = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"), ("training", "none")
    return Observed("LaLonde, dollars", rows, columns, arms, "re78", 0.0, 61_000.0, limits, 15_000.0, trial)


def smoking() -> Observed:
    """Weight gained by 1982, in kg, by whether one quit smoking."""
    rows = nhefs.load_pandas().data
    rows["option"] = np.where(rows["qsmk"] == 1.0, "quit", "smoke")
    columns = ("sex", "age", "race", "education", "smokeintensity", "smokeyrs", "exercise", "active", "wt71")
    rows = rows[["option", "wt82_71", *columns]]
    return Observed(
        "NHEFS, kg",
        rows,
        columns,
        ("quit", "smoke"),
        "wt82_71",
        -50.0,
        50.0,
        (3.5, 2.5, 4.5),
        15.0,
        rows,
        (0.0, 5.0, inf),
    )


def contexts(data: Observed, missing: float | None, tree: bool) -> tuple[mb.logs.Counts, dict[Any, float]]:
    """The counts of the log, and the share of the cases in each of their contexts."""
    if not tree:
        return mb.logs.read(data.rows, **data.reading(missing)), {None: 1.0}
    counts = mb.logs.partition(data.rows, data.columns, **data.reading(missing))
    assert counts.tree is not None
    leaves = leaf_of(counts.tree, data.cases, data.columns)
    return counts, leaves.value_counts(normalize=True).to_dict()


def leaf_of(tree: Any, cases: pd.DataFrame, columns: Sequence[str]) -> pd.Series[str]:
    """The context of each case."""
    asked = cases[list(columns)].astype(object).where(cases[list(columns)].notna(), None)
    return pd.Series([tree.leaf(values) for values in asked.to_dict("records")], index=cases.index)


def enough(data: Observed, counts: mb.logs.Counts, shares: Mapping[Any, float], value: float) -> float:
    """The least factor on the odds with which the bounds on the effect contain a value; 1 if they always do."""

    def outside(odds: float) -> float:
        low, high = data.effect(counts, mb.logs.Experts(odds=odds), shares)
        return max(low - value, value - high)

    return 1.0 if outside(1.0) <= 0.0 else float(brentq(outside, 1.0, ODDS, xtol=1e-3))


def table(data: Sequence[Observed]) -> list[list[str]]:
    """Bounds on the effect, at 95%, without and with columns."""
    head = ["data", "answer", "columns", "missing outcomes", "nothing assumed", "options apart", "odds 1"]
    found = [[*head, "has the answer from odds", "has 0 from odds"], ["---", *["---:"] * (len(head) + 1)]]
    for one, tree in product(data, (False, True)):
        for missing in one.missing[-1:] if tree else one.missing:
            counts, shares = contexts(one, missing, tree)
            leaves = len(counts.contexts) - len(counts.columns)
            cells = [one.name, one.said, f"{leaves} {'leaf' if leaves == 1 else 'leaves'}" if tree else "none"]
            cells.append(MISSING[missing])
            for experts in (mb.logs.Experts(), mb.logs.Experts(gap_high=one.apart), mb.logs.Experts(odds=1.0)):
                cells.append(" to ".join(map(shown, one.effect(counts, experts, shares))))
            cells += [f"{enough(one, counts, shares, value):.3g}" for value in (one.answer[0], 0.0)]
            found.append(cells)
            print(*cells, sep=" | ", flush=True)
    return found


def shown(value: float) -> str:
    """An effect with its sign: dollars whole, kilograms with a digit."""
    return f"{value:+,.0f}" if abs(value) >= 100.0 else f"{value:+.1f}"


def main(given: Sequence[str] | None = None) -> None:
    """Print the table, and write it and that of causalrl into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.observed")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables into this page")
    page, rows = parser.parse_args(given).write, table([lalonde(), smoking()])
    if page is not None:
        write(page, "observed: python -m benchmarks.observed --write docs/columns.md", rows)
        write(page, "causalrl: python -m benchmarks.observed --write docs/columns.md", CAUSALRL)


if __name__ == "__main__":
    main()
