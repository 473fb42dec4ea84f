"""The two trials once more, with age and blood pressure as numbers and severity hidden.

Usage: ``python -m benchmarks.numeric --gusto FILE --stroke FILE [--write]``, the files of `benchmarks.trials`.
Cases are the patients of a trial. The chance of each outcome, by option, is a logistic model of age, blood pressure and
severity, fitted to the patients who got that option: smooth, so that it has no groups that a tree could find.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import duckdb
import numpy as np
from scipy.special import expit

import meanbounds as mb
from benchmarks.gain import DOCS, write
from benchmarks.trials import EXPERTS, TITLES, Played, cell, choices_of
from meanbounds.agents.pooling import pooled
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Floats

ROWS, STEP, SEED = 20_000, 100, 1
ADDED = 0.5  # the spread of effects that the trials do not have, on the scale of log odds
COLUMNS, AGES = ["age", "pressure"], {"gusto": (60.0, 75.0), "stroke": (70.0, 80.0)}
QUERIES = {
    "gusto": "age, nullif(sysbp, 0), replace(Killip, 'IV', 'III'), tx, 1.0 - day30 from '{}'",
    "stroke": "AGE, RSBP, RCONSC, replace(replace(RXASP, 'N', 'none'), 'Y', 'aspirin'), (OCCODE - 1) / 3.0 from '{}' "
    "where OCCODE between 1 and 4",
}
KNOWS = NOTHING, GROUPS, NUMBERS = "nothing of the case", "groups of age", "age and pressure"  # what agents are told
PROMISES: dict[str, mb.Promise | None] = {"no promise": None, "margin 0.01": mb.Promise(margin=0.01)}


class Patients:
    """The patients of a trial: columns, the chance of each outcome, and how experts of each kind choose."""

    def __init__(self, name: str, file: str, added: float = 0.0) -> None:
        rows: Any = duckdb.sql(f"select {QUERIES[name]}".format(file.replace("'", "''")))
        complete = sorted(row for row in rows.fetchall() if None not in row)
        age, pressure, severity, arm, reward = (np.array(part) for part in zip(*complete, strict=True))
        self.columns = {"age": age.astype(np.float64), "pressure": pressure.astype(np.float64)}
        self.ages = np.digitize(age, AGES[name])
        kinds, hidden = np.unique(severity, return_inverse=True)
        self.arms, got = np.unique(arm, return_inverse=True)
        scaled = [(own - own.mean()) / own.std() for own in self.columns.values()]
        terms = np.column_stack([*(hidden == k for k in range(len(kinds))), *scaled, *(own**2 for own in scaled)]) * 1.0
        fits = [fitted(terms[got == k], reward[got == k].astype(np.float64)) for k in range(len(self.arms))]
        more = np.column_stack([*scaled, scaled[0] * scaled[1]]) @ np.random.default_rng(5).normal(size=(3, len(fits)))
        self.chance: Floats = expit(terms @ np.column_stack(fits) + added * more / more.std())
        noise = np.random.default_rng(3).normal(0.0, 0.15, (self.ages.max() + 1, len(kinds), len(fits)))
        hopes, guess = self.chance.mean(axis=1), self.chance + noise[self.ages, hidden]
        usual = np.bincount(self.ages, hopes) / np.bincount(self.ages)
        self.choices = choices_of(self.chance, self.chance.mean(axis=0), guess, hopes < usual[self.ages])

    def agent(
        self, experts: str, knows: str, promise: mb.Promise | None, seed: int
    ) -> tuple[mb.Agent, list[Any], list[Any]]:
        """An agent from a log of its own, the contexts, and that of each patient."""
        leaves: list[Any]
        rng = np.random.default_rng([SEED, seed])
        some = rng.integers(len(self.chance), size=ROWS)
        arms = (rng.random((ROWS, 1)) > self.choices[experts][some].cumsum(axis=1)[:, :-1]).sum(axis=1)
        log: dict[str, Any] = {name: own[some] for name, own in self.columns.items()}
        log |= {"ages": self.ages[some].astype(str), "arm": self.arms[arms]}
        log["reward"] = (rng.random(ROWS) < self.chance[some, arms]) * 1.0
        if knows == NUMBERS:
            counts = mb.logs.partition(log, COLUMNS, seed=seed, arms=self.arms.tolist())
            assert counts.tree is not None
            cases = zip(*(own.tolist() for own in self.columns.values()), strict=True)
            leaves = [counts.tree.leaf(dict(zip(COLUMNS, case, strict=True))) for case in cases]
        else:
            counts = mb.logs.read(log, context="ages" if knows == GROUPS else None, arms=self.arms.tolist())
            leaves = [str(age) if knows == GROUPS else None for age in self.ages]
        return mb.logs.agent(counts, promise=promise, seed=0), [*counts.contexts], leaves


def fitted(terms: Floats, reward: Floats) -> Floats:
    """The coefficients of a logistic model, by Newton's steps; a reward may lie between 0 and 1."""
    found = np.zeros(terms.shape[1])
    for _ in range(30):
        mean = expit(terms @ found)
        weighted = terms * (mean * (1.0 - mean))[:, None]
        found += np.linalg.solve(weighted.T @ terms + 1e-6 * np.eye(len(found)), terms.T @ (reward - mean))
    return found


