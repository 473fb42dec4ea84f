"""Measure what raw columns are worth in made-up worlds: the regret of agents with them, as a share of that without.

Usage: ``python -m benchmarks.columns [--worlds 100] [--rows 2000 20000] [--write docs/columns.md]``.

A world has 3 to 6 options, three numeric columns and two of categories that matter, 4 to 20 that do not, and something
hidden that the experts see who wrote its log. It counts as one where columns matter if the best option by columns is at
least `GAP` better than the best single option; others are drawn anew before anybody plays.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, ndtri
from scipy.stats import binomtest

import meanbounds as mb
from benchmarks.gain import write
from benchmarks.promise import GAP, POLICIES
from meanbounds.agents.pooling import pooled
from meanbounds.divergence import kl_upper
from meanbounds.known import Known, Seen
from meanbounds.logs.growing import grow
from meanbounds.policies.base import choose
from meanbounds.support.streams import Draws, child, stream, uniform
from meanbounds.support.types import Booleans, Floats, Integers

MATTERS = ("steps", "smooth", "interactions")
EXPERTS = ("right", "err in 20%", "wrong ideas", "habit")
HIDDEN = 4  # kinds of case that only the experts tell apart
SPREAD, UNSEEN = 0.7, 0.8  # of effects of columns and of what is hidden, on the scale of log odds
# How numeric columns look: years, something skewed, a score, a percentage.
LOOKS: tuple[Callable[[Floats], Any], ...] = (
    lambda u: np.round(20.0 + 70.0 * u),
    lambda u: np.round(np.exp(3.0 * u), 2),
    lambda u: np.round(ndtri(np.clip(u, 1e-6, 1.0 - 1e-6)), 3),
    lambda u: np.round(100.0 * u, 1),
)
ANYHOW = 1.0 - 1e-9  # the chance of a split without a difference, if there are to be leaves anyhow
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "one context for all": ("one", {}),
    "quartiles of the right columns": ("quartiles", {}),
    "tree, not pooled": ("tree", {"pool": False}),
    "**tree**": ("tree", {}),
    "32 leaves, not pooled": ("leaves", {"pool": False}),
    "32 leaves": ("leaves", {}),
    "tree of the true best options": ("truth", {}),
}


@dataclass
class Cases:
    """Some cases of a world, and what experts choose there."""

    columns: dict[str, Any]
    means: Floats  # of each option, given all of the case: (cases, arms)
    expected: Floats  # given the columns alone
    places: Floats  # of each case among all, in each numeric column
    choices: Integers

    @property
    def chances(self) -> Floats:
        """The means, and the mean of what the experts choose."""
        return np.column_stack([self.means, self.means[np.arange(len(self.choices)), self.choices]])


class World:
    """How columns look, what they and what is hidden mean for the options, and what kind of experts there is."""

    def __init__(self, matters: str, experts: str, rng: np.random.Generator) -> None:
        self.matters, self.experts = matters, experts
        self.arms, self.noise = int(rng.integers(3, 7)), int(rng.integers(4, 21))
        self.grades = 3 if rng.random() < 0.25 else 1  # rewards are thirds, or 0 and 1
        self.looks, self.kinds = rng.integers(len(LOOKS), size=3 + self.noise), rng.integers(3, 6, size=2)
        self.shares = rng.dirichlet(np.ones(HIDDEN))
        self.cuts, self.signs = rng.uniform(0.2, 0.8, (2, 3)), rng.choice([-1.0, 1.0], (2, 5))
        self.base, self.unseen = rng.normal(0.0, 0.3, self.arms), rng.normal(0.0, UNSEEN, (HIDDEN, self.arms))
        self.ideas, weights = rng.normal(0.0, 0.15, (HIDDEN, self.arms)), rng.normal(size=(16, self.arms + 1))
        sample = self._terms(rng.random((4000, 3)), np.column_stack([rng.integers(n, size=4000) for n in self.kinds]))
        weights = weights[: sample.shape[1]]
        weights *= SPREAD * (matters != "nothing") / (sample @ weights).std(axis=0)
        self.weights = weights[:, :-1] + weights[:, -1:]  # what is said of an option alone, and of all alike

    def _terms(self, u: Floats, kinds: Integers) -> Floats:
        """What the log odds are linear in, (cases, terms)."""
        if self.matters == "interactions":
            signs = np.hstack(
                [np.where(u > self.cuts[0], 1.0, -1.0), *(self.signs[j][kinds[:, [j]]] for j in range(2))]
            )
            return np.column_stack([signs[:, i] * signs[:, j] for i, j in combinations(range(5), 2)])
        each = [2.0 * u - 1.0, 6.0 * u * (u - 1.0) + 1.0] if self.matters == "smooth" else u > self.cuts[:, None]
        return np.hstack([*each, *((kinds[:, [j]] == np.arange(n)) * 1.0 for j, n in enumerate(self.kinds))])

    def cases(self, size: int, rng: np.random.Generator) -> Cases:
        """Draw cases."""
        row, u = np.arange(size), rng.random((size, 3 + self.noise))
        kinds = np.column_stack([rng.integers(n, size=size) for n in self.kinds])
        columns: dict[str, Any] = {f"c{j}": np.array(list("abcde"))[kinds[:, j]] for j in range(2)}
        for j, look in enumerate(self.looks):
            columns[f"x{j}"] = (
                LOOKS[look](u[:, j]) if j % 4 != 3 else np.array(list("pqrs"))[(4.0 * u[:, j]).astype(int)]
            )
        odds = self.base + self._terms(u[:, :3], kinds) @ self.weights
        given, hidden = expit(odds[:, None] + self.unseen), rng.choice(HIDDEN, size, p=self.shares)
        means = given[row, hidden]
        choices = (means + self.ideas[hidden] * (self.experts == "wrong ideas")).argmax(axis=1)
        if self.experts == "err in 20%":
            choices = np.where(rng.random(size) < 0.2, rng.integers(self.arms, size=size), choices)
        elif self.experts == "habit":  # by a column that does not matter; in pure noise, always the same option
            usual = 0.0 * u[:, 4] if self.matters == "nothing" else u[:, 4] * self.arms
            choices = np.where(rng.random(size) < 0.6, usual.astype(int), choices)
        return Cases(columns, means, np.einsum("u,nuk->nk", self.shares, given), u, choices)

    def log(self, rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Cases]:
        """A log of the experts, and its cases."""
        cases = self.cases(rows, rng)
        rewards = rng.binomial(self.grades, cases.chances[:, -1]) / self.grades
        return {**cases.columns, "arm": cases.choices, "reward": rewards}, cases


def worlds(number: int, kinds: Sequence[str], seed: int) -> list[World]:
    """Draw worlds of these kinds, with each kind of experts."""
    rng, found = np.random.default_rng(seed), list[World]()
    every = list(product(kinds, EXPERTS))
    while len(found) < number:
        one = World(*every[len(found) % len(every)], rng)
        expected = one.cases(20_000, rng).expected
        if one.matters == "nothing" or expected.max(axis=1).mean() - expected.mean(axis=0).max() >= GAP:
            found.append(one)
    return found


def leaves(tree: Any, columns: dict[str, Any], size: int) -> Integers:
    """The place of each case's context among those of a tree, for many cases at once."""
    found, waiting, names = np.zeros(size, dtype=np.int64), [(0, np.arange(size))], [*tree.contexts]
    ends = np.cumsum([node is None for node in tree.nodes]) - 1
    while waiting:
        place, rows = waiting.pop()
        node = tree.nodes[place]
        if node is None:
            found[rows] = ends[place]
            continue
        values = columns[node.column][rows]
        left = values < node.below if node.numeric else np.isin(values, node.left)
        right = ~left if node.numeric else np.isin(values, node.right)
        found[rows[~(left | right)]] = names.index(f"unknown: {node.column}")
        waiting += [(place + 1, rows[left]), (tree.right[place], rows[right])]
    return found


