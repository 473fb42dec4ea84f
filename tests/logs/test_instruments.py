"""Bounds by an instrument: equal to those of another program, true as often as they say, and refused where refuted."""

import itertools
from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import binom

import meanbounds as mb
from meanbounds.logs import Counts, Experts, LogError, bounds
from meanbounds.logs.counts import Instrument
from meanbounds.logs.instruments import instrument_bounds
from meanbounds.support.types import Floats

table: Any = Counts  # from lists
ERROR, UNLIKELY = 0.05, 1e-6  # `UNLIKELY` is how often a test fails although bounds hold as often as they say
pytestmark = pytest.mark.filterwarnings("ignore::meanbounds.logs.LogWarning")  # that rewards are missing


@cache
def types_of(values: int, arms: int) -> tuple[Floats, Floats]:
    """The cells (value, arm, reward) in which each type of case is seen, and its rewards.

    A type is a choice for each value of the instrument, and a reward of 0 or 1 for each arm.
    """
    seen, rewards = [], []
    for choice in itertools.product(range(arms), repeat=values):
        for reward in itertools.product((0.0, 1.0), repeat=arms):
            cell = np.zeros((values, arms, 2))
            for z, k in enumerate(choice):
                cell[z, k, int(reward[k])] = 1.0
            seen.append(cell.ravel())
            rewards.append(reward)
    return np.array(seen), np.array(rewards)


def by_prices(many: list[Floats]) -> Any:
    """Sharp bounds, (cases, 2, arms), as the best prices of cells; None if there are no best ones.

    Lower bounds are the greatest worth of prices that add up to at most its reward for each type, upper bounds the
    least of prices that add up to at least that.
    """
    values, arms, _ = many[0].shape
    seen, rewards = types_of(values, arms)
    sides = [(sign, k) for sign in (1.0, -1.0) for k in range(arms)]
    whole: Any = sparse.block_diag([sign * seen for sign, _ in sides] * len(many), format="csc")
    ends = np.tile(np.concatenate([sign * rewards[:, k] for sign, k in sides]), len(many))
    goal = np.array([[sign * cells.ravel() for sign, _ in sides] for cells in many])
    precise = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    run: Any = linprog
    one = run(-goal.ravel(), whole, ends, bounds=(None, None), method="highs", options=precise)
    if one.status != 0:
        return None
    return np.asarray((np.abs(goal) * one.x.reshape(goal.shape)).sum(axis=2).reshape(len(many), 2, arms))


def world(rng: np.random.Generator, values: int, arms: int) -> tuple[Floats, Floats, float]:
    """What is seen in a world with an instrument, (values, arms, rewards), the true means, and the share of errors."""
    kinds = int(rng.integers(1, 9))
    share, means = rng.dirichlet(np.ones(kinds)), rng.beta(0.5, 0.5, (kinds, arms))
    choices = rng.dirichlet(np.full(arms, 0.4), (values, kinds)) * share[:, None]
    cells = np.stack([(choices * (1.0 - means)).sum(axis=1), (choices * means).sum(axis=1)], axis=2)
    errors = 1.0 - float((choices * (means == means.max(axis=1, keepdims=True))).sum() / values)
    return cells, share @ means, min(max(errors, 0.0), 1.0)


def of_cells(cells: Floats) -> Floats:
    share = cells.sum(axis=2)
    return np.array(instrument_bounds(share, cells[:, :, 1] / np.where(share > 0.0, share, 1.0)))


def counted(drawn: Any, **more: Any) -> Counts:
    """Counts of rows by (context, value, arm, reward)."""
    count, total = (part.swapaxes(0, 1).astype(float) for part in (drawn.sum(axis=3), drawn[..., 1]))
    without = more.pop("without", np.zeros(count.shape))
    arms, names = tuple("abcdef"[: count.shape[2]]), tuple(f"z{place}" for place in range(count.shape[1]))
    ward = Instrument("ward", tuple(f"w{z}" for z in range(len(count))), np.array([count, total, total, without]))
    return table(names, arms, *(part.sum(axis=0) for part in (count, total, total)), instrument=ward, **more)


@pytest.mark.parametrize(
    ("values", "arms", "cases"), [(2, 2, 250), (3, 2, 80), (2, 3, 80), (3, 3, 40), (5, 2, 30), (2, 4, 20)]
)
def test_bounds_equal_those_of_a_program_over_all_types(values: int, arms: int, cases: int) -> None:
    """500 random worlds in all; here types of cases choose for all values at once, and the program is the dual one."""
    rng = np.random.default_rng([values, arms])
    worlds = [world(rng, values, arms) for _ in range(cases)]
    found, means = np.array([of_cells(own[0]) for own in worlds]), np.array([own[1] for own in worlds])
    assert np.all((found[:, 0] <= means + 1e-9) & (means <= found[:, 1] + 1e-9))
    for start in range(0, cases, 10):
        expected = by_prices([own[0] for own in worlds[start : start + 10]])
        np.testing.assert_allclose(found[start : start + 10], expected, atol=1e-8)


