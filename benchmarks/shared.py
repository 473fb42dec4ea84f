"""What it is worth that bounds of many contexts rest on one assumption, and stand or fall together.

`python -m benchmarks.shared` plays 20 contexts and prints the tables; `--contexts 200` plays the page and writes
docs/shared.md. Letters after it choose the parts: `python -m benchmarks.shared a`.
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import meanbounds as mb
from benchmarks.doubt import CASES, MEANS, RIGHT, WRONG
from benchmarks.pages import kept_part, paragraph, table, table_rows, today
from benchmarks.played import release_seed
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_text_atomically

PAGE = Path(__file__).parents[1] / "docs" / "shared.md"
ASSUMPTION = "the expert is optimal"
TRUSTS = (0.99, 0.9)
POLICIES: Mapping[str, mb.Policy] = {
    "Thompson": mb.ThompsonSampling(),
    "BIMED": mb.BIMED(),
    "Gittins": mb.OptimisticGittins(),
    "MINTS": mb.MINTS(),
    "B-KL-UCB": mb.BKLUCB(),
    "GLUE": mb.GLUE(),
}


@dataclass(frozen=True)
class World:
    """Contexts with the same means; bounds are right or wrong in one way, or wrong in some contexts alone.

    Attributes
    ----------
    case
        The bounds, by their name in `benchmarks.doubt.CASES`.
    contexts, rounds
        How many contexts there are, and how many decisions on average in each; they come in random order.
    wrong
        In how many contexts the bounds are those of the case; all by default. The others have right bounds.
    mixed
        Whether arms are in another order in each context, so that no arm is the best one in all.
    """

    case: str
    contexts: int
    rounds: int
    wrong: int | None = None
    mixed: bool = False

    def arms(self, seed: int) -> list[tuple[Floats, mb.MeanBounds]]:
        """The means and the bounds of each context."""
        generator, made = np.random.default_rng([seed, 1]), []
        for number in range(self.contexts):
            right = self.wrong is not None and number >= self.wrong
            lower, upper = (np.array(side) for side in CASES[RIGHT[1] if right else self.case])
            order = generator.permutation(len(MEANS)) if self.mixed else np.arange(len(MEANS))
            made.append((np.array(MEANS)[order], mb.MeanBounds(lower[order], upper[order])))
        return made


def regret(policy: mb.Policy, world: World, trust: float, assumption: str | None, seed: int, parts: int = 1) -> Floats:
    """The regret of each context, after each of some equal parts of the decisions: parts x contexts.

    The n-th reward of an arm in a context is the same whatever the policy and the trust are.
    """
    arms, generator = world.arms(seed), np.random.default_rng([seed, 2])
    known = {
        number: mb.Knowledge(bounds, trust=trust, assumption=assumption) for number, (_, bounds) in enumerate(arms)
    }
    agent = mb.ContextualAgent(policy, known, seed=seed)
    visits = generator.integers(0, world.contexts, world.contexts * world.rounds).tolist()
    most = max(np.bincount(visits, minlength=world.contexts))
    rewards = [(generator.random((len(MEANS), most)) < means[:, None]).astype(np.float64) for means, _ in arms]
    lost, played = np.zeros(world.contexts), np.zeros((world.contexts, len(MEANS)), dtype=np.int64)
    gaps, curve = [(max(means) - means).tolist() for means, _ in arms], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.evidence.ContradictionWarning)
        warnings.simplefilter("ignore", mb.evidence.AssumptionWarning)
        for part in np.array_split(np.array(visits), parts):
            for context in part.tolist():
                arm = int(agent.pull(context))
                agent.update(context, arm, float(rewards[context][arm, played[context, arm]]))
                played[context, arm] += 1
                lost[context] += gaps[context][arm]
            curve.append(lost.copy())
    return np.array(curve)


@functools.cache
def _from_nothing(policy: mb.Policy, world: World, seed: int) -> float:
    return float(regret(policy, world, 0.0, None, seed)[-1].mean())


def excess(policy: mb.Policy, world: World, trust: float, seed: int) -> tuple[float, float, float]:
    """Regret from nothing, and what separate and shared trust lose beyond it: means over contexts."""
    nothing = _from_nothing(policy, world, seed)
    separate = regret(policy, world, trust, None, seed)[-1].mean()
    shared = regret(policy, world, trust, ASSUMPTION, seed)[-1].mean()
    return nothing, float(separate - nothing), float(shared - nothing)


def excess_rows(
    worlds: Sequence[World], label: str, policy: mb.Policy, contexts: int, rounds: int, seed: int
) -> list[list[str]]:
    """What separate and shared trust lose in each of some worlds, with so many contexts and rounds."""
    rows = []
    for trust in TRUSTS:
        cells = []
        for world in worlds:
            nothing, separate, shared = excess(policy, replace(world, contexts=contexts, rounds=rounds), trust, seed)
            share = f"{100.0 * shared / separate:.1f}%" if separate > 1.0 else "-"
            cells.append(f"{nothing:.1f}: {separate:+.2f}, {shared:+.2f} ({share})")
        rows.append([f"{label}, {trust:g}", *cells])
    return rows


def one_wrong_rows(label: str, policy: mb.Policy, contexts: int, rounds: int, seed: int) -> list[list[str]]:
    """Bounds that are wrong in one context: what it loses, and what the others do."""
    rows, world = [], World("best arm pruned", contexts, rounds, wrong=1)
    for trust in TRUSTS:
        found = [regret(policy, world, p, name, seed)[-1] for p, name in ((0.0, None), (trust, None))]
        found.append(regret(policy, world, trust, ASSUMPTION, seed)[-1])
        alone = ", ".join(f"{own[0]:.1f}" for own in found)
        rest = ", ".join(f"{own[1:].mean():.2f}" for own in found)
        rows.append([f"{label}, {trust:g}", alone, rest])
    return rows


@dataclass(frozen=True)
class Part:
    """A part of the page: what it is about, its columns, and the rows of a policy."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Callable[[str, mb.Policy, int, int, int], Sequence[Sequence[str]]]