@dataclass
class Run:
    """An agent that has seen nothing yet, in a world, and the place of each case's context."""

    agent: mb.Agent
    places: Integers
    world: int = 0


def play(runs: list[Run], policy: Any, chances: Floats, grades: Integers, seed: int) -> tuple[Integers, Floats]:
    """The option that each agent plays in each case, and its reward: (cases, runs); all have as many options.

    Decisions are those of the agents, but a step of numpy makes one for each of them. `chances` are the means of the
    options in each case of each world; the same option gets the same reward in all runs of a world.
    """
    names: list[Any] = [run.agent.contexts or (None,) for run in runs]
    arms, size, world = runs[0].agent.arms, np.array([len(own) for own in names]), np.array([run.world for run in runs])
    each = [Known.of([run.agent.knowledge(name) for name in own]) for run, own in zip(runs, names, strict=True)]
    forbidden = [run.agent.forbidden(name) for run, own in zip(runs, names, strict=True) for name in own]
    eligible, start = np.array([[arm not in some for arm in arms] for some in forbidden]), np.append(0, size.cumsum())
    parts, number = [slice(*ends) for ends in pairwise(start)], np.concatenate([np.arange(n) for n in size])
    lower, upper = (np.concatenate([getattr(own, name) for own in each]) for name in ("lower", "upper"))
    priors = np.concatenate([np.array(own.prior) for own in each], axis=1)
    keys, roundings = (
        np.concatenate([stream(run.agent.seed, np.arange(n), name) for run, n in zip(runs, size, strict=True)])
        for name in ("policy", "rounding")
    )
    seen, pulls, share = Seen.empty(start[-1], len(arms)), np.zeros(start[-1]), np.full(lower.shape, 0.5)
    rewards = child(stream(seed, np.arange(len(grades)), "rewards")[:, None], np.arange(3))
    low, high, expert = each[0].low[:1], each[0].high[:1], each[0].expert
    guard = policy if isinstance(policy, mb.policies.Guarded) else None
    if guard:
        every = Known(lower, upper, low, high, None, (priors[0], priors[1]), None, expert, places=number)
        accounts = guard.account(every, seen)
        totals = np.add.reduceat(accounts, start[:-1], axis=1)
    chosen, got = np.zeros((len(chances), len(runs)), dtype=np.int64), np.zeros((len(chances), len(runs)))
    due = np.array([0 if run.agent.pool else len(chances) for run in runs])
    for t in range(len(chances)):
        for k in np.flatnonzero(due <= t):
            own = Seen(*(part[parts[k]] for part in (seen.plays, seen.total, seen.squares, seen.ones)))
            priors[:, parts[k]], due[k] = pooled(each[k], own), t + 1 + max(t, size[k]) // 10
        at = np.array([run.places[t] for run in runs]) + start[:-1]
        prior = priors[0][at], priors[1][at]
        known = Known(lower[at], upper[at], low, high, None, prior, eligible[at], expert, places=number[at])
        now = Seen(seen.plays[at], seen.total[at], seen.squares[at], seen.ones[at])
        cache: dict[str, Any] = {"share": share[at], "base": {"share": share[at]}}  # only makes it faster
        if guard:
            now.others = totals - accounts[:, at]
        arm = chosen[t] = choose(policy, known, now, pulls[at] + 1.0, Draws(keys[at], pulls[at]), cache)
        share[at] = (cache["base"] if guard else cache)["share"]
        wins = uniform(rewards, t)[world] < chances[t, world, arm][:, None]
        reward = got[t] = np.where(grades[world] == 1, wins[:, 0], wins.mean(axis=1))
        seen.add(at, arm, reward, uniform(roundings[at], pulls[at]))
        pulls[at] += 1.0
        if guard:
            now = Seen(seen.plays[at], seen.total[at], seen.squares[at], seen.ones[at])
            change = guard.account(known, now) - accounts[:, at]
            accounts[:, at] += change
            totals += change
    return chosen, got