def test_logs_that_refute_an_instrument_are_those_that_no_types_explain() -> None:
    """Of random logs some refute the instrument, all by Pearl's inequality, which the message names."""
    rng, said = np.random.default_rng(11), []
    for values, arms in [(2, 2), (3, 2), (2, 3)] * 15:
        share = rng.dirichlet(np.full(2 * arms, 0.5), values).reshape(values, arms, 2)
        cells = 0.8 * share + 0.2 * share.mean(axis=0)
        expected = by_prices([cells])
        if expected is not None:
            np.testing.assert_allclose(of_cells(cells), expected[0], atol=1e-8)
            continue
        with pytest.raises(mb.BoundsError, match="the log contradicts the instrument") as caught:
            of_cells(cells)
        said.append(str(caught.value))
    assert 10 < len(said) < 40
    assert all(one.count("the share of") == 2 for one in said)  # Pearl's inequality


def test_an_inequality_that_fails_is_named_with_its_numbers() -> None:
    cells = np.array([[[0.1, 0.5], [0.2, 0.2]], [[0.6, 0.1], [0.1, 0.2]]])
    with pytest.raises(mb.BoundsError) as caught:
        of_cells(cells)
    first = "the share of 0 and reward 1 where it is '0' (at least 0.5) plus the share of 0 and reward 0 where it is"
    for part in ("arm 0", first, "is at least 1.1, and would be at most 1 if"):
        assert part in str(caught.value)
    log = counted(np.array([cells, cells[[0, 0]]]) * 50_000)
    with pytest.raises(mb.BoundsError, match=r"context 'z0', arm 'a': .* 'ward': .* Read the log without instrument="):
        bounds(log)
    assert bounds(log.select(["z1"]))["z1"].lower.size == 2
    assert bounds(counted(np.array([cells]) * 50))["z0"].lower.size == 2  # so few rows refute nothing


def test_no_two_values_need_disagree_for_three_to_be_refuted() -> None:
    """Bonet (2001): three values of an instrument can refute it although Pearl's inequality holds."""
    cells = np.zeros((3, 2, 2))
    cells[0, 0], cells[0, 1] = [0.5, 0.0], [0.0, 0.5]
    cells[1, 0], cells[1, 1] = [0.0, 0.5], [0.0, 0.5]
    cells[2, 0], cells[2, 1] = [0.0, 0.5], [0.5, 0.0]
    assert by_prices([cells]) is None
    with pytest.raises(
        mb.BoundsError, match=r"arm 0 and 1: .*(minus the share.*){4} is at least 0.5, and .* at most 0 "
    ):
        of_cells(cells)


@pytest.mark.parametrize("missing", [False, True])
def test_finite_logs(missing: bool) -> None:
    """Two contexts: all bounds hold at once in 95% of the logs, also where good rewards are missing most, and where the
    share of the experts' errors is known too."""
    rng, missed, runs, narrow, wide = np.random.default_rng([13, missing]), 0, 80, 0.0, 0.0
    for _ in range(runs):
        arms, values = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        worlds = [world(rng, values, arms) for _ in range(2)]
        rows = int(rng.choice([40, 400, 4000]))
        drawn = np.array([rng.multinomial(rows, own.reshape(values, -1)).reshape(own.shape) for own, *_ in worlds])
        more, told = dict[str, Any](), rng.random() < 0.5
        if missing:
            lost = rng.binomial(drawn, np.array([0.05, 0.3]))
            drawn, without = drawn - lost, lost.sum(axis=3).swapaxes(0, 1)
            more = {"without": without, "missing": without.sum(axis=0), "apart": inf}
        log = counted(drawn, **more)
        try:
            found = bounds(
                log, Experts(errors={f"z{k}": own[2] for k, own in enumerate(worlds)}) if told else Experts()
            )
        except mb.BoundsError:
            missed += 1
            continue
        missed += int(not all(found[f"z{place}"].contains(own[1]).all() for place, own in enumerate(worlds)))
        if told:
            continue
        plain = bounds(Counts.from_dict({**log.to_dict(), "instrument": None}))
        narrow += sum(float((own.upper - own.lower).mean()) for own in found.values())
        wide += sum(float((own.upper - own.lower).mean()) for own in plain.values())
    assert binom.sf(missed - 1, runs, ERROR) > UNLIKELY
    assert narrow < (0.97 if missing else 0.9) * wide


