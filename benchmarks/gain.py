"""What bounds are worth to each policy, and where they hurt: paired runs with the bounds and without.

`python -m benchmarks.gain` prints the tables and writes docs/gain.md; `--share 0.1` plays a tenth of the worlds and
runs. Letters after it choose the parts: `python -m benchmarks.gain a b`. Slow policies play few of the drawn worlds;
`python -m benchmarks.gain b --policies IDS --every-world` lets them play in each, with fewer runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import meanbounds as mb
from benchmarks.contenders import COUNTERPARTS, FEWEST_RUNS, contenders, slow_ones
from benchmarks.estimates import mean_limits, ratio_limits
from benchmarks.pages import paragraph, table, today
from benchmarks.played import Played, Setting, drawn, play, release_seed, scaled
from meanbounds.paper.verdicts import LEVEL, by_chance
from meanbounds.policies.exploration import DEFAULT, EXPLORATION
from meanbounds.simulation.pairs import sign_test
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_text_atomically
from meanbounds.worlds.kinds import KINDS, World, instance_worlds

PAGE = Path(__file__).parents[1] / "docs" / "gain.md"
MUCH = 1.1  # times the regret that matters beyond doubt

CASES: Mapping[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[int, ...]]] = {
    "caps that tie": ((0.99, 0.9), (0.0, 0.0), (1.0, 1.0), (1_000, 10_000, 100_000)),
    "a loose cap on the worse arm": ((0.85, 0.80), (0.84, 0.79), (0.86, 0.90), (1_000, 5_000, 20_000)),
    "a loose cap on the better arm": ((0.85, 0.88), (0.84, 0.79), (0.86, 0.90), (1_000, 5_000, 20_000)),
    "a cap just above a near tie": ((0.52, 0.50), (0.0, 0.49), (0.525, 0.51), (1_000, 10_000)),
    "a cap just above the better arm": ((0.361, 0.444), (0.337, 0.239), (0.53, 0.448), (1_000, 3_000)),
}
"""Means, lower and upper bounds, and rounds to look at."""


@dataclass(frozen=True)
class Part:
    """A part of the page: a letter, the settings to play in, and how to write about them."""

    title: str
    settings: Callable[[int], list[Setting]]  # by the seed
    write: Callable[[Sequence[Played]], str]
    policies: Mapping[str, mb.Policy] | None = None  # all by default


def _kind(name: str, worlds: int, runs: int, rounds: tuple[int, ...], seed: int) -> list[Setting]:
    kind = KINDS[name]
    chosen = drawn(functools.partial(kind.world, seed), worlds)
    return [Setting(name, kind.about, chosen, runs, rounds, spare="worlds")]


def _instances(_seed: int) -> list[Setting]:
    return [
        Setting(world.name, "", [world], 200, (20_000,), drawn=False, spare="nothing") for world in instance_worlds()
    ]


def _cases(_seed: int) -> list[Setting]:
    return [
        Setting(name, "", [World(name, mb.Bernoulli(means), mb.MeanBounds(lower, upper))], 200, rounds, drawn=False)
        for name, (means, lower, upper, rounds) in CASES.items()
    ]


def _distinct(played: Played) -> list[str]:
    """Policies without the variants that played as the plain policy did."""
    return [
        label
        for label in played.labels
        if (base := label.partition("(")[0]) == label
        or base not in played.labels
        or not np.array_equal(played.informed[label], played.informed[base])
    ]


def _using_bounds(played: Played) -> list[str]:
    """Policies whose runs the bounds changed."""
    return [label for label in _distinct(played) if not np.array_equal(played.informed[label], played.plain[label])]


def _counterparts(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Policies with bounds beside the classical ones that they come from."""
    return [(label, COUNTERPARTS[label]) for label in labels if label in COUNTERPARTS]


def _worse(played: Played, label: str, rounds: int, than: str | None = None) -> str:
    """In which share of worlds bounds make a policy significantly worse; in brackets, and by a tenth or more."""
    size, runs = played.at(label, rounds).shape
    if runs < FEWEST_RUNS:
        return "too few runs"
    found = played.worse(label, rounds, than).values()
    much = sum(one > MUCH * other for one, other in found)
    return f"{100.0 * len(found) / size:.1f}% ({100.0 * much / size:.1f}%)"


def _p(value: float) -> str:
    return "1" if value > 0.95 else f"{value:.1g}"


def _pair_row(first: Floats, second: Floats) -> list[str]:
    """Two totals, their ratio, and exact tests of both orders over worlds."""
    less, more = sign_test(first, second), sign_test(second, first)
    pairs = f"{less.won} / {more.won}"
    return [
        *(f"{less.first:.1f}", f"{less.second:.1f}", ratio_limits(first, second).share, pairs),
        _p(min(1.0, 2.0 * min(less.p_value, more.p_value))),
    ]


