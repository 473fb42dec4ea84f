"""Replace the experts of two real trials by agents: does the promise hold, and what is gained or lost by it?

Usage: ``python -m benchmarks.trials --gusto FILE --stroke FILE``, the user's own files (Parquet or CSV): GUSTO-I as in
the R package predtools, and the International Stroke Trial, version 2. A trial without a file is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.simulation import HiddenContexts
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Booleans, Floats

ROOT, ROWS, STEP, SEED = Path(__file__).parent.parent, (20_000, 5000), 100, 1
HEAD = """# Two real trials

Agents replace experts who see more than a log records. The chance of each outcome, by option, age and severity, is that
of a randomised trial; only experts see severity (Killip class, consciousness). What is best in a small group is partly
chance, and here the truth. Experts choose *right*; *err in 20%*, and take any; by *habit* take the worst on average in
60%; follow *wrong ideas*, guesses off by 0.15; or *reserve the best* for the sicker (90% of these, 60% of others). Each
age has its own agent and budget, at 95%. Gains are sums over ages, with a standard error. *Worst moment*: how far below
the experts any run ever was. *Broken*: for how many runs and ages the sum of means was ever below the promise. Negative
numbers are harm: where experts are right, agents do harm as long as they run, and only a total ends it, with nearly all
gain. A share of failures limits little where failures are common, as after a stroke. A point of outcome is one patient
who recovered in place of one who died; others count between. In short: no run broke a promise; experts who can be
beaten are beaten, later than without a promise; and where they cannot, a promise that binds keeps the harm small.
Stroke data: Sandercock, Niewada and Czlonkowska (2011), doi 10.7488/ds/104.

![Gain on the experts over time](images/trials.png)
"""
COLUMNS = "## Age and blood pressure as numbers"  # this part of the page is written by `benchmarks.numeric`
EXPERTS = ("right", "err in 20%", "habit", "wrong ideas", "reserve the best")
KEPT = {"margin 0.01": (0.01,), "14% of failures": (None, None, 0.14), "14%, 30 in total": (None, None, 0.14, 30.0)}
PROMISES = {"at least 98%": mb.Promise(at_least=0.98)} | {name: mb.Promise(*given) for name, given in KEPT.items()}
AGENTS = {"no log, no promise": None, "log, no promise": None} | PROMISES
LATE = {"all 500 late": (500, 500), "bad at once, good 500 late": (0, 500), "good at once, bad 500 late": (500, 0)}
SHIPPED = ("stroke",)  # trials whose licence lets tables of their data be published
TITLES = {"gusto": "GUSTO-I, three drugs for a heart attack", "stroke": "Stroke trial, aspirin or none"}
UNITS = {"gusto": "deaths averted", "stroke": "points of outcome gained"}
AGES = "case when {0} < {1} then 'under {1}' when {0} < {2} then '{1} to {3}' else '{2} or more' end"
QUERIES = {
    "gusto": f"{AGES.format('age', 60, 75, 74)}, replace(Killip, 'IV', 'III'), tx, 1.0 - day30 from '{{}}'",
    "stroke": f"{AGES.format('AGE', 70, 80, 79)}, RCONSC, replace(replace(RXASP, 'N', 'none'), 'Y', 'aspirin'), "
    "(OCCODE - 1) / 3.0 from '{}' where OCCODE between 1 and 4",
}


def choices_of(means: Floats, average: Floats, guess: Floats, sicker: Booleans) -> dict[str, Floats]:
    """The probability of each option in each kind of case, by kind of experts."""
    size = means.shape[-1]
    right, best, worst = (np.eye(size)[own] for own in (means.argmax(axis=-1), average.argmax(), average.argmin()))
    most = np.where(sicker, 0.9, 0.6)[..., None]
    return {
        "right": right,
        "err in 20%": 0.8 * right + 0.2 / size,
        "habit": 0.4 * right + 0.6 * worst,
        "wrong ideas": np.eye(size)[guess.argmax(axis=-1)],
        "reserve the best": np.where(best > 0.0, most, (1.0 - most) / (size - 1)),
    }


class Trial:
    """The cases of a trial, and how experts of each kind choose who see what is hidden."""

    def __init__(self, name: str, file: str) -> None:
        rows: Any = duckdb.sql(f"select {QUERIES[name]}".format(file.replace("'", "''")))
        visible, hidden, arms, rewards = zip(*sorted(rows.fetchall()), strict=True)
        cases = self.cases = HiddenContexts.from_trial(visible, hidden, arms, np.array(rewards, dtype=np.float64))
        self.shares = cases.probabilities.sum(axis=1)  # of each age
        self.truth = self.shares @ cases.marginal_means
        guess = cases.means + np.random.default_rng(3).normal(0.0, 0.15, cases.means.shape)
        kinds = cases.means.mean(axis=2)
        sicker = kinds < (cases.hidden_given_visible * kinds).sum(axis=1, keepdims=True)
        choices = choices_of(cases.means, self.truth, guess, sicker)
        joint = {k: np.einsum("zu,zuk,zukv->zkv", cases.probabilities, c, cases.law) for k, c in choices.items()}
        self.choices, self.joint = choices, joint

    def law(self, experts: str) -> Floats:
        """How likely each reward is, for each option and for the experts: (visible, arms + 1, values)."""
        options = np.einsum("zu,zukv->zkv", self.cases.hidden_given_visible, self.cases.law)
        asked = self.joint[experts].sum(axis=1, keepdims=True)
        return np.concatenate([options, asked / asked.sum(axis=2, keepdims=True)], axis=1)

    def log(self, experts: str, rows: int, rng: np.random.Generator) -> mb.logs.Counts:
        """A log of the experts, with the age and without what is hidden."""
        cases, joint, values = self.cases, self.joint[experts], self.cases.values[0]
        cells = rng.multinomial(rows, joint.ravel() / joint.sum()).reshape(joint.shape).astype(np.float64)
        return mb.logs.Counts(cases.contexts, cases.arms, cells.sum(axis=2), cells @ values, cells @ values**2)


@dataclass(frozen=True, repr=False)
class OwnBound(mb.policies.Guarded):
    """The guard, but a reward that has not come counts as its option's lower bound: right if delays tell nothing."""

    def account(self, known: Known, seen: Seen, cache: Any = None, more: float = 0.0) -> Floats:
        """What is pending leaves the sums, and lowers what is needed by what it is certain to earn."""
        table = super().account(known, seen, cache, more)
        if seen.actual.pending is not None:
            table[2] = table[1]
            table[3:] -= (seen.actual.pending * self._limits(known)[2]).sum(axis=1)
        return table


