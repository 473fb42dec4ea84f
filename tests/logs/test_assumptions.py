"""Each assumption against linear programs, in worlds that attain its bounds, and in words."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.attaining import WORLDS, contained
from benchmarks.coverage import CONFIDENCE, broken, missed
from scipy import stats

import meanbounds as mb
from meanbounds.logs import (
    AnyExpert,
    Assumption,
    ErringExpert,
    Histogram,
    KnownPropensity,
    MarginalSensitivity,
    NearlyOptimalExpert,
    OptimalExpert,
)
from meanbounds.logs.assumptions import World
from meanbounds.logs.finite import _SHARE, _THRESHOLD_WEIGHTS, _Raised
from meanbounds.logs.shares import Shares, set_nats
from tests.logs.programs import expert_types, odds_extreme, sharp

N = 4  # means in the linear programs are multiples of a quarter
EVERY = (
    OptimalExpert(0.1, 0.6),
    ErringExpert(0.05, 0.1),
    NearlyOptimalExpert(0.02),
    NearlyOptimalExpert(0.02, gap_low=0.1),
    AnyExpert(),
    AnyExpert(gap_high=0.5),
    MarginalSensitivity(2.0),
    KnownPropensity("chance", 0.1),
    ErringExpert(0.05) & MarginalSensitivity(2.0) & AnyExpert(gap_high=0.5),
)


def counted(law: Any, low: float = 0.0, high: float = 1.0) -> mb.logs.Counts:
    """Counts of an infinite log with these shares of each arm and reward, in any range."""
    values = low + (high - low) * np.arange(N + 1) / N
    cells = np.asarray(law)[None]
    sums: dict[str, Any] = {"count": cells.sum(axis=2), "total": cells @ values, "squares": cells @ values**2}
    return mb.logs.Counts(
        ["all"], list(range(len(law))), **sums, low=low, high=high, histogram=Histogram(values, values, cells)
    )


def random_law(rng: np.random.Generator, arms: int) -> Any:
    """Shares of each arm and reward: rewards of 0 and 1 in half of the cases, an arm that was never played in some."""
    share = rng.dirichlet(np.full(arms, 0.7)) if rng.random() < 0.8 else np.eye(arms)[0] * 0.4 + np.eye(arms)[1] * 0.6
    law = rng.dirichlet(np.full(N + 1, rng.choice([0.3, 1.0])), arms)
    if rng.random() < 0.5:
        law[:, 1:-1] = 0.0
        law[:, [0, -1]] += 1e-3
        law /= law.sum(axis=1, keepdims=True)
    return share[:, None] * law


class TestLinearPrograms:
    """Formulas against all worlds on a grid: none beyond a bound, and most bounds attained."""

    @pytest.mark.parametrize("kind", ["any", "optimal", "erring", "nearly optimal"])
    def test_experts(self, kind: str) -> None:
        rng = np.random.default_rng([1, len(kind)])
        attained, possible = [0, 0], 0
        for _ in range(60):
            arms = int(rng.integers(2, 4))
            law, k, budget = random_law(rng, arms), int(rng.integers(arms)), float(rng.choice([0.02, 0.1, 0.3]))
            low = 0 if kind == "any" else int(rng.integers(0, 3))
            high = int(rng.integers(max(low, 1), N + 1))
            types = list(expert_types(kind, arms, k, N, low, high))
            least, most = (sharp(law, types, budget, sign) for sign in (-1, 1))
            if least is None or most is None:
                continue
            gaps = {"gap_low": low / N, "gap_high": high / N}
            assumption: Assumption = {
                "any": AnyExpert(high / N),
                "optimal": OptimalExpert(**gaps),
                "erring": ErringExpert(budget, low / N, high / N),
                "nearly optimal": NearlyOptimalExpert(budget, **gaps),
            }[kind]
            found = mb.logs.bounds(counted(law), assumption, infinite=True)["all"]
            assert found.lower[k] <= least + 1e-6
            assert most - 1e-6 <= found.upper[k]
            possible += 1
            attained[0] += found.lower[k] >= least - 1e-6
            attained[1] += found.upper[k] <= most + 1e-6
        assert possible > 25
        assert min(attained) >= {"nearly optimal": 0.7, "erring": 0.9}.get(kind, 1.0) * possible

    def test_odds(self) -> None:
        rng = np.random.default_rng(2)
        for _ in range(200):
            law, odds = random_law(rng, 2), float(rng.choice([1.0, 1.2, 2.0, 5.0]))
            found = mb.logs.bounds(counted(law), MarginalSensitivity(odds), infinite=True)["all"]
            share = float(law[0].sum())
            for bound, sign in ((found.lower[0], -1), (found.upper[0], 1)):
                assert bound == pytest.approx(odds_extreme(share, law[0] / share, odds, sign), abs=1e-6)

    def test_without_a_histogram_bounds_are_wider_and_those_of_rewards_0_and_1(self) -> None:
        rng = np.random.default_rng(3)
        for assumption in (ErringExpert(0.05), MarginalSensitivity(1.7)):
            for _ in range(50):
                counts = counted(random_law(rng, 3))
                known = mb.logs.bounds(counts, assumption & AnyExpert(), infinite=True)["all"]
                share, part = counts.count[0], counts.total[0]
                blind = mb.logs.expert_bounds(share, part, assumption)
                assert np.all(blind.lower <= known.lower + 1e-12)
                assert np.all(known.upper <= blind.upper + 1e-12)


@pytest.mark.parametrize("name", WORLDS)
class TestWorldsThatAttainTheBounds:
    def test_bounds_of_an_infinite_log_are_attained(self, name: str) -> None:
        rng = np.random.default_rng(1)
        for _ in range(50):
            world, assumption = WORLDS[name](rng, 1.0)
            found = mb.logs.bounds(world.infinite(), assumption, infinite=True)["all"]
            assert contained(found, world, 1e-9)
            near = np.minimum(np.abs(found.upper - world.true_means), np.abs(found.lower - world.true_means))
            assert near.min() < 1e-9

    def test_bounds_break_if_the_assumption_is_violated_by_a_factor_of_two(self, name: str) -> None:
        assert broken(name, worlds=50, seed=2) >= 25

    @pytest.mark.parametrize("method", ["bernstein", "kl"])
    def test_bounds_hold_as_often_as_promised(self, name: str, method: str) -> None:
        """Misses among 60 worlds against a binomial law; false failure once in a million."""
        misses = missed(name, method, worlds=60, rows=300, seed=3)
        assert misses <= stats.binom.isf(1e-6, 60, 1.0 - CONFIDENCE)

    def test_bounds_without_a_price_miss(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The test above can fail: with limits that may fail with probability 1 many logs are misses."""
        monkeypatch.setattr("meanbounds.logs.shares.Shares.of", lambda *_, **__: Shares(math.inf, 0.0))
        monkeypatch.setattr("meanbounds.logs.shares.Shares.part", lambda *_: 0.0)
        monkeypatch.setattr("meanbounds.logs.weights.log", lambda _: 0.0)
        misses = missed(name, "kl", worlds=60, rows=300, seed=3)
        assert misses > stats.binom.isf(0.01, 60, 1.0 - CONFIDENCE)