def write_log(results: Sequence[Played]) -> str:
    """With the bounds of an expert's log against without, for each policy and its classical counterpart."""
    played = results[0]
    last = played.setting.rounds[-1]
    order = sorted(_using_bounds(played), key=lambda label: float(played.at(label, last).mean()))
    rows = [
        [label, *_pair_row(*played.pair((label, True), (label, False), last)), _worse(played, label, last)]
        for label in order
    ]
    counterparts = [
        [
            f"{label} / {plain}",
            *_pair_row(*played.pair((label, True), (plain, True), last)),
            _worse(played, label, last, plain),
        ]
        for label, plain in _counterparts(order)
    ]
    header = ["policy", "with", "without", "ratio", "less / more", "p", "worse in"]
    about = paragraph(
        f"""{played.setting.about} {_many(played)} Mean regret after {last:,} rounds with the bounds and without them,
        their ratio with 95% limits, the worlds in which there was less and more with the bounds, the p-value of the
        exact two-sided sign test over worlds, and the share of worlds in which the runs show that the bounds hurt (see
        below)."""
    )
    beside = paragraph("Policies with bounds against the classical policy that each comes from:")
    return f"{about}\n\n{table(header, rows)}\n\n{beside}\n\n{table(header, counterparts)}"


def _many(played: Played) -> str:
    setting = played.setting
    return f"{len(setting.worlds)} worlds, {setting.runs} runs in each."


def write_random(results: Sequence[Played]) -> str:
    """The share of random worlds in which bounds hurt."""
    played = results[0]
    size, rounds = len(played.setting.worlds), played.setting.rounds
    about = paragraph(
        f"""{played.setting.about} {_many(played)} "Worse" is the share of worlds in which bounds make a policy
        significantly worse than without them: more regret in the mean, and in an exact one-sided sign test over the
        paired runs of the world at level {LEVEL}; in brackets, the share in which it is worse by a tenth or more as
        well. Each test is made once for each world and policy, so that by chance alone up to {100.0 * LEVEL:.1f}% would
        be found ({LEVEL * size:.1f} of {size}); {_limit(size)} or more would be found by chance in at most one of a
        thousand such tables. "Ratio" is the regret with bounds over that without, summed over all worlds."""
    )
    header = ["policy", *(part for t in rounds for part in (f"worse, {t:,}", f"ratio, {t:,}"))]
    labels = _using_bounds(played)
    own = [[label, *_columns(played, label, None)] for label in labels]
    beside = [[f"{label} / {plain}", *_columns(played, label, plain)] for label, plain in _counterparts(labels)]
    where = "\n".join(f"- {_where(played, label)}" for label in labels)
    return f"{about}\n\n{table(header, own + beside)}\n\nWhere, after {rounds[-1]:,} rounds:\n\n{where}"


def _limit(size: int) -> int:
    """The least number of worlds that chance alone finds in at most one of a thousand tables."""
    return next(count for count in range(size + 2) if by_chance(count, size) <= LEVEL or count > size)


def _columns(played: Played, label: str, than: str | None) -> list[str]:
    other = (label, False) if than is None else (than, True)
    found = []
    for rounds in played.setting.rounds:
        ratio = ratio_limits(*played.pair((label, True), other, rounds))
        found += [_worse(played, label, rounds, than), ratio.share]
    return found


def _where(played: Played, label: str) -> str:
    """Which kinds of bounds make a policy worse, and the largest increase."""
    found = played.worse(label, played.setting.rounds[-1])
    if not found:
        return f"{label}: nowhere."
    kinds = Counter(name.rpartition(" ")[0] for name in found)
    name, (with_bounds, without) = max(found.items(), key=lambda one: one[1][0] - one[1][1])
    counted = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f"{label}: {counted}; the most in world {name}, {with_bounds:.1f} against {without:.1f}."


def write_instances(results: Sequence[Played]) -> str:
    """Mean regret over that of B-KL-UCB, and the 95th percentile over that of Thompson sampling."""
    rows = []
    for label in _distinct(results[0]):
        row = [label]
        for played in results:
            (last,) = played.setting.rounds
            own, kl, best = (played.at(name, last) for name in (label, "BKLUCB", "ThompsonSampling"))
            tail = _share(np.percentile(own, 95), np.percentile(best, 95))
            row.append(f"{own.mean():.1f}: {_share(own.mean(), kl.mean())}, {tail}")
        rows.append(row)
    rows.sort(key=lambda row: float(row[1].partition(":")[0]))
    about = paragraph(
        f"""`mb.INSTANCES`, {results[0].setting.runs} runs of {results[0].setting.rounds[-1]:,} rounds for every policy.
        Mean regret, its share of B-KL-UCB's, and the 95th percentile as a share of that of ThompsonSampling."""
    )
    return f"{about}\n\n{table(['policy', *(played.setting.name for played in results)], rows)}"


def _share(first: np.floating, second: np.floating) -> str:
    return f"{first / second:.2f}" if second > 0.0 else "-"