@dataclass
class Played:
    """What came of runs with all experts."""

    gain: Floats  # on the experts by STEP decisions, all ages together: (experts, runs, steps)
    broken: Booleans  # whether the promise ever was: (experts, runs, ages)
    asked: Floats  # the share of questions: (experts,)


Results = dict[tuple[str, str, int, str], Played]  # by trial, agent, rows of the log, delay


def play(
    trial: Trial, name: str, rows: int, runs: int, decisions: int, late: Any = None, own: bool = False, **settings: Any
) -> Played:
    """Play runs of an agent, each with a log of its own. `late` is by how much bad and good rewards are."""
    rng, promise, cases = np.random.default_rng(SEED), AGENTS[name], trial.cases
    knowledge, eligible, bare = [], [], name.startswith("no log")
    for kind in np.repeat(EXPERTS, runs):
        agent = mb.logs.agent(trial.log(kind, rows, rng), promise=promise, seed=0, **settings)
        for age in cases.contexts:
            knowledge.append(mb.Knowledge(mb.MeanBounds.vacuous(agent.arms)) if bare else agent.knowledge(age))
            eligible.append([bare or arm not in agent.forbidden(age) for arm in agent.arms])
    policy: Any = agent.policy
    policy = OwnBound(policy.base, policy.promise, policy.confidence) if own else policy
    known, law = Known.of(knowledge).among(np.array(eligible)), [np.tile(trial.law(k), (runs, 1, 1)) for k in EXPERTS]
    values, size, ends = cases.values[0], len(cases.arms), np.concatenate(law).cumsum(axis=2)
    means, row, nothing = np.concatenate(law) @ values, np.arange(len(ends)), np.zeros(len(ends))
    shares = np.tile(trial.shares, len(EXPERTS) * runs)[:, None]
    rounds = np.rint(shares[:, 0] * decisions).astype(np.int64)
    delays = np.rint(shares * ((0, 0) if late is None else late)).astype(np.int64)
    keys, draws, roundings = (stream(SEED, row, "policy"), *(stream(SEED + n, row, "rewards") for n in range(2)))
    horizon, seen, pulls = int(rounds.max()), Seen.empty(*means.shape), np.zeros(means.shape)
    gains, chosen, got = (np.zeros((horizon + 1, len(row)), kind) for kind in (np.float32, np.int64, np.float64))
    broken, cache, value, earned, asked = nothing > 0.0, dict[str, Any](), means[:, size], *np.zeros((2, len(row)))
    for t in range(1, horizon + 1):
        if late is not None:
            seen.pending = pulls - seen.plays
        clock = np.full(1, float(t)) if late is None else seen.plays.sum(axis=1) + 1.0
        arms = chosen[t] = choose(policy, known, seen, clock, Draws(keys, t - 1), cache)
        got[t] = values[(uniform(draws, t)[:, None] > ends[row, arms, :-1]).sum(axis=1)]
        pulls[row, arms] += 1.0
        earned += means[row, arms]
        gains[t], asked = earned - t * value, asked + (arms == size) * (t <= rounds)
        for side in (0, 1):  # bad rewards that come now, and good ones
            when = np.maximum(t - delays[:, side], 0)
            some = np.flatnonzero((when > 0) & ((got[when, row] > 0.5) == side))
            seen.add(some, chosen[when, row][some], got[when, row][some], uniform(roundings, t)[some])
        if promise is not None:
            allowed = np.min(promise.budgets(value, nothing + t, nothing, nothing + 1.0), axis=0)
            broken |= (t * value - allowed - earned > 1e-7) & (t <= rounds)
    moments = np.rint(np.arange(STEP, decisions + 1, STEP)[:, None] * rounds / decisions).astype(np.int64)
    shape = len(EXPERTS), runs, len(cases.contexts)
    gain = np.take_along_axis(gains, moments, axis=0).T.reshape(*shape, -1).sum(axis=2).astype(np.float64)
    return Played(gain, broken.reshape(shape), asked.reshape(shape).sum(axis=(1, 2)) * len(EXPERTS) / rounds.sum())