def spent(assumption: Assumption, arms: int) -> tuple[float, float]:
    """What all limits of one arm spend of each side's share; the limit on a share spends on either."""
    claims = assumption.claims(World(("z",), 0.0, 1.0))
    shares = Shares(math.inf, 0.0)
    upper = math.fsum(np.exp(-_Raised.of(claims, shares).goals))
    ways = [math.comb(arms - 1, size) for size in range(arms)]
    nats = set_nats(arms - 1).tolist()
    lower = claims.sets * math.fsum(math.exp(math.log(way) - cost) for way, cost in zip(ways, nats, strict=True))
    both = math.fsum(one.weight * (_SHARE + (1.0 - _SHARE) * math.fsum(_THRESHOLD_WEIGHTS)) for one in claims.tilted)
    both += math.fsum(one.weight for one in claims.weighted)
    return lower + both, upper + both


@pytest.mark.parametrize("assumption", EVERY, ids=repr)
@pytest.mark.parametrize("arms", [1, 3, 12, 150])
def test_no_side_spends_more_than_its_share(assumption: Assumption, arms: int) -> None:
    for side in spent(assumption, arms):
        assert 0.9 <= side <= 1.0 + 1e-9


@pytest.mark.parametrize("checks", [0, 1, 3])
@pytest.mark.parametrize(("visible", "arms"), [(1, 1), (1, 3), (3, 4), (2, 12), (1, 150)])
def test_all_shares_add_up_to_what_is_allowed(checks: int, visible: int, arms: int) -> None:
    shares = Shares.of(0.9, contexts=visible, arms=arms, checks=checks)
    paid = checks * math.exp(-shares.check) if checks else 0.0
    assert visible * arms * (paid + 2 * math.exp(-shares.side)) == pytest.approx(0.1)


