"""Do the limits of `meanbounds.logs.evaluate` hold on logs that agents write while they learn?

``python -m benchmarks.evaluating`` draws 2,000 logs of each of three adaptive agents in a world whose truth is known,
evaluates each at 80% and at 95%, and counts how often the limits miss the truth: of the agent itself, of an arm, of
another policy, and of two differences. Beside each number is the chance of as many or more if each log missed with
exactly the probability that is allowed. Then it compares the estimates with those of the package obp on logs that are
not adaptive, if obp is installed. The page docs/evaluated.md has what it printed last (``-o docs/evaluated.md``).
With ``--kept`` a part that is finished is not computed again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import meanbounds as mb
from benchmarks.pages import kept_part, paragraph, table, today
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_text_atomically

__all__ = ["AGENTS", "MEANS", "OTHER", "Written", "misses"]

MEANS = np.array([[0.8, 0.5, 0.3], [0.2, 0.4, 0.6]])  # contexts x arms; both contexts are as frequent
OTHER = {0: {0: 1.0}, 1: {1: 0.5, 2: 0.5}}
OTHER_VALUE, ARM_VALUE = 0.65, 0.5  # of OTHER, and of arm 0
ROUNDS, LOGS, CONFIDENCES = 300, 2_000, (0.8, 0.95)
SHRINKING = 0.5  # the floor of the third agent in round t is this over the root of t
INTERVALS = ("agent", "always 0", "other", "agent minus always 0", "other minus always 0")


@dataclass(frozen=True, eq=False)
class Written:
    """A log, the average of what each of its decisions was expected to bring, and the least probability, if known."""

    context: NDArray[np.int64]
    arm: NDArray[np.int64]
    reward: Floats
    probability: Floats
    value: float
    least: float | None


Chances = Callable[[int, Floats, Floats], Floats]


def changing_greedy(turn: int, plays: Floats, wins: Floats) -> Floats:
    """Epsilon-greedy whose epsilon jumps between 0.06 and 0.3 every twenty rounds."""
    return _mixed((0.3 if (turn // 20) % 2 else 0.06) / 3.0, plays, wins)


def shrinking_floor(turn: int, plays: Floats, wins: Floats) -> Floats:
    """Greedy, with a floor that shrinks as rounds go by."""
    return _mixed(min(1.0 / 3.0, SHRINKING / np.sqrt(turn + 1.0)), plays, wins)


def _mixed(floor: float, plays: Floats, wins: Floats) -> Floats:
    score = (wins + 1.0) / (plays + 2.0)
    best = score.argmax(axis=-1)[..., None] == np.arange(score.shape[-1])
    found: Floats = floor + (1.0 - 3.0 * floor) * best
    return found


def drawn_together(chances: Chances, least: float, logs: int, seed: int, rounds: int) -> Iterator[Written]:
    """Many logs at once: the same round of all of them, round by round."""
    rng = np.random.default_rng(seed)
    plays, wins = np.zeros((logs, 2, 3)), np.zeros((logs, 2, 3))
    one, columns = np.arange(logs), []
    value = np.zeros(logs)
    for turn in range(rounds):
        both = chances(turn, plays, wins)
        value += (both * MEANS).sum(axis=(1, 2)) / 2.0
        context = rng.integers(0, 2, logs)
        own = both[one, context]
        arm = (rng.random((logs, 1)) > np.cumsum(own, axis=1)).sum(axis=1).clip(0, 2)
        reward = (rng.random(logs) < MEANS[context, arm]).astype(np.float64)
        plays[one, context, arm] += 1.0
        wins[one, context, arm] += reward
        columns.append((context, arm, reward, own[one, arm]))
    context, arm, reward, chance = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
    for i in range(logs):
        yield Written(context[i], arm[i], reward[i], chance[i], float(value[i] / rounds), least)


def thompson(logs: int, seed: int, rounds: int) -> Iterator[Written]:
    """Thompson sampling that starts from bounds, with the probabilities that it states."""
    rng = np.random.default_rng(seed)
    bounds = {
        0: mb.MeanBounds([0.5, 0.2, 0.0], [1.0, 0.9, 0.7], arms=[0, 1, 2]),
        1: mb.MeanBounds([0.0, 0.1, 0.3], [0.7, 1.0, 0.9], arms=[0, 1, 2]),
    }
    for _ in range(logs):
        agent = mb.ContextualAgent(mb.ThompsonSampling(), bounds, seed=int(rng.integers(2**31)))
        rows, value = [], 0.0
        for _ in range(rounds):
            both = np.stack([agent.probabilities(z) for z in (0, 1)])
            value += float((both * MEANS).sum()) / 2.0
            z = int(rng.integers(0, 2))
            arm = int(agent.pull(z))
            reward = float(rng.random() < MEANS[z, arm])
            agent.update(z, arm, reward)
            rows.append((z, arm, reward, both[z, arm]))
        context, played, rewards, chance = map(np.array, zip(*rows, strict=True))
        yield Written(context, played, rewards, chance, value / rounds, None)


AGENTS: dict[str, Callable[[int, int, int], Iterator[Written]]] = {
    "Thompson sampling from bounds": thompson,
    "epsilon-greedy that changes": lambda logs, seed, rounds: drawn_together(changing_greedy, 0.02, logs, seed, rounds),
    "greedy whose floor shrinks": lambda logs, seed, rounds: drawn_together(
        shrinking_floor, SHRINKING / np.sqrt(rounds), logs, seed, rounds
    ),
}


def misses(log: Written, confidence: float, least: float | None = None, anytime: bool = False) -> dict[str, bool]:
    """Which intervals of a log miss the truth, each with the whole failure probability for itself."""
    events = mb.logs.Events(context=log.context, arm=log.arm, reward=log.reward, probability=log.probability)
    found = mb.logs.evaluate(
        events,
        {"other": OTHER},
        arms=[0],
        against="always 0",
        confidence=confidence,
        simultaneous=False,
        anytime=anytime,
        least=least,
    )
    truth = {"agent": log.value, "always 0": ARM_VALUE, "other": OTHER_VALUE}
    missed = {name: not found[name].lower <= value <= found[name].upper for name, value in truth.items()}
    for name in ("agent", "other"):
        one, gap = found[name], truth[name] - ARM_VALUE
        assert one.difference_lower is not None
        assert one.difference_upper is not None
        missed[f"{name} minus always 0"] = not one.difference_lower <= gap <= one.difference_upper
    return missed


def coverage(logs: int, rounds: int) -> str:
    """A table of misses for each agent, confidence and interval."""
    rows = []
    for place, (name, draw) in enumerate(AGENTS.items()):
        count: dict[tuple[Any, ...], int] = {}
        for log in draw(logs, place, rounds):
            ways = [(False, None, False), (False, None, True), *[(True, log.least, False)] * (log.least is not None)]
            for confidence in CONFIDENCES:
                for known, least, anytime in ways:
                    for interval, missed in misses(log, confidence, least, anytime).items():
                        key = (confidence, known, anytime, interval)
                        count[key] = count.get(key, 0) + missed
        for way in dict.fromkeys(key[:3] for key in count):
            confidence, known, anytime = way
            numbers = [count[(*way, interval)] for interval in INTERVALS]
            chance = float(stats.binom.sf(max(numbers) - 1, logs, 1.0 - confidence))
            how = "doubly robust" if known else "anytime" if anytime else "inverse propensity"
            allowed = f"{(1.0 - confidence) * logs:.0f}"
            rows.append([f"{name}, {how}", f"{confidence:.0%}", allowed, *(f"{n:,}" for n in numbers), f"{chance:.2g}"])
    return table(["agent, limits", "confidence", "allowed", *INTERVALS, "chance of the most"], rows)


# ------------------------------------------------------------------------------------------- another package's numbers


def agreement(logs: int) -> str:
    """The largest difference between our estimates and those of obp, on random logs that are not adaptive."""
    try:
        estimators = import_module("obp.ope")
    except ImportError as error:
        return f"The comparison with obp was skipped: {error}; pip install obp torch."
    rng, worst = np.random.default_rng(7), {"ipw": 0.0, "dr": 0.0}
    for _ in range(logs):
        ours, theirs = _both(rng, estimators)
        for name in worst:
            worst[name] = max(worst[name], abs(ours[name] - theirs[name]))
    return (
        f"On {logs} random logs that are not adaptive, the estimates differ from those of the package obp by at most "
        f"{worst['ipw']:.2g} (inverse propensity) and {worst['dr']:.2g} (doubly robust, with the same predictions)."
    )


def _both(rng: np.random.Generator, estimators: Any) -> tuple[dict[str, float], dict[str, float]]:
    contexts, arms, rows = int(rng.integers(1, 5)), int(rng.integers(2, 6)), int(rng.integers(50, 500))
    logging, target = (rng.dirichlet(np.ones(arms), contexts) * 0.9 + 0.1 / arms for _ in range(2))
    expected = rng.random((contexts, arms))
    context = np.concatenate([np.repeat(np.arange(contexts), arms), rng.integers(0, contexts, rows)])
    arm = np.array([rng.choice(arms, p=logging[z]) for z in context])
    arm[: contexts * arms] = np.tile(np.arange(arms), contexts)  # each pair occurs, so that nothing is unseen
    reward, chance = rng.random(context.size), logging[context, arm]
    events = mb.logs.Events(context=context, arm=arm, reward=reward, probability=chance)
    policy = {z: dict(enumerate(target[z].tolist())) for z in range(contexts)}
    guesses = {z: dict(enumerate(expected[z].tolist())) for z in range(contexts)}
    found = mb.logs.evaluate(events, {"target": policy}, arms=[], predictions=guesses)["target"]
    given = {"reward": reward, "action": arm, "pscore": chance, "action_dist": target[context][:, :, None]}
    position = {"position": np.zeros(context.size, dtype=int)}
    model = {"estimated_rewards_by_reg_model": expected[context][:, :, None]}
    theirs = {
        "ipw": float(estimators.InverseProbabilityWeighting().estimate_policy_value(**given, **position)),
        "dr": float(estimators.DoublyRobust().estimate_policy_value(**given, **position, **model)),
    }
    assert found.dr is not None
    return {"ipw": found.ipw, "dr": found.dr}, theirs


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description="whether limits on the values of policies hold on adaptive logs")
    parser.add_argument("--logs", type=int, default=LOGS, help="logs of each agent; default: 2000")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rows of each log; default: 300")
    parser.add_argument("-o", "--output", type=Path, help="the page to write, such as docs/evaluated.md")
    parser.add_argument(
        "--kept", type=Path, help="a folder of finished parts, so that obp can run in another environment"
    )
    options = parser.parse_args()
    text = page(options.logs, options.rounds, options.kept)
    print(text)
    if options.output:
        write_text_atomically(options.output, text)


def page(logs: int, rounds: int, kept: Path | None) -> str:
    """The page as text."""
    about = f"""Written by `python -m benchmarks.evaluating` on {today()}: {logs:,} logs of {rounds} rows by each of
        three agents that learn while they write, with two contexts and three arms. The numbers are logs
        whose interval misses the true value, beside how many are allowed on average. The last column is the chance of
        as many as the most of a line, or more, if each log missed with exactly the probability that is allowed; a small
        number there would be an error. The limits are wider than they would have to be for one agent that is known:
        they hold for all of them, with values that drift. [evaluate.md](evaluate.md) derives the
        limits."""
    measured = kept_part(kept, "coverage", lambda: coverage(logs, rounds))
    compared = kept_part(kept, "agreement", lambda: paragraph(agreement(200)))
    return "\n\n".join(["# Do the limits of `evaluate` hold?", paragraph(about), measured, compared]) + "\n"


if __name__ == "__main__":
    main()