def jobs(trials: Iterable[str], runs: int) -> list[tuple[Any, int, Any]]:
    """What is played: where the result belongs, the number of runs, and settings of `play`."""
    few, half = ("log, no promise", "14% of failures"), max(2, runs // 2)
    found: list[Any] = [((trial, name, ROWS[0], ""), runs, {}) for trial, name in product(trials, AGENTS)]
    found += [((trial, name, ROWS[1], ""), half, {}) for trial, name in product(trials, few)]
    for trial, delay, own in product(trials, LATE, (False, True)):
        rule = "its lower bound" if own else "the lowest"
        found.append(((trial, few[1], ROWS[0], f"{delay} | {rule}"), half, {"late": LATE[delay], "own": own}))
    return found


def cell(gain: Floats, first: int) -> str:
    error = gain[:, -1].std(ddof=1) / len(gain) ** 0.5
    return f"{gain[:, first // STEP - 1].mean():+.0f} / {gain[:, -1].mean():+.0f} ± {error:.0f}"


def table(head: list[Any], rows: list[Any]) -> str:
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in [head, ["---"] * len(head), *rows]) + "\n"


def tables(name: str, trial: Trial, results: Results, first: int) -> str:
    """What is said of one trial."""
    cases, shares, logs, value = trial.cases, trial.shares, [], {}
    for kind in EXPERTS:
        own = cases.with_experts(choices=trial.choices[kind])
        value[kind], naive = shares @ own.value, own.contributions / np.maximum(own.shares, 1e-12)
        wrong = np.count_nonzero(naive.argmax(axis=1) != cases.marginal_means.argmax(axis=1))
        pooled = [f"{x:.3f}" for x in shares @ own.contributions / np.maximum(shares @ own.shares, 1e-12)]
        logs.append([kind, f"{wrong} of {len(shares)}", f"{value[kind]:.4f}", *pooled])
    logs.append(["the truth", "", "", *(f"{x:.3f}" for x in trial.truth)])
    shown = slice(None) if name in SHIPPED else slice(2)
    found = {key[1]: played for key, played in results.items() if key[0] == name and key[2:] == (ROWS[0], "")}
    runs, last = next(iter(found.values())).gain.shape[1:]
    earned = np.array([*value.values()])[:, None, None] * STEP * np.arange(1, last + 1)
    broken = {key: f"{own.broken.sum()} of {own.broken.size}" if AGENTS[key[1]] else "" for key, own in results.items()}
    body = [[kind, *(cell(own.gain[k], first) for own in found.values())] for k, kind in enumerate(EXPERTS)]
    body += [["worst moment", *(f"{(own.gain / earned).min():+.1%}, {own.gain.min():+.0f}" for own in found.values())]]
    body += [["share asked", *(f"{own.asked.mean():.0%}" for own in found.values())]]
    body += [["broken", *(broken[name, agent, ROWS[0], ""] for agent in found)]]
    rest = [(key, own) for key, own in results.items() if key[0] == name and key[2:] != (ROWS[0], "")]
    more = [[*key[1:3], key[3] or "no | ", *(cell(x, first) for x in own.gain), broken[key]] for key, own in rest]
    parts = [f"## {TITLES[name]}\n\nAt how many ages the option with the best average in the log is not the best:\n"]
    parts += [
        table(
            ["experts", "wrong", "earn", *cases.arms][shown],
            [line[shown] for line in logs if line[1] or name in SHIPPED],
        )
    ]
    said = f"{runs} runs; {UNITS[name]} against the experts after {first:,} / {last * STEP:,} decisions"
    parts += [f"Logs of {ROWS[0]:,} rows, {said}:\n", table(["experts", *found], body)]
    parts += ["Shorter logs, and outcomes that come late (half as many runs):\n"]
    return "\n".join([*parts, table(["agent", "rows", "late", "a late one counts as", *EXPERTS, "broken"], more)])