@pytest.mark.parametrize("arms", [1, 3, 4, 12, 150])
def test_all_sets_of_other_arms_share_what_a_side_may_spend(arms: int) -> None:
    """Sum over every set, whether its limit is computed or not."""
    ways = [math.comb(arms - 1, size) for size in range(arms)]
    nats = set_nats(arms - 1).tolist()
    spent = math.fsum(math.exp(math.log(way) - cost) for way, cost in zip(ways, nats, strict=True))
    assert 0.9 <= spent <= 1.0 + 1e-9


class TestStrongerAssumptions:
    """Assuming more never widens bounds by more than the price of the bounds that assume less."""

    chains = (
        (OptimalExpert(gap_high=0.999), ErringExpert(0.05, gap_high=0.999), AnyExpert(0.999)),
        (OptimalExpert(0.001), NearlyOptimalExpert(0.05, 0.001), NearlyOptimalExpert(0.05), AnyExpert()),
        (MarginalSensitivity(1.5), MarginalSensitivity(3.0), AnyExpert()),
        (ErringExpert(0.01), ErringExpert(0.2), AnyExpert()),
    )

    @pytest.mark.parametrize("shift", [0.0, 0.2])
    @pytest.mark.parametrize("chain", chains, ids=repr)
    def test_in_an_infinite_log_they_are_nested(self, chain: tuple[Assumption, ...], shift: float) -> None:
        for seed in range(20):
            lab = mb.HiddenContexts.random(visible=1, hidden=6, arms=4, seed=seed)
            for strong, weak in itertools.pairwise(chain):
                try:
                    narrow = mb.logs.bounds(lab.counts(), strong, infinite=True, shift=shift)["z0"]
                except mb.BoundsError:
                    continue
                wide = mb.logs.bounds(lab.counts(), weak, infinite=True, shift=shift)["z0"]
                assert np.all(narrow.lower >= wide.lower - 1e-12)
                assert np.all(narrow.upper <= wide.upper + 1e-12)

    @pytest.mark.parametrize("shift", [0.0, 0.2])
    @pytest.mark.parametrize("method", ["bernstein", "kl", "hoeffding"])
    def test_in_a_finite_log_the_price_is_all_they_can_lose(self, method: str, shift: float) -> None:
        """Any expert's bounds are among those of an optimal one, for a twentieth of the upper side."""
        for seed in range(40):
            rng = np.random.default_rng(seed)
            lab = mb.HiddenContexts(rng.uniform(0.6, 1.0, (1, 3, 4)) ** 0.2, rng.exponential(size=(1, 3)) ** 4)
            counts = lab.sample(int(rng.choice([50, 2000])), seed)
            more: dict[str, Any] = {"method": method, "shift": shift, "arms": lab.arms}
            strong = mb.logs.bounds(counts, OptimalExpert(), **more)["z0"]
            same = mb.logs.bounds(counts, AnyExpert(), **more)["z0"]
            paid = mb.logs.bounds(counts, AnyExpert(), confidence=1.0 - 0.05 / 20, **more)["z0"]
            np.testing.assert_allclose(strong.lower, same.lower, rtol=0.0, atol=1e-12)
            assert np.all(strong.upper <= paid.upper + 1e-12)


