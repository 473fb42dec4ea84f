"""What an agent that starts from a log loses, by who wrote the log, as a share of Thompson sampling from nothing.

`python -m benchmarks.agents_of_logs` plays 24 worlds of each kind, 4 runs in each, and prints the tables; `--worlds 200
--runs 20` plays the page and writes docs/agents_of_logs.md. Letters after it choose the parts.
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

import meanbounds as mb
from benchmarks.estimates import ratio_limits
from benchmarks.pages import items, kept_part, paragraph, table, today
from benchmarks.played import release_seed
from meanbounds.logs.agent import POLICY, TRUSTING, knowledge_of
from meanbounds.logs.prior import STRONGEST, WAIT
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_text_atomically

PAGE = Path(__file__).parents[1] / "docs" / "agents_of_logs.md"
TYPES, ARMS, ROWS, ROUNDS = 6, 5, 20_000, 5_000
LEAST = 1.0  # regret of Thompson sampling that a world's ratio is taken to, at least

EFFECTS: Mapping[str, float] = {"much": 1.0, "little": 0.2, "not at all": 0.0}
"""How far the hidden type decides an arm's mean: the rest is the same for all types."""

GOALS: Mapping[str, float] = {"much": 0.85, "little": 0.65, "not at all": 0.65}
MOST, TRUSTED_GOAL = 2.0, 0.15

Expert = Callable[[Floats, Floats, np.random.Generator], Floats]
"""From means (types x arms), weights of the types and a generator to the chance of each arm for each type."""


def perfect(means: Floats, _weights: Floats, _rng: np.random.Generator) -> Floats:
    """The best arm for each type."""
    chances: Floats = (np.arange(means.shape[1]) == means.argmax(axis=1)[:, None]).astype(np.float64)
    return chances