def picture(names: list[str], results: Results, file: Path) -> None:
    """Draw the mean gain of each agent over time, a panel for each trial and kind of experts."""
    figure = Figure(figsize=(13.0, 0.3 + 3.0 * len(names)), layout="constrained")
    axes = figure.subplots(len(names), len(EXPERTS), squeeze=False)
    for (i, name), (k, kind) in product(enumerate(names), enumerate(EXPERTS)):
        axes[i, k].axhline(0.0, color="black", linewidth=0.8)
        for key, own in results.items():
            if key[0] == name and key[2:] == (ROWS[0], ""):
                gain = own.gain[k].mean(axis=0)
                axes[i, k].plot(STEP / 1000 * np.arange(1, gain.size + 1), gain, label=key[1], linewidth=1.3)
        axes[i, k].set_title(f"{TITLES[name].split(',')[0]}: {kind}", fontsize=9)
        axes[i, k].set(xlabel="thousand decisions", ylabel="" if k else UNITS[name])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=6, frameon=False)
    figure.savefig(file, dpi=110)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trials")
    for name, title in TITLES.items():
        parser.add_argument(f"--{name}", default=f"{name}.parquet", help=f"rows of the {title.split(',')[0]}")
    parser.add_argument("--runs", type=int, default=24, help="logs, with a run each; half as many in the last table")
    parser.add_argument("--decisions", type=int, nargs=2, default=[5000, 50_000])
    parser.add_argument("--to", type=Path, default=ROOT / "docs", help="the folder of the page")
    options, results = parser.parse_args(given), Results()
    files = {name: Path(getattr(options, name)) for name in TITLES}
    trials = {name: Trial(name, str(file)) for name, file in files.items() if file.is_file()}
    for name in files.keys() - trials.keys():
        print(f"{name} is left out: give its file with --{name}; there is no {files[name]}")
    for key, runs, settings in jobs(trials, options.runs):
        results[key] = play(trials[key[0]], key[1], key[2], runs, options.decisions[1], **settings)
        print(*key, flush=True)
    picture([*trials], results, options.to / "images/trials.png")
    parts = [tables(name, trial, results, options.decisions[0]) for name, trial in trials.items()]
    page = options.to / "trials.md"
    _, found, kept = page.read_text(encoding="utf-8").partition(COLUMNS) if page.exists() else ("", "", "")
    page.write_text("\n".join([HEAD, *parts, *([found + kept] if found else [])]), encoding="utf-8")


if __name__ == "__main__":
    main()