class TestAnyRange:
    @pytest.mark.parametrize(
        "assumption", [ErringExpert(0.05, 0.1, 0.6), NearlyOptimalExpert(0.02, 0.05, 0.9)], ids=repr
    )
    def test_gaps_and_losses_are_in_reward_units(self, assumption: Assumption) -> None:
        law = [[0.05, 0.1, 0.0, 0.1, 0.25], [0.05, 0.0, 0.05, 0.1, 0.3]]
        scaled = {name: (part * 4.0 if name in ("gap_low", "gap_high", "loss") else part)
                  for name, part in assumption.to_dict().items()}  # fmt: skip
        here = mb.logs.bounds(counted(law), assumption, infinite=True)["all"]
        there = mb.logs.bounds(counted(law, 1.0, 5.0), mb.logs.assumption_from_dict(scaled), infinite=True)["all"]
        np.testing.assert_allclose(there.lower, 1.0 + 4.0 * here.lower)
        np.testing.assert_allclose(there.upper, 1.0 + 4.0 * here.upper)

    @pytest.mark.parametrize("assumption", EVERY[:7], ids=repr)
    @pytest.mark.parametrize("size", [{"infinite": True}, {"confidence": 0.9}])
    def test_arms_that_were_never_played(self, assumption: Assumption, size: dict[str, Any]) -> None:
        """One arm of mean 0.8 alone was played: nothing is known of the other, or what the assumption says."""
        total = [[800.0]]
        counts = mb.logs.Counts(["all"], ["old"], count=[[1000]], total=total, squares=total)
        found = mb.logs.bounds(counts, assumption, arms=["old", "new"], **size)["all"]
        lower, upper = found.lower[1], found.upper[1]
        if isinstance(assumption, AnyExpert | MarginalSensitivity):
            assert upper == 1.0
        elif isinstance(assumption, OptimalExpert):
            assert upper == pytest.approx(0.7, abs=1e-12 if "infinite" in size else 0.1)
        assert lower <= 0.3 + 1e-12


class TestWords:
    lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]], contexts=["old"])

    @pytest.mark.parametrize("assumption", EVERY, ids=repr)
    def test_it_is_printed_as_it_is_made_and_saved(self, assumption: Assumption) -> None:
        names = {name: getattr(mb.logs, name) for name in mb.logs.__all__}
        assert eval(repr(assumption), names) == assumption
        assert mb.logs.assumption_from_dict(json.loads(json.dumps(assumption.to_dict()))) == assumption
        assert len(assumption.in_words()) > 10

    def test_bounds_carry_it(self, tmp_path: Path) -> None:
        assumption = ErringExpert({"old": 0.05}) & AnyExpert(gap_high=0.7)
        found = mb.logs.bounds(self.lab.counts(), assumption, infinite=True)
        found.save(tmp_path / "bounds.json")
        assert mb.logs.load_bounds(tmp_path / "bounds.json").assumption == ErringExpert(0.05) & AnyExpert(gap_high=0.7)
        with pytest.raises(mb.BoundsError, match="do not say what they assume"):
            _ = mb.logs.ContextBounds({}).assumption

    def test_a_contradiction_says_what_the_log_allows(self) -> None:
        """The mean of arm 0 where it was played is 0.1: a gap of 0.1, or errors in 1/3 (1 - 0.1/0.3) of all rows."""
        share, part = [1 / 3] * 3, [0.1 / 3, 0.9 / 3, 0.9 / 3]
        with pytest.raises(mb.BoundsError, match=r"The log allows gap_low of at most 0\.1, all else as it is"):
            mb.logs.expert_bounds(share, part, OptimalExpert(0.3))
        with pytest.raises(
            mb.BoundsError, match=r"allows errors of at least 0\.2222 or gap_low of at most 0\.1"
        ) as error:
            mb.logs.expert_bounds(share, part, ErringExpert(0.01, 0.3))
        assert re.search("arm 0: gap_low=0.3 is more than the log allows", str(error.value))
        allowed = mb.logs.expert_bounds(share, part, ErringExpert(0.2223, 0.3))
        assert np.all(allowed.lower <= allowed.upper)

    def test_assumptions_that_contradict_each_other_are_both_named(self) -> None:
        with pytest.raises(mb.BoundsError, match="the bounds cross") as error:
            mb.logs.expert_bounds([0.5, 0.5], [0.1, 0.45], OptimalExpert(0.1) & MarginalSensitivity(1.0))
        for words in ("always played the best arm", "changed the odds", "allows odds of at least"):
            assert words in str(error.value)