class Agents:
    """Agents with one policy, each from a log of its own: the contexts of all of them in rows, one after another."""

    def __init__(self, patients: Patients, knows: str, promise: mb.Promise | None, runs: int) -> None:
        knowledge, eligible, means, places, sizes = [], [], list[Floats](), [], list[int]()
        for kind, run in product(patients.choices, range(runs)):
            agent, names, leaves = patients.agent(kind, knows, promise, run)
            rows = {name: k for k, name in enumerate(names)}
            place = np.array([rows[leaf] for leaf in leaves])
            value = (patients.choices[kind] * patients.chance).sum(axis=1)
            own = [np.bincount(place, column, len(rows)) for column in (*patients.chance.T, value)]
            means.append(np.column_stack(own) / np.maximum(np.bincount(place, minlength=len(rows)), 1)[:, None])
            places.append(place + sum(sizes))
            sizes.append(len(rows))
            knowledge += [agent.knowledge(name) for name in names]
            eligible += [[arm not in agent.forbidden(name) for arm in agent.arms] for name in names]
        number = np.concatenate([np.arange(size) for size in sizes])  # of each context in its agent
        known = (Known.of(knowledge).among(np.array(eligible)) for _ in range(2))
        self.log, self.known = (replace(own, places=number) for own in known)
        self.policy, self.pool, self.due = agent.policy, agent.pool, np.zeros(len(sizes), dtype=np.int64)
        self.means, self.places, self.sizes = np.concatenate(means), np.array(places), np.array(sizes)
        self.seen, self.leaves = Seen.empty(*self.means.shape), float(np.mean([len(np.unique(own)) for own in places]))

    def learn(self, done: int) -> None:
        """Let the contexts of each agent learn from each other, whenever an agent does after so many decisions."""
        assert self.known.prior is not None
        for k in np.flatnonzero(self.due <= done) if self.pool else ():
            end, size = int(self.sizes[: k + 1].sum()), int(self.sizes[k])
            part = slice(end - size, end)
            for own, new in zip(self.known.prior, pooled(rows_of(self.log, part), self.statistics(part)), strict=True):
                own[part] = new
            self.due[k] = done + 1 + max(done, size) // 10

    def statistics(self, rows: Any) -> Seen:
        """What was seen in these rows."""
        return Seen(*(own[rows] for own in (self.seen.plays, self.seen.total, self.seen.squares, self.seen.ones)))


def rows_of(known: Known, rows: Any) -> Known:
    """Some rows."""
    assert known.prior is not None
    assert known.eligible is not None
    assert known.places is not None
    lower, upper, low, high, a, b = (
        own[rows] for own in (known.lower, known.upper, known.low, known.high, *known.prior)
    )
    own = Known(lower, upper, low, high, None, (a, b), known.eligible[rows], known.expert)
    return replace(own, places=known.places[rows])