def agent_of(
    world: World, kind: str, log: dict[str, Any], cases: Cases, coming: Cases, **settings: Any
) -> tuple[mb.Agent, Integers]:
    """An agent that starts from a log, with contexts of this kind, and the place of the context of each coming case."""
    size, arms, names = len(coming.choices), list(range(world.arms)), [*cases.columns]
    if kind == "one":
        return mb.logs.agent(mb.logs.read(log, arms=arms), **settings), np.zeros(size, dtype=np.int64)
    if kind == "quartiles":
        own, other = ((4.0 * one.places[:, :3]).astype(int) @ [1, 4, 16] for one in (cases, coming))
        cells, values = own * world.arms + log["arm"], (None, log["reward"], log["reward"] ** 2)
        sums: Any = [np.bincount(cells, value, 64 * world.arms).reshape(64, -1) for value in values]
        counts = mb.logs.Counts(tuple(f"quartiles {n}" for n in range(64)), tuple(arms), *sums)
        return mb.logs.agent(counts, include=arms, **settings), other
    if kind == "truth":
        own_columns = {name: own if own.dtype.kind == "f" else own.tolist() for name, own in cases.columns.items()}
        tree = grow(own_columns, cases.expected.argmax(axis=1), np.ones(len(cases.choices)), p=ANYHOW)
        counts = mb.logs.read(log, context=tree, arms=arms)
    else:
        counts = mb.logs.partition(log, names, arms=arms, p=ANYHOW if kind == "leaves" else 0.05)
    return mb.logs.agent(counts, **settings), leaves(counts.tree, coming.columns, size)