def errs(share: float, means: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
    """Another arm, drawn uniformly, in this share of the cases."""
    best = perfect(means, weights, rng)
    chances: Floats = (1.0 - share) * best + share * (1.0 - best) / (means.shape[1] - 1)
    return chances


def partial(means: Floats, weights: Floats, _rng: np.random.Generator) -> Floats:
    """Tells only pairs of types apart, and plays what is best for the pair."""
    chances = np.zeros_like(means)
    for first in range(0, len(means), 2):
        pair = slice(first, first + 2)
        chances[pair, (weights[pair] @ means[pair]).argmax()] = 1.0
    return chances


def prefers(means: Floats, _weights: Floats, rng: np.random.Generator) -> Floats:
    """A favourite arm, unless another is better by 0.1 or more."""
    favourite = int(rng.integers(means.shape[1]))
    doubtful = means.max(axis=1) - means[:, favourite] < 0.1
    chosen = np.where(doubtful, favourite, means.argmax(axis=1))
    chances: Floats = (np.arange(means.shape[1]) == chosen[:, None]).astype(np.float64)
    return chances


def wrong_idea(means: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
    """The best arm by an idea of each mean that is off by a normal error of 0.15."""
    return perfect(means + rng.normal(0.0, 0.15, means.shape), weights, rng)


def bad_favourite(means: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
    """The arm that is worst on average in 60% of the cases, else the best one."""
    chances = 0.4 * perfect(means, weights, rng)
    chances[:, (weights @ means).argmin()] += 0.6
    return chances


def at_random(means: Floats, _weights: Floats, _rng: np.random.Generator) -> Floats:
    """Any arm, whatever the case is."""
    return np.full_like(means, 1.0 / means.shape[1])


EXPERTS: Mapping[str, Expert] = {
    "perfect": perfect,
    "errs 5%": functools.partial(errs, 0.05),
    "errs 20%": functools.partial(errs, 0.2),
    "partial information": partial,
    "prefers one arm in doubt": prefers,
    "wrong idea of each cell (0.15)": wrong_idea,
}
OTHERS: Mapping[str, Expert] = {"favourite is the worst arm": bad_favourite, "plays at random": at_random}


@dataclass(frozen=True, eq=False)
class World:
    """A world without its expert: the mean of each arm for each hidden type, and how common each type is."""

    means: Floats
    weights: Floats
    number: int
    seed: int

    @classmethod
    def drawn(cls, effect: float, number: int, seed: int) -> World:
        """A world from its number: the share `effect` of each mean is drawn anew for each type, uniformly."""
        rng = np.random.default_rng([seed, number])
        same, own = rng.random(ARMS), rng.random((TYPES, ARMS))
        weights = rng.exponential(size=TYPES)
        return cls((1.0 - effect) * same + effect * own, weights / weights.sum(), number, seed)

    @property
    def truth(self) -> Floats:
        """What each arm is worth to an agent, who sees no type."""
        truth: Floats = self.weights @ self.means
        return truth

    def log(self, expert: Expert, place: int) -> mb.logs.Counts:
        """The counts of the expert's log; rewards are 0 and 1."""
        rng = np.random.default_rng([self.seed, self.number, place + 1])
        played = self.weights[:, None] * expert(self.means, self.weights, rng)
        shares = np.stack([(played * (1.0 - self.means)).sum(axis=0), (played * self.means).sum(axis=0)], axis=1)
        rows = rng.multinomial(ROWS, shares.ravel() / shares.sum()).reshape(1, ARMS, 2).astype(np.float64)
        count, ones = rows.sum(axis=2), rows[..., 1]
        values = mb.logs.Histogram([0.0, 1.0], [0.0, 1.0], rows)
        names = list(range(ARMS))
        return mb.logs.Counts(["all"], names, count=count, total=ones, squares=ones, histogram=values, arms_listed=True)

    def regret(self, policy: mb.Policy, known: mb.Knowledge | mb.MeanBounds, runs: int) -> float:
        """Mean regret after all rounds; runs of a world have the same rewards whatever is known."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # means outside their bounds, which trust is for
            found = mb.simulate(
                {"own": policy},
                mb.Bernoulli(self.truth),
                known,
                horizon=ROUNDS,
                runs=runs,
                seed=int(np.random.default_rng([self.seed, self.number, 0]).integers(2**32)),
                checkpoints=[ROUNDS],
                workers=1,
                progress=False,
            )
        return float(found.final["own"].mean())


@dataclass(frozen=True)
class Size:
    """How much to play."""

    worlds: int
    runs: int
    seed: int

    def worlds_of(self, effect: str) -> list[World]:
        """The worlds in which hidden types matter so much."""
        return [World.drawn(EFFECTS[effect], number, self.seed) for number in range(self.worlds)]


Starts = Callable[[mb.logs.Counts], mb.Knowledge | mb.MeanBounds]
"""What an agent knows after a log."""


def _default(counts: mb.logs.Counts) -> mb.Knowledge:
    (known,) = knowledge_of(counts).values()
    return known


def _trusting(assumption: mb.logs.Assumption, trust: float, counts: mb.logs.Counts) -> mb.Knowledge:
    (known,) = knowledge_of(counts, assumption, trust=trust).values()
    return known


@functools.cache
def nothing(effect: str, size: Size) -> Floats:
    """The regret of Thompson sampling from nothing in each world."""
    vacuous = mb.MeanBounds.vacuous(ARMS)
    return np.array([world.regret(mb.ThompsonSampling(), vacuous, size.runs) for world in size.worlds_of(effect)])


def regrets(policy: mb.Policy, starts: Starts, effect: str, name: str, size: Size) -> Floats:
    """The regret of an agent in each world after the log of one kind of expert."""
    print(f"{effect}, {name}", file=sys.stderr, flush=True)
    every = {**EXPERTS, **OTHERS}
    place = list(every).index(name)
    return np.array(
        [world.regret(policy, starts(world.log(every[name], place)), size.runs) for world in size.worlds_of(effect)]
    )


def ratios(own: Floats, other: Floats) -> Floats:
    """The ratio of each world."""
    found: Floats = own / np.maximum(other, LEAST)
    return found


def _cells(own: Floats, other: Floats) -> list[str]:
    each = ratios(own, other)
    tail = f"{np.percentile(each, 99):.2f} ({each.max():.1f})"
    return [f"{other.mean():.1f}", f"{own.mean():.1f}", ratio_limits(own, other).share, tail]


_HEADER = ("hidden type matters, expert", "from nothing", "agent", "ratio", "99% (worst) of worlds")


def write_default(size: Size) -> str:
    """The default agent after each kind of expert, and whether it meets the goals."""
    rows, missed = [], []
    for effect in EFFECTS:
        for name in EXPERTS:
            own, other = regrets(POLICY, _default, effect, name, size), nothing(effect, size)
            rows.append([f"{effect}, {name}", *_cells(own, other)])
            if own.mean() > GOALS[effect] * other.mean():
                missed.append(f"{effect}, {name}: the ratio is above {GOALS[effect]:g}")
            if np.percentile(ratios(own, other), 99) > MOST:
                missed.append(f"{effect}, {name}: the 99th percentile is above {MOST:g}")
    goals = ", ".join(f"{goal:g} ({effect})" for effect, goal in GOALS.items())
    about = f"""`mb.logs.agent(counts)`: bounds that hold for any expert, a prior from what is judged, and `{POLICY}`.
    {size.worlds} worlds, {size.runs} runs in each. Mean regret after {ROUNDS:,} rounds of Thompson sampling from
    nothing and of the agent, the ratio of the two with 95% limits, and the 99th percentile over worlds of the ratio of
    the mean regrets in a world. Where Thompson sampling loses less than {LEAST:g} in a world, its regret counts as
    {LEAST:g} there. Goals: a ratio of at most {goals}, and a 99th percentile of at most {MOST:g}."""
    met = "All goals are met." if not missed else "Goals that are missed:\n\n" + items(missed)
    return f"{paragraph(about)}\n\n{table(_HEADER, rows)}\n\n{met}"


def write_others(size: Size) -> str:
    """The default agent after experts who know little or worse."""
    rows = []
    for effect in EFFECTS:
        for name in OTHERS:
            own, other = regrets(POLICY, _default, effect, name, size), nothing(effect, size)
            rows.append([f"{effect}, {name}", *_cells(own, other)])
    about = """The same after experts against whom the prior is wrong: one whose favourite is the worst arm, and one who
    plays at random."""
    return f"{paragraph(about)}\n\n{table(_HEADER, rows)}"


TRUSTED: Mapping[str, mb.logs.Assumption] = {
    "perfect": mb.logs.OptimalExpert(),
    "errs 5%": mb.logs.ErringExpert(0.05),
    "errs 20%": mb.logs.ErringExpert(0.2),
    "partial information": mb.logs.OptimalExpert(),
}
"""What is true of each of these experts."""


def write_trusting(size: Size) -> str:
    """Agents that trust the experts, where the hidden type matters little."""
    rows, missed, effect, optimal = [], [], "little", mb.logs.OptimalExpert()
    for name, true in TRUSTED.items():
        for assumption in dict.fromkeys((optimal, true)):
            for trust in (1.0, 0.99):
                starts = functools.partial(_trusting, assumption, trust)
                own, other = regrets(TRUSTING, starts, effect, name, size), nothing(effect, size)
                rows.append([f"{name}: `{assumption}`, {trust:g}", *_cells(own, other)])
                if assumption == optimal and own.mean() > TRUSTED_GOAL * other.mean():
                    missed.append(f"{name}, trust {trust:g}: the ratio is above {TRUSTED_GOAL:g}")
    about = f"""`mb.logs.agent(counts, assumption, trust=...)`, which plays `{TRUSTING}`, where the hidden type matters
    little: with the bounds of an expert who is always right, and with those that are true of the expert. {size.worlds}
    worlds, {size.runs} runs in each. Goal: a ratio of at most {TRUSTED_GOAL:g} with `{optimal}`, whoever of these the
    expert is."""
    met = "The goal is met." if not missed else "Missed:\n\n" + items(missed)
    return f"{paragraph(about)}\n\n{table(('expert: assumption, trust', *_HEADER[1:]), rows)}\n\n{met}"


SHARES = (0.5, 0.8, 0.95)


def inside(prior: mb.Prior, truth: Floats, share: float) -> Floats:
    """Whether each mean lies in the central interval of its prior that has this probability."""
    mean, strength = np.array(prior.mean), np.array(prior.strength)
    place = stats.beta.cdf(truth, mean * strength, (1.0 - mean) * strength)
    found: Floats = (np.abs(place - 0.5) <= 0.5 * share).astype(np.float64)
    return found


def write_calibration(size: Size) -> str:
    """How often true means lie in the central intervals of the priors, with the default limits and without."""
    rows = []
    for effect in EFFECTS:
        for place, (name, expert) in enumerate({**EXPERTS, **OTHERS}.items()):
            cells = []
            for strongest, wait in ((STRONGEST, WAIT), (1e6, np.inf)):
                hits = np.zeros(len(SHARES))
                for world in size.worlds_of(effect):
                    (prior,) = mb.logs.prior(world.log(expert, place), strongest=strongest, wait=wait).values()
                    hits += [inside(prior, world.truth, share).mean() for share in SHARES]
                cells += [" / ".join(f"{100.0 * hit:.0f}%" for hit in hits / size.worlds)]
            rows.append([f"{effect}, {name}", *cells])
    named = " / ".join(f"{100.0 * share:.0f}%" for share in SHARES)
    about = f"""How many of the true means lie in the central {named} intervals of `mb.logs.prior(counts)`: with its
    limits on the strength, and without them (`strongest=1e6, wait=inf`). More than the nominal share is careful, less
    is overconfident. {size.worlds} worlds of {ARMS} arms."""
    return f"{paragraph(about)}\n\n{table(('hidden type matters, expert', 'prior', 'without limits'), rows)}"


PARTS: Mapping[str, tuple[str, Callable[[Size], str]]] = {
    "a": ("The default agent", write_default),
    "b": ("Experts who are not experts", write_others),
    "c": ("Agents that trust the experts", write_trusting),
    "d": ("Is the prior right?", write_calibration),
}


def page(bodies: Mapping[str, str], seed: int) -> str:
    """The page, from its parts."""
    about = f"""Made-up worlds with {TYPES} hidden types of cases and {ARMS} arms. A share of each arm's mean is the
    same for all types, and the rest is drawn for each type, both uniformly; that rest is
    {", ".join(f"{effect:g} ({name})" for name, effect in EFFECTS.items())}. An expert who knows the types, more or
    less, writes a log of {ROWS:,} rows with rewards of 0 and 1. An agent, who sees no type, starts from it. Defaults
    were chosen on other seeds, except that arms of a single context do not share their trust: these worlds were looked
    at for that. Written by `python -m benchmarks.agents_of_logs --worlds 200 --runs 20` on {today()} with meanbounds
    {mb.__version__}, seed {seed}."""
    kinds = items(f"**{name}**: {_doc(expert)}" for name, expert in {**EXPERTS, **OTHERS}.items())
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in bodies.items())
    return f"# What an agent that starts from a log loses\n\n{paragraph(about)}\n\n{kinds}\n\n{body}\n"


def _doc(expert: Expert) -> str:
    said = (expert.func if isinstance(expert, functools.partial) else expert).__doc__ or ""
    return said.splitlines()[0][:1].lower() + said.splitlines()[0][1:]


def main(arguments: Sequence[str] | None = None) -> None:
    """Play some parts, print them, and write the page if all of 200 worlds were played."""
    parser = argparse.ArgumentParser(description="Agents that start from logs of experts, into docs/agents_of_logs.md.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="which parts; all by default")
    parser.add_argument("--worlds", type=int, default=24, help="of each kind; 200 write the page")
    parser.add_argument("--runs", type=int, default=4, help="in each world; 20 for the page")
    parser.add_argument("-o", "--output", type=Path, help="the page to write; docs/agents_of_logs.md if all is played")
    parser.add_argument("--kept", type=Path, help="folder of parts that were played before, and that are kept there")
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the worlds; by the release by default")
    given = parser.parse_args(arguments)
    size, bodies = Size(given.worlds, given.runs, given.seed), {}
    for letter in given.parts or PARTS:
        title, write = PARTS[letter]
        name = f"{letter}-{size.worlds}-{size.runs}-{size.seed}"
        bodies[title] = kept_part(given.kept, name, functools.partial(write, size))
        print(f"## {title}\n\n{bodies[title]}\n", flush=True)
    whole = given.worlds == 200 and given.runs == 20 and not given.parts
    output = given.output or (PAGE if whole else None)
    if output is not None:
        write_text_atomically(output, page(bodies, given.seed))


if __name__ == "__main__":
    main()
