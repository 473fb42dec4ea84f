"""Whether a policy should count pulls whose reward is still out: compared with delayed and with lost rewards.

`python -m benchmarks.pending` writes docs/pending.md.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import meanbounds as mb
from benchmarks.pages import items, listed, table, today
from meanbounds.simulation import Delay
from meanbounds.simulation.pairs import sign_test
from meanbounds.worlds.kinds import World, instance_worlds

HORIZON = 5_000
RUNS = 12
LONG_HORIZON = 10_000
LONG_RUNS = 300
FRESH = 1_000  # first seed: the rule was made on others
RARE = 1e-3  # level of the sign tests
SURE = 3.1  # standard errors that a mean has to be above 0: one-sided, about the same level
LITTLE = 0.02  # a difference in regret that does not matter
MEANS = (1, 10, 100, 1000)
LOST = (0.0, 0.1, 0.5)
ROUNDS_OF_WORLDS = 3  # random worlds for each delay: one for each kind of bounds
SLACK = {"tight bounds": 0.1, "loose bounds": 0.5, "vacuous bounds": 1.0}  # how far bounds are from the mean, at most
PAGE = Path(__file__).parents[1] / "docs" / "pending.md"

POLICIES: Mapping[str, mb.Policy] = {
    "UCB": mb.UCB(),
    "BUCB": mb.BUCB(),
    "ImprovedUCB": mb.ImprovedUCB(),
    "GLUE": mb.GLUE(),
    "KLUCB": mb.KLUCB(),
    "BKLUCB": mb.BKLUCB(),
    "UCBoost": mb.UCBoost(),
    "OSSB": mb.OSSB(),
    "BIMED": mb.BIMED(),
    "BIMED(moments=2)": mb.BIMED(moments=2),
    "OptimisticGittins": mb.OptimisticGittins(),
    "ThompsonSampling": mb.ThompsonSampling(),
    "IDS": mb.IDS(),
    "ThompsonSampling(moments=2)": mb.ThompsonSampling(moments=2),
}
_LONG = ("GLUE", "BKLUCB", "OSSB", "BIMED", "BIMED(moments=2)", "ThompsonSampling")
LONG_POLICIES = {label: POLICIES[label] for label in _LONG}
DELAYS = (
    *(Delay(0, lost=lost) for lost in LOST[1:]),
    *(Delay(mean, "fixed", lost=lost) for mean in MEANS for lost in LOST),
    *(Delay(mean, "geometric", lost=lost) for mean in MEANS for lost in LOST),
)


@dataclass(frozen=True)
class Comparison:
    """One policy in one world with one delay, without and with counting, over paired runs."""

    world: str
    delay: Delay
    ignore: float
    count: float
    variance: float  # of the mean difference
    worse: bool
    better: bool
    trapped: tuple[float, float]  # share of runs in which the best arm has less than half of the pulls, for both
    traps: bool  # whether counting has significantly more of them

    @property
    def change(self) -> float:
        """How much more regret counting has, as a share of what there is without."""
        return self.count / self.ignore - 1.0 if self.ignore > 0.0 else float(self.count > 0.0)

    @property
    def hurts(self) -> bool:
        """Whether counting is significantly worse, and by more than a little, or trapped significantly more often."""
        return self.traps or (self.worse and self.change >= LITTLE)


@dataclass(frozen=True)
class Pooled:
    """Mean regret over several comparisons."""

    ignore: float
    count: float
    error: float  # standard error of the difference

    @property
    def change(self) -> float:
        """As in `Comparison`."""
        return self.count / self.ignore - 1.0

    @property
    def hurts(self) -> bool:
        """Whether counting has significantly more regret on average, and not just a little more."""
        return self.count - self.ignore > SURE * self.error and self.change >= LITTLE

    def __str__(self) -> str:
        return f"{100.0 * self.change:+.0f}% ± {200.0 * self.error / self.ignore:.0f}%"


def pool(comparisons: Iterable[Comparison]) -> Pooled:
    """Means of the means; runs are independent, within and across comparisons."""
    given = list(comparisons)
    ignore, count = (float(np.mean([getattr(one, name) for one in given])) for name in ("ignore", "count"))
    return Pooled(ignore, count, float(np.sqrt(sum(one.variance for one in given))) / len(given))


def named_worlds() -> list[World]:
    """The instances of the package, with rewards of 0 and 1."""
    return sorted(instance_worlds(), key=lambda world: world.name)


def random_world(number: int) -> World:
    """Two to ten arms with random means; the number decides on the kind of bounds and of rewards."""
    rng = np.random.default_rng(FRESH + number)
    kind = tuple(SLACK)[number // len(DELAYS) % len(SLACK)]
    means = rng.uniform(0.05, 0.95, rng.integers(2, 11))
    below, above = rng.uniform(0.0, SLACK[kind], (2, means.size))
    bounds = mb.MeanBounds(np.maximum(means - below, 0.0), np.minimum(means + above, 1.0))
    if kind == "vacuous bounds":
        bounds = mb.MeanBounds.vacuous(means.size)
    environment = mb.Beta(means) if (number + number // len(DELAYS)) % 2 else mb.Bernoulli(means)
    return World(f"random {number}, {kind}, {type(environment).__name__}", environment, bounds)


def cases() -> list[tuple[World, Delay]]:
    """For each delay one named world, in turn, and as many random worlds as there are kinds of bounds."""
    worlds = named_worlds()
    named = [(worlds[number % len(worlds)], delay) for number, delay in enumerate(DELAYS)]
    return named + [
        (random_world(number), DELAYS[number % len(DELAYS)]) for number in range(ROUNDS_OF_WORLDS * len(DELAYS))
    ]


def compare(
    seed: int,
    world: World,
    delay: Delay,
    policies: Mapping[str, mb.Policy] = POLICIES,
    horizon: int = HORIZON,
    runs: int = RUNS,
) -> dict[str, Comparison]:
    """Every policy in a world, without and with counting."""
    ignore, count = (
        mb.simulate(
            policies,
            world.environment,
            world.bounds,
            horizon=horizon,
            runs=runs,
            seed=seed,
            checkpoints=1,
            delay=delay,
            pending=pending,
        )
        for pending in ("ignore", "count")
    )
    best = int(world.environment.means.argmax())
    found = {}
    for label in policies:
        first, second = ignore.final[label], count.final[label]
        trapped = [regret.plays[label][:, best] < horizon / 2 for regret in (ignore, count)]
        found[label] = Comparison(
            world.name,
            delay,
            float(first.mean()),
            float(second.mean()),
            float((second - first).var(ddof=1)) / runs,
            sign_test(first, second).p_value <= RARE,
            sign_test(second, first).p_value <= RARE,
            (float(trapped[0].mean()), float(trapped[1].mean())),
            sign_test(trapped[0], trapped[1]).p_value <= RARE,
        )
    return found


Results = Mapping[str, Sequence[Comparison]]


def measure() -> Results:
    """Every policy in every case."""
    results: dict[str, list[Comparison]] = {label: [] for label in POLICIES}
    for seed, (world, delay) in enumerate(cases()):
        for label, comparison in compare(FRESH + seed, world, delay).items():
            results[label].append(comparison)
        print(f"case {seed + 1}: {world.name}, {delay}", file=sys.stderr, flush=True)
    return results


def measure_longer() -> Results:
    """Policies of each kind, where half of the rewards are lost and nothing is late, in many longer runs."""
    world = next(world for world in named_worlds() if world.name == "clipping-only")
    delay = Delay(0, lost=LOST[-1])
    return {label: [one] for label, one in compare(FRESH, world, delay, LONG_POLICIES, LONG_HORIZON, LONG_RUNS).items()}


def overview(results: Results) -> str:
    """Regret of each policy, and in how many cases counting is better or worse."""
    rows = []
    for label, given in results.items():
        pooled, size = pool(given), len(given)
        shares = (sum(getattr(one, name) for one in given) / size for name in ("better", "worse", "hurts"))
        increase = max((one.count - one.ignore for one in given if one.hurts), default=None)
        rows.append(
            [
                *(label, f"{pooled.ignore:.1f}", f"{pooled.count:.1f}", *(f"{100.0 * share:.1f}%" for share in shares)),
                "none" if increase is None else f"{increase:+.1f}",
            ]
        )
    header = ["policy", "ignore", "count", "better", "worse", f"worse by {LITTLE:.0%} or more", "largest such increase"]
    return table(header, rows)


def by(results: Results, name: str, values: Sequence[float], words: Callable[[float], str]) -> str:
    """Change in mean regret of each policy, by a property of the delay."""
    rows = [
        [label, *(str(pool(one for one in given if getattr(one.delay, name) == value)) for value in values)]
        for label, given in results.items()
    ]
    return table(["policy", *map(words, values)], rows)


def harmed(results: Results, lost: Sequence[float] = LOST) -> list[str]:
    """Policies that counting hurts with one of these shares of lost rewards: in a case, or on average."""
    found = []
    for label, given in results.items():
        for share in lost:
            some = [one for one in given if one.delay.lost == share]
            if some and (any(one.hurts for one in some) or pool(some).hurts):
                found.append(label)
                break
    return found


def conclusion(results: Results, longer: Results) -> str:
    """What the numbers say, in words."""
    all_arrive, lost = harmed(results, [0.0]), {*harmed(results, LOST[1:]), *harmed(longer)}
    some_lost = [label for label in results if label in lost]
    safe = [label for label in results if label not in {*all_arrive, *some_lost}]
    parts = [
        f"Counting hurts nowhere, late or lost: {listed(safe)}.",
        f"Counting hurts even where every reward comes in the end: {listed(all_arrive)}.",
        f"Counting hurts where rewards are lost: {listed(some_lost)}.",
        f'"Hurts" means: significantly worse in a case and by {LITTLE:.0%} of the regret or more; or more regret on '
        f"average over all cases with the same share of lost rewards, by more than {SURE} standard errors and "
        f"{LITTLE:.0%}; or trapped significantly more often, in a case or in the longer runs below.",
    ]
    return items(parts)


def offenders(results: Results) -> str:
    """The cases in which counting hurts."""
    rows = [
        [
            *(label, one.world, f"{one.delay.mean:g}, {one.delay.law}", f"{one.delay.lost:g}"),
            *(f"{one.ignore:.1f}", f"{one.count:.1f}"),
        ]
        for label, given in results.items()
        for one in given
        if one.hurts
    ]
    return table(["policy", "world", "delay", "lost", "ignore", "count"], rows) if rows else "There is none."


def page(results: Results, longer: Results) -> str:
    """The page, from the numbers."""
    size = len(next(iter(results.values())))
    counting = [label for label, policy in POLICIES.items() if policy.counts_pending]
    long_rows = [
        [
            *(label, f"{one.ignore:.1f}", f"{one.count:.1f}", str(pool([one]))),
            *(f"{share:.0%}" for share in one.trapped),
        ]
        for label, given in longer.items()
        for one in given
    ]
    about = f"""\