def regrets(
    every: list[World], names: Sequence[str], rows: int, decisions: Sequence[int], policy: Any, seed: int
) -> tuple[Floats, Integers]:
    """The regret of each variant against the best option by columns, (worlds, variants, decisions), and its leaves."""
    found, number = (
        np.zeros((len(every), len(names), len(decisions))),
        np.zeros((len(every), len(names)), dtype=np.int64),
    )
    for arms in sorted({one.arms for one in every}):
        own, runs, coming = [k for k, one in enumerate(every) if one.arms == arms], list[Run](), list[Cases]()
        for place, k in enumerate(own):
            rng = np.random.default_rng([seed, k, rows])
            log, cases = every[k].log(rows, rng)
            coming.append(every[k].cases(decisions[-1], rng))
            for name in names:
                kind, how = VARIANTS[name]
                plain: dict[str, Any] = {"promise": None, "expert": False, "policy": policy, "seed": seed + k, **how}
                agent, places = agent_of(every[k], kind, log, cases, coming[-1], **plain)
                runs.append(Run(agent, places, place))
                number[k, names.index(name)] = sum(not str(z).startswith("unknown") for z in agent.contexts or "1")
        chances = np.stack([one.means for one in coming], axis=1)
        chosen, _ = play(runs, policy, chances, np.array([every[k].grades for k in own]), seed)
        for n, arm in enumerate(chosen.T):
            expected = coming[n // len(names)].expected
            lost = (expected.max(axis=1) - expected[np.arange(len(arm)), arm]).cumsum()
            found[own[n // len(names)], n % len(names)] = lost[np.array(decisions) - 1]
    return found, number


def table(given: argparse.Namespace) -> list[list[str]]:
    """Play worlds where columns matter, and worlds where they do not."""
    after = "regret after " + " / ".join(f"{n:,}" for n in given.decisions)
    head = "rows", "contexts", "leaves", after, "less", "pure noise", "worst", "one leaf"
    rows = [[*head], ["---:", "---", *["---:"] * 6]]
    matter, noise = (worlds(given.worlds, kinds, given.seed + n) for n, kinds in enumerate((MATTERS, ("nothing",))))
    for size, policy in product(given.rows, given.policies):
        names = [*VARIANTS] if policy == "gittins" else ["one context for all", "**tree**"]
        some = [name for name in names if VARIANTS[name][0] in ("one", "tree", "leaves")]
        start = time.process_time()
        lost, number = regrets(matter, names, size, given.decisions, POLICIES[policy], given.seed)
        early, runs = given.decisions[0], noise * given.runs
        idle, few = regrets(runs, some, size, [early], POLICIES[policy], given.seed)
        idle = idle[..., 0].reshape(given.runs, len(noise), -1).mean(axis=0)
        made = len(names) * given.worlds * given.decisions[-1] + len(some) * len(runs) * early
        for n, name in enumerate(names):
            share = lost[:, n] / lost[:, 0]
            cells = [f"{size:,}", f"{name}, {policy}" if policy != "gittins" else name, f"{number[:, n].mean():.0f}"]
            cells += [shown(share), " / ".join(f"{one:.0%}" for one in (share < 1.0).mean(axis=0))]
            if name in some:
                k = some.index(name)
                worst = (idle[:, k] - idle[:, 0]).max() / early
                lone = (few[:, k] == 1).mean()
                cells += [f"{idle[:, k].sum() / idle[:, 0].sum():.2f}", f"{worst:.4f}", f"{lone:.0%}"]
            rows.append(cells + [""] * (8 - len(cells)))
            print(*rows[-1], sep=" | ", flush=True)
        spent = (time.process_time() - start) / 60.0
        print(f"{made:,} decisions, {made / spent:,.0f} a minute with making worlds, trees and agents", flush=True)
        for experts in sorted({one.experts for one in matter}):
            own = (
                lost[[one.experts == experts for one in matter]] / lost[[one.experts == experts for one in matter], :1]
            )
            print(f"  {experts}:", *(f"{name} {shown(own[:, n])};" for n, name in enumerate(names)))
    return rows


def shown(shares: Floats) -> str:
    """The means, and the standard error of the last one."""
    error = shares[:, -1].std(ddof=1) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return f"{' / '.join(f'{own:.2f}' for own in shares.mean(axis=0))} ± {error:.2f}"


def kept(given: argparse.Namespace, rows: int) -> tuple[int, int, str]:
    """In how many runs with a promise the sum of means is never below it, of how many, and what came of them."""
    found, every = list[tuple[bool, float, float]](), worlds(given.worlds, MATTERS, given.seed)
    for arms in sorted({one.arms for one in every}):
        own, runs, chances, values = [one for one in every if one.arms == arms], list[Run](), [], list[Floats]()
        for place, one in enumerate(own):
            rng = np.random.default_rng([given.seed, rows, arms, place])
            log, cases = one.log(rows, rng)
            coming, many = one.cases(given.decisions[0], rng), one.cases(100_000, rng)
            agent, places = agent_of(one, "tree", log, cases, coming, seed=given.seed + place)
            where = leaves(agent.tree, many.columns, len(many.choices))
            size = np.maximum(1, np.bincount(where, minlength=len(agent.contexts)))
            earned = np.column_stack([many.expected, many.chances[:, -1]]).T
            values.append(np.array([np.bincount(where, part, len(size)) / size for part in earned]).T)
            runs.append(Run(agent, places, place))
            chances.append(coming.chances)
        chosen, _ = play(runs, runs[0].agent.policy, np.stack(chances, axis=1), np.array([o.grades for o in own]), 1)
        for run, value, arm in zip(runs, values, chosen.T, strict=True):
            gain = (value[run.places, arm] - value[run.places, arms]).cumsum()
            holds = (gain + 0.01 * np.arange(1, len(gain) + 1) > -1e-9).all()
            found.append((bool(holds), gain[-1] / len(gain), float((arm == arms).mean())))
    good, gain, asked = np.array(found).T
    said = f"gain {gain.mean():+.4f} a decision, at worst {gain.min():+.4f}; experts asked in {asked.mean():.0%}"
    return int(good.sum()), len(good), said


def covered(matters: bool, honest: bool, logs: int, seed: int) -> dict[str, int]:
    """In how many logs the bounds of all leaves at once hold, where each bound is as near to the mean as it may be.

    Those of `meanbounds.logs.bounds`, and Chernoff's limits alone with nothing to spare. An option that was not chosen
    would have brought 0 if its number is even, and 1 otherwise: the ends of what any expert allows. There are 20
    columns with 32 values, of which the first two may matter.
    """
    size, names, good = 32, [f"x{j}" for j in range(20)], np.zeros(2, dtype=np.int64)
    arms, odd = 3, np.array([0, 1, 0])
    for number in range(logs):
        rng = np.random.default_rng([seed, number])
        x = rng.integers(size, size=(2_000, len(names)))
        cell = np.add.outer(2 * (np.arange(size) >= rng.integers(8, 24)), np.arange(size) >= rng.integers(8, 24))
        both = rng.dirichlet(2.0 * np.ones(arms), 4), rng.uniform(0.1, 0.9, (4, arms))
        (shares, success), at = (own[cell * matters] for own in both), (x[:, 0], x[:, 1])
        arm = (rng.random((len(x), 1)) > shares[at].cumsum(axis=1)[:, :-1]).sum(axis=1)
        reward = (rng.random(len(x)) < success[at][np.arange(len(x)), arm]) * 1.0
        log = {**{name: x[:, j].astype(np.float64) for j, name in enumerate(names)}, "arm": arm, "reward": reward}
        if honest:
            counts = mb.logs.partition(log, names, p=ANYHOW, seed=number, arms=range(arms))
        else:
            tree = grow({name: log[name] for name in names}, arm, reward, p=ANYHOW)
            counts = mb.logs.read(log, context=tree, arms=range(arms))
        found, truth = mb.logs.bounds(counts), shares * success + (1.0 - shares) * odd
        means = np.array([truth[np.ix_(*sides)].mean(axis=(0, 1)) for sides in boxes(counts.tree, names[:2], size)])
        lower, upper = (np.array([getattr(found[z], side) for z in counts.contexts]) for side in ("lower", "upper"))
        rows, own = counts.count.sum(axis=1, keepdims=True)[: len(means)], counts.total[: len(means)]
        lost = rows - np.where(odd, counts.count[: len(means)] - own, own)  # of a mean that is nearest from above
        most = kl_upper(lost / np.maximum(rows, 1.0), np.log(means.size / 0.05) / np.maximum(rows, 1.0))
        sharp = (most >= np.where(odd, means, 1.0 - means)) | (rows == 0.0)
        inside = (lower[: len(means)] <= means + 1e-9) & (means <= upper[: len(means)] + 1e-9)
        good += inside.all(), sharp.all()
    return {"bounds": int(good[0]), "Chernoff's limits": int(good[1])}


def boxes(tree: Any, names: Sequence[str], size: int) -> list[Booleans]:
    """Which values of these columns, of whole numbers below `size`, are in each leaf of a tree: (columns, values)."""
    found, waiting = [], [(0, np.ones((len(names), size), dtype=np.bool_))]
    while waiting:
        place, sides = waiting.pop()
        node = tree.nodes[place]
        if node is None:
            found.append(sides)
            continue
        low, others = np.arange(size) < node.below, np.array([[name != node.column] for name in names])
        waiting += [(tree.right[place], sides & (~low | others)), (place + 1, sides & (low | others))]
    return found


def checks(given: argparse.Namespace) -> list[list[str]]:
    """How often what is promised with 95% holds."""
    rows = [["what holds", "of", "in", "at least, with 99%", ""], ["---", "---:", "---:", "---:", "---"]]
    for size in given.rows:
        report(rows, f"the promise in the sum over leaves, logs of {size:,} rows", *kept(given, size))
    for matters, honest in ((True, True), (False, True), (False, False)):
        name = f"of all leaves at once, {'columns matter' if matters else 'pure noise'}"
        name += "" if honest else ", tree and bounds from the same rows"
        for what, good in covered(matters, honest, given.logs, given.seed).items():
            report(rows, f"{what} {name}", good, given.logs)
    return rows


def report(rows: list[list[str]], name: str, good: int, number: int, said: str = "") -> None:
    """Add a line to a table, and print it."""
    least = binomtest(good, number, alternative="greater").proportion_ci(0.99).low
    rows.append([name, f"{number:,}", f"{good / number:.1%}", f"{least:.1%}", said])
    print(*rows[-1], sep=" | ", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.columns", description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=100, help="where columns matter, and as many of pure noise")
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 20_000], help="of the logs")
    parser.add_argument("--decisions", type=int, nargs=2, default=[5_000, 50_000])
    parser.add_argument("--runs", type=int, default=4, help="of few decisions in each world of pure noise")
    parser.add_argument("--logs", type=int, default=2_000, help="for the bounds")
    parser.add_argument("--policies", nargs="+", choices=["gittins", "thompson"], default=["gittins", "thompson"])
    parser.add_argument("--tables", nargs="+", choices=["worlds", "checks"], default=["worlds", "checks"])
    parser.add_argument("--seed", type=int, default=35)
    parser.add_argument("--write", metavar="PAGE", type=Path, help="write the tables into this page")
    given = parser.parse_args(arguments)
    for name, make in (("worlds", table), ("checks", checks)):
        rows = make(given) if name in given.tables else []
        if given.write and rows:
            write(given.write, f"{name}: python -m benchmarks.columns " + " ".join(arguments or sys.argv[1:]), rows)


if __name__ == "__main__":
    main()