class TestPropensities:
    def counts(self, rows: int = 4000, wrong: float = 1.0) -> mb.logs.Counts:
        """Arm "new" has 0.8 and "old" 0.4 on average, and chances depend on a hidden type that matters."""
        import pandas as pd

        rng = np.random.default_rng(1)
        hidden = rng.random(rows) < 0.5
        chance = np.where(hidden, 0.8, 0.3)
        new = rng.random(rows) < chance
        mean = np.where(new, np.where(hidden, 0.9, 0.7), np.where(hidden, 0.2, 0.6))
        frame = {
            "z": rng.choice(["a", "b"], rows),
            "arm": np.where(new, "new", "old"),
            "chance": np.where(new, chance, 1.0 - chance).round(6) * wrong,
            "reward": (rng.random(rows) < mean).astype(float),
        }
        return mb.logs.read(pd.DataFrame(frame), context=["z", "chance"], arm="arm", reward="reward")

    @pytest.mark.parametrize("method", ["bernstein", "kl", "hoeffding", "betting"])
    @pytest.mark.parametrize(
        "assumption", [KnownPropensity("chance", 0.2), KnownPropensity("chance", 0.2) & AnyExpert()]
    )
    def test_bounds_hold(self, assumption: Assumption, method: str) -> None:
        found = mb.logs.bounds(self.counts(), assumption, method=method)
        assert list(found) == ["a", "b"]
        for own in found.values():
            assert own.contains([0.8, 0.4]).all()
            assert np.all(own.upper - own.lower < 0.45)
        exact = mb.logs.bounds(self.counts(200_000), assumption, infinite=True)["a"]
        np.testing.assert_allclose(exact.lower, [0.8, 0.4], atol=0.01)

    def test_gaps_by_context_are_those_of_the_contexts_that_are_left(self) -> None:
        both = KnownPropensity("chance", 0.2) & AnyExpert(gap_high={"a": 0.9, "b": 0.7})
        assert mb.logs.bounds(self.counts(), both).assumption.parts[1] == AnyExpert(gap_high=[0.9, 0.7])

    def test_what_is_refused(self) -> None:
        with pytest.raises(mb.BoundsError, match="one over column 'chance' should average 1"):
            mb.logs.bounds(self.counts(40_000, wrong=0.8), KnownPropensity("chance", 0.1))
        with pytest.raises(mb.BoundsError, match=r"no probability between least=0\.25 and 1"):
            mb.logs.bounds(self.counts(), KnownPropensity("chance", 0.25))
        learned = KnownPropensity("chance", 0.2, adaptive=True)
        with pytest.raises(mb.BoundsError, match=r'is for independent rows.* give method="betting"'):
            mb.logs.bounds(self.counts(), learned)
        with pytest.raises(mb.BoundsError, match="does not hold for a log of an agent that learned"):
            mb.logs.bounds(self.counts(), learned & ErringExpert(0.1), method="betting")
        with pytest.raises(mb.BoundsError, match="do not say how likely each choice was"):
            mb.logs.expert_bounds([0.5, 0.5], [0.2, 0.2], KnownPropensity("chance", 0.2))