def play(patients: Patients, knows: str, promise: mb.Promise | None, runs: int, decisions: int) -> tuple[Played, float]:
    """Play agents with all kinds of experts side by side, and count leaves; in a run all get the same patients."""
    agents, size, number = Agents(patients, knows, promise, runs), len(patients.arms), len(patients.chance)
    policy, seen, places, means = agents.policy, agents.seen, agents.places, agents.means
    guard = policy if isinstance(policy, mb.policies.Guarded) and policy.pooled else None
    run, row = np.tile(np.arange(runs), len(EXPERTS)), np.arange(len(places))
    keys, draws, roundings = stream(SEED, run, "offers"), stream(SEED, run, "rewards"), stream(SEED, row, "rounding")
    values = [(choices * patients.chance).sum(axis=1) for choices in patients.choices.values()]
    earns, kinds = np.array(values), np.repeat(np.arange(len(EXPERTS)), runs)
    gain, asked, broken = np.zeros(len(row)), np.zeros(len(row)), np.zeros(len(row), dtype=bool)
    gains, owner = np.zeros((len(row), decisions // STEP)), np.repeat(row, agents.sizes)
    accounts = None if guard is None else guard.account(agents.log, seen)
    for t in range(1, decisions + 1):
        agents.learn(t - 1)
        patient = (uniform(keys, t) * number).astype(np.int64)
        at = places[row, patient]
        known, now = rows_of(agents.known, at), agents.statistics(at)
        if accounts is not None:
            whole = np.array([np.bincount(owner, own, len(row)) for own in accounts])
            now.others = whole - accounts[:, at]
        arms = choose(policy, known, now, now.plays.sum(axis=1) + 1.0, Draws(roundings, t))
        chance = np.where(arms == size, earns[kinds, patient], patients.chance[patient, np.minimum(arms, size - 1)])
        seen.add(at, arms, (uniform(draws, t) < chance).astype(np.float64), np.full(len(row), 0.5))
        if guard is not None and accounts is not None:
            accounts[:, at] = guard.account(rows_of(agents.log, at), agents.statistics(at))
        gain += means[at, arms] - means[at, size]
        asked += arms == size
        if promise is not None and promise.margin is not None:
            broken |= gain < -promise.margin * t - 1e-7
        if t % STEP == 0:
            gains[:, t // STEP - 1] = gain
    shape = len(EXPERTS), runs
    share = asked.reshape(shape).mean(axis=1) / decisions
    return Played(gains.reshape(*shape, -1), broken.reshape(*shape, 1), share), agents.leaves


def table(trials: Mapping[str, Patients], runs: int, moments: Sequence[int]) -> list[list[str]]:
    """Gain on the experts at two moments, by what the agents know of a case."""
    agents = list(product(KNOWS, PROMISES))
    found = [["trial", "experts", *map(", ".join, agents)], ["---", "---", *["---:"] * len(agents)]]
    for name, patients in trials.items():
        played = [play(patients, knows, PROMISES[promise], runs, moments[1]) for knows, promise in agents]
        lines = [(kind, [cell(own.gain[k], moments[0]) for own, _ in played]) for k, kind in enumerate(EXPERTS)]
        lines += [("worst moment", [f"{own.gain.min():+,.0f}" for own, _ in played])]
        lines += [("share asked", [f"{own.asked.mean():.0%}" for own, _ in played])]
        said = [f"{own.broken.sum()} of {own.broken.size}" for own, _ in played]
        lines += [("broken", [one * (PROMISES[kept] is not None) for one, (_, kept) in zip(said, agents, strict=True)])]
        lines += [("contexts", [f"{count:.1f}" for _, count in played])]
        found += [[name, kind, *cells] for kind, cells in lines]
        print(*(" | ".join(line) for line in found[-len(lines) :]), sep="\n", flush=True)
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Print the table; write it into the page of the trials."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numeric")
    for name, title in TITLES.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=f"rows of the {title.split(',')[0]}")
    parser.add_argument("--runs", type=int, default=4, help="logs, with a run each")
    parser.add_argument("--decisions", type=int, nargs=2, default=[2000, 10_000])
    parser.add_argument("--write", action="store_true", help="write the table into docs/trials.md")
    options, trials = parser.parse_args(given), dict[str, Patients]()
    for name, file in ((name, getattr(options, name)) for name in TITLES):
        if file is not None:
            trials |= {name: Patients(name, file), f"{name}, effects added": Patients(name, file, ADDED)}
    found = table(trials, options.runs, options.decisions)
    if options.write:
        write(DOCS / "trials.md", "numeric: python -m benchmarks.numeric --gusto FILE --stroke FILE --write", found)


if __name__ == "__main__":
    main()