def test_bounds_join_with_what_is_assumed_of_experts() -> None:
    cells = np.array([[[0.12, 0.48], [0.2, 0.2]], [[0.06, 0.24], [0.35, 0.35]]])
    log = counted(np.array([cells]) * 1e6)
    plain, experts = Counts.from_dict({**log.to_dict(), "instrument": None}), Experts(errors=0.4, gap_high=0.6)
    both, one, other = (bounds(*own)["z0"] for own in ((log, experts), (log,), (plain, experts)))
    np.testing.assert_allclose(both.lower, np.maximum(one.lower, other.lower), atol=2e-3)
    np.testing.assert_allclose(both.upper, np.minimum(one.upper, other.upper), atol=2e-3)
    np.testing.assert_allclose([one.lower, one.upper], of_cells(cells), atol=0.01)
    moved = bounds(log, shift=0.05)["z0"]
    np.testing.assert_allclose([moved.lower, moved.upper], [one.lower - 0.05, one.upper + 0.05])
    wider = bounds(log, arms=["b", "new", "a"])["z0"]
    np.testing.assert_allclose(wider.lower[[2, 0]], one.lower, atol=5e-3)
    np.testing.assert_allclose([wider.lower[1], wider.upper[1]], [0.0, 1.0], atol=1e-9)


def test_graded_rewards_count_by_their_means() -> None:
    cells, *_ = world(np.random.default_rng(1), 3, 2)
    log = counted(np.round(np.array([cells]) * 1e8))
    own, chance = log.to_dict(), log.instrument
    assert chance is not None
    count, total, _, without = chance.sums
    sums = np.array([count, count + 4.0 * total, count + 24.0 * total, without])
    own |= {"low": 1.0, "high": 5.0, "instrument": Instrument("ward", chance.values, sums)}
    own |= dict(zip(("count", "total", "squares"), sums[:3].sum(axis=1), strict=True))
    graded, plain = bounds(Counts.from_dict(own))["z0"], bounds(log)["z0"]
    np.testing.assert_allclose(graded.lower, 1.0 + 4.0 * plain.lower, atol=1e-6)
    np.testing.assert_allclose(graded.upper, 1.0 + 4.0 * plain.upper, atol=1e-6)


def test_many_values_and_arms_get_manskis_intersection() -> None:
    rng = np.random.default_rng(3)
    share = rng.dirichlet(np.ones(6), 60)
    means = np.tile(rng.uniform(0.2, 0.8, 6), (60, 1))
    cells = np.stack([share * (1.0 - means), share * means], axis=2)
    log = counted(np.round(np.array([cells]) * 1e9))
    assert log.instrument is not None
    assert log.instrument.simple
    found = bounds(log)["z0"]
    np.testing.assert_allclose(found.lower, cells[:, :, 1].max(axis=0), atol=1e-3)
    np.testing.assert_allclose(found.upper, 1.0 - cells[:, :, 0].max(axis=0), atol=1e-3)


def test_from_a_log_to_an_agent() -> None:
    """An instrument may show that experts err, which a prior does not hold against them."""
    rng, rows = np.random.default_rng(5), 20_000
    ward, sick = rng.integers(3, size=rows), rng.random(rows) < 0.5
    arm = np.where(rng.random(rows) < 0.1 + 0.4 * ward, "b", "a")
    reward = (rng.random(rows) < 0.3 + 0.2 * (arm == "b") - 0.2 * sick).astype(float)
    log = {"ward": ward.astype(str), "arm": arm, "reward": reward}
    counts = mb.logs.read(log, instrument="ward")
    assert "instrument 'ward'" in repr(counts)
    wide, narrow = bounds(mb.logs.read(log))[None], bounds(counts)[None]
    assert np.all(narrow.upper - narrow.lower < 0.5 * (wide.upper - wide.lower))
    assert narrow.contains([0.2, 0.4]).all()
    with pytest.raises(mb.BoundsError, match="contradicts what is assumed"):
        bounds(counts, Experts(errors=0.0))
    agent = mb.logs.agent(counts, seed=1)
    assert agent.pull() in ("b", mb.EXPERT)
    assert [tip.field for tip in mb.logs.tipping(counts)[None]] == ["shift"]
    with pytest.raises(LogError, match="missing instrument: 1 row"):
        mb.logs.read({**log, "ward": [None, *ward[1:].astype(str)]}, instrument="ward")