`Agent.pull(pending="count")` and `simulate(..., pending="count")` treat a pull that is still unanswered as if it had
returned the arm's mean so far, or the middle of the arm's bounds if it has no reward yet. Once an arm has rewards, at
most as many unanswered pulls of it count. `pending="ignore"` decides from the rewards that have come. By default
(`pending=None`) unanswered pulls count for these policies: {listed(counting)}. Written by `make pending` on {today()}
with meanbounds {mb.__version__}."""
    how = f"""\
{size} cases, {RUNS} paired runs of {HORIZON:,} rounds in each: {len(DELAYS)} delays, each with one of the four
worlds of `mb.INSTANCES`, in turn, and with {ROUNDS_OF_WORLDS} random ones (2 to 10 arms, means from 0.05 to 0.95,
bounds within 0.1 of the mean, within 0.5, or vacuous, rewards of 0 and 1 or Beta): {ROUNDS_OF_WORLDS * len(DELAYS)}
random worlds in all. Delays are 0 or on average {", ".join(map(str, MEANS))} rounds, fixed or geometric, and
{", ".join(f"{share:.0%}" for share in LOST)} of the rewards never come; the policy is not told which. Runs are paired:
the same rewards by arm and pull, the same delays by round. "Better" and "worse" are the shares of cases in which an
exact one-sided sign test says so at level {RARE}; by chance alone each would be at most {RARE:.1%}. A sign test counts
runs, not regret: it does not see a few runs that go badly wrong. The changes in mean regret below do; they are given
with two standard errors."""
    return f"""\