def write_cases(results: Sequence[Played]) -> str:
    """Regret in each of the small cases, with bounds and without."""
    parts = []
    for played in results:
        name, rounds = played.setting.name, played.setting.rounds
        means, lower, upper, _ = CASES[name]
        known = ", ".join(f"[{low:g}, {high:g}]" for low, high in zip(lower, upper, strict=True))
        about = f"Means {' and '.join(f'{mean:g}' for mean in means)}, bounds {known}: {name}."
        rows = [
            [label, *(str(mean_limits(played.at(label, t), False)) for t in rounds), _without(played, label)]
            for label in _distinct(played)
        ]
        header = ["policy", *(f"{t:,}" for t in rounds), "no bounds"]
        parts.append(f"{about}\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def _without(played: Played, label: str) -> str:
    """Regret without the bounds at each checkpoint."""
    if np.array_equal(played.informed[label], played.plain[label]):
        return "same"
    return " / ".join(f"{played.at(label, t, False).mean():.0f}" for t in played.setting.rounds)


def _power(share: float, rounds: Floats) -> Floats:
    """The default f to a power, so that its logarithm is multiplied by it."""
    found: Floats = EXPLORATION[DEFAULT](rounds) ** share
    return found


SHARES: Mapping[str, mb.Policy] = {
    "none": mb.ThompsonSampling(settle=False),
    "half": mb.ThompsonSampling(f=functools.partial(_power, 0.5)),
    "default": mb.ThompsonSampling(),
    "twice": mb.ThompsonSampling(f=functools.partial(_power, 2.0)),
}
"""Thompson sampling that settles for a multiple of the default time."""


def write_shares(results: Sequence[Played]) -> str:
    """Regret by how long a leader settles, for each variant of random bounds."""
    rows = []
    for played in results:
        kinds = [world.name.rpartition(" ")[0] if played.setting.drawn else "" for world in played.setting.worlds]
        for kind in dict.fromkeys(kinds):
            own = np.array([other == kind for other in kinds])
            means = [
                [f"{played.at(label, rounds)[own].mean():.1f}" for rounds in played.setting.rounds] for label in SHARES
            ]
            rows.append([kind or played.setting.name, *(" / ".join(mean) for mean in means)])
    rounds = " / ".join(f"{t:,}" for t in results[0].setting.rounds)
    about = paragraph(
        f"""How long `ThompsonSampling` settles: not at all, or until the evidence against the leader reaches half of
        the default level, the default, or twice as much (docs/settling.md has the rule). {_many(results[0])} Mean
        regret after {rounds} rounds by the kind of bounds."""
    )
    return f"{about}\n\n{table(['bounds', *SHARES], rows)}"


PARTS: Mapping[str, Part] = {
    "a": Part("After an expert's log", functools.partial(_kind, "expert's log", 200, 16, (5_000,)), write_log),
    "b": Part(
        "Random bounds that hold", functools.partial(_kind, "random bounds", 500, 40, (1_000, 10_000)), write_random
    ),
    "c": Part("The instances", _instances, write_instances),
    "d": Part("Small cases in which bounds can hurt", _cases, write_cases),
    "e": Part(
        "How long to settle",
        functools.partial(_kind, "random bounds", 240, 20, (1_000, 10_000)),
        write_shares,
        SHARES,
    ),
}


def measure(
    letters: Sequence[str], share: float, seed: int, policies: Mapping[str, mb.Policy], every_world: bool = False
) -> dict[str, str]:
    """The text of each part, printed as soon as it is known."""
    found = {}
    for letter in letters:
        part = PARTS[letter]
        settings = [scaled(setting, share) for setting in part.settings(seed)]
        if every_world:
            settings = [dataclasses.replace(setting, spare="runs") for setting in settings]
        results = [play(setting, part.policies or policies, seed) for setting in settings]
        found[part.title] = part.write(results)
        print(f"## {part.title}\n\n{found[part.title]}\n", flush=True)
    return found


def page(parts: Mapping[str, str], seed: int) -> str:
    """The page, from its parts."""
    about = f"""Every policy with bounds and without, on the same rewards. Without bounds a policy knows the ranges of
    the rewards alone. Written by `make gain` on {today()} with meanbounds {mb.__version__}, seed {seed}. Policies that
    ignore bounds are left out where they are compared with themselves. {slow_ones(contenders(), "drawn worlds")}"""
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items())
    return f"# What bounds are worth\n\n{paragraph(about)}\n\n{body}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Play some parts, print them, and write the page if all were played."""
    parser = argparse.ArgumentParser(description="Every policy with bounds and without them, into docs/gain.md.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="which parts; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="share of the worlds and runs to play")
    parser.add_argument("--policies", nargs="*", choices=[*contenders()], help="labels of policies; all by default")
    parser.add_argument("--every-world", action="store_true", help="slow policies play fewer runs, but in every world")
    parser.add_argument("-o", "--output", type=Path, help="the page to write; docs/gain.md if everything is played")
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the worlds; by the release by default")
    given = parser.parse_args(arguments)
    letters = given.parts or list(PARTS)
    policies = {label: own for label, own in contenders().items() if given.policies is None or label in given.policies}
    text = page(measure(letters, given.share, given.seed, policies, given.every_world), given.seed)
    whole = letters == list(PARTS) and given.share == 1.0 and given.policies is None and not given.every_world
    output = given.output or (PAGE if whole else None)
    if output is not None:
        write_text_atomically(output, text)


if __name__ == "__main__":
    main()