_CELLS = """Each cell: mean regret from nothing in a context, then what separate and what shared trust lose beyond it
(and the second as a share of the first, where separate trust loses more than 1)."""

PARTS: Mapping[str, Part] = {
    "a": Part(
        "Wrong everywhere",
        f"The bounds of all contexts are wrong in the same way. {_CELLS}",
        WRONG,
        functools.partial(excess_rows, [World(case, 0, 0) for case in WRONG]),
    ),
    "b": Part(
        "Wrong everywhere, each time for another arm",
        f"""The same where the arms of each context are in an order of their own, so that no arm is best, or has wrong
        bounds, everywhere. {_CELLS}""",
        WRONG,
        functools.partial(excess_rows, [World(case, 0, 0, mixed=True) for case in WRONG]),
    ),
    "c": Part(
        "Right everywhere",
        f"Right bounds everywhere: less than 0 is what bounds save. {_CELLS}",
        RIGHT,
        functools.partial(excess_rows, [World(case, 0, 0) for case in RIGHT]),
    ),
    "d": Part(
        "Wrong in one context",
        """The best arm is pruned in one context; three of five arms are pruned rightly in the others. Mean regret from
        nothing, with separate trust and with shared trust.""",
        ("the wrong context", "each of the others"),
        one_wrong_rows,
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Play some parts, print them, and write the page if all of 200 contexts were played."""
    parser = argparse.ArgumentParser(description="What shared trust costs and saves, into docs/shared.md.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="which parts; all by default")
    parser.add_argument("--contexts", type=int, default=20, help="how many; 200 write the page")
    parser.add_argument("--rounds", type=int, default=1_000, help="decisions in each context, on average")
    parser.add_argument("--policies", nargs="*", choices=[*POLICIES], default=[*POLICIES])
    parser.add_argument("-o", "--output", type=Path, help="the page to write; docs/shared.md if everything is played")
    parser.add_argument("--kept", type=Path, help="folder of parts that were played before, and that are kept there")
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the rewards; by the release by default")
    given = parser.parse_args(arguments)
    policies = {label: POLICIES[label] for label in given.policies}
    bodies, size = {}, (given.contexts, given.rounds, given.seed)
    for letter in given.parts or PARTS:
        part = PARTS[letter]
        lines = [table(["policy, trust", *part.columns], [])]
        for label, policy in policies.items():
            print(letter, label, file=sys.stderr, flush=True)
            rows = functools.partial(_rows, part, label, policy, *size)
            lines.append(kept_part(given.kept, "-".join([letter, *map(str, size), label]), rows))
        bodies[part.title] = "\n".join([paragraph(part.about), "", *lines])
    command = ["python -m benchmarks.shared", *given.parts, f"--contexts {given.contexts}"]
    if len(policies) < len(POLICIES):
        command.append(f"--policies {' '.join(policies)}")
    about = f"""Bounds of many contexts that rest on one assumption, with trust in each arm's bounds by themselves and
    with trust that is shared; docs/trust.md says what that is. {given.contexts} contexts, {given.rounds:,} decisions in
    each on average, in random order; five arms with means {", ".join(f"{mean:g}" for mean in MEANS)} and rewards of 0
    and 1. Written by `{" ".join(command)}` on {today()} with meanbounds {mb.__version__}, seed {given.seed}."""
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in bodies.items())
    text = f"# What shared trust costs and saves\n\n{paragraph(about)}\n\n{body}\n"
    print(text)
    whole = given.contexts == 200 and not given.parts and len(policies) == len(POLICIES)
    output = given.output or (PAGE if whole else None)
    if output is not None:
        write_text_atomically(output, text)


def _rows(part: Part, label: str, policy: mb.Policy, contexts: int, rounds: int, seed: int) -> str:
    return table_rows(part.rows(label, policy, contexts, rounds, seed))


if __name__ == "__main__":
    main()