# Late rewards: should unanswered pulls count?

{textwrap.fill(about, 118)}

## Conclusion

{conclusion(results, longer)}

## What was measured

{textwrap.fill(how, 118)}

{overview(results)}

## By the share of rewards that never come

Change in mean regret with counting; negative is better.

{by(results, "lost", LOST, lambda share: f"{share:.0%} lost")}

## By mean delay

{by(results, "mean", (0, *MEANS), lambda mean: f"{mean:g} rounds")}

## Cases in which counting hurts

{offenders(results)}

## Lost rewards for longer

A pull whose reward is lost stays unanswered for ever, so that the policy takes its mean for surer than it is. On
`mb.INSTANCES["clipping-only"]`, without delay but with {LOST[-1]:.0%} of the rewards lost, {LONG_HORIZON:,} rounds,
{LONG_RUNS} runs; a run is trapped if the best arm has less than half of the pulls:

{table(["policy", "ignore", "count", "change", "trapped, ignore", "trapped, count"], long_rows)}

`Agent.cancel` takes back a pull that will not be answered any more: the agent then counts it no longer.

## Why it can hurt

Where the arm with the largest upper bound happens to be the best one, a policy that clips its indices and ignores
unanswered pulls plays nothing else until the first rewards come, and has no regret; counting tries the others too.
Where that arm is not the best one, the same difference is what counting gains. With lost rewards, an arm that gave a
few bad rewards early looks surer to be bad than it is, the more so for policies that explore as little as they may.
"""


def main() -> None:
    """Play everything and write the page."""
    PAGE.write_text(page(measure(), measure_longer()), encoding="utf-8")


if __name__ == "__main__":
    main()
