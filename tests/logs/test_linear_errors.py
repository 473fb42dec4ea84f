"""Arms with features and an expert who errs: against worlds that err, and worlds rebuilt from the programs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.logs import AnyExpert, ArmSums, ErringExpert, LinearSetting, MarginalSensitivity, OptimalExpert
from meanbounds.logs.hidden_parameter.erring import Budgets, _Program, erring_bounds
from meanbounds.logs.hidden_parameter.programs import MeanLimits

TYPES = 10


def a_setting(rng: np.random.Generator) -> LinearSetting:
    arms, dimension = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    known: dict[str, Any] = {"theta_visible": [1.0], "box_low": -0.5, "box_high": 1.0}
    return LinearSetting(0.3 * rng.normal(size=(arms, 1)), rng.normal(size=(arms, dimension)), **known)


def a_world(rng: np.random.Generator, setting: LinearSetting) -> tuple[Any, Any, Any]:
    """Probabilities, means and best arms of ten hidden types."""
    hidden = rng.uniform(-0.5, 1.0, (TYPES, setting.hidden.shape[1]))
    means = setting.offset + hidden @ setting.hidden.T
    return rng.dirichlet(np.ones(TYPES)), means, means.argmax(axis=1)


def the_log(chance: Any, means: Any, arm: Any) -> tuple[Any, Any]:
    """Share and mean reward of each arm."""
    size = means.shape[1]
    share = np.bincount(arm, chance, size)
    total = np.bincount(arm, chance * means[np.arange(TYPES), arm], size)
    return share, np.divide(total, share, out=np.zeros(size), where=share > 0)


def test_bounds_hold_in_worlds_that_err_and_are_those_of_a_perfect_expert_without() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        setting = a_setting(rng)
        chance, means, best = a_world(rng, setting)
        arm = np.where(rng.random(TYPES) < 0.3, rng.integers(len(setting), size=TYPES), best)
        errors = float(chance[arm != best].sum())
        share, mean = the_log(chance, means, arm)
        found = mb.logs.linear_bounds(setting, share=share, mean=mean, assumption=ErringExpert(errors))
        assert np.all(found.lower <= chance @ means + 1e-12)
        assert np.all(chance @ means <= found.upper + 1e-12)
        share, mean = the_log(chance, means, best)
        perfect = mb.logs.linear_bounds(setting, share=share, mean=mean)
        none = erring_bounds(setting, MeanLimits(mean, mean), share, share, Budgets(0.0, 0.0, np.inf))
        np.testing.assert_allclose(none[0], perfect.lower, atol=1e-6)
        np.testing.assert_allclose(none[1], perfect.upper, atol=1e-6)


def test_more_errors_make_wider_bounds_up_to_those_of_any_expert() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        setting = a_setting(rng)
        chance, means, best = a_world(rng, setting)
        share, mean = the_log(chance, means, best)
        found = [
            mb.logs.linear_bounds(setting, share=share, mean=mean, assumption=assumption)
            for assumption in (OptimalExpert(), ErringExpert(0.05), ErringExpert(0.4), AnyExpert())
        ]
        for narrow, wide in pairwise(found):
            assert np.all(wide.lower <= narrow.lower + 1e-6)
            assert np.all(narrow.upper <= wide.upper + 1e-6)
        corrected = mb.logs.linear_bounds(setting, share=share, mean=mean, method="corrected")
        assert np.all(found[-1].upper <= corrected.upper + 1e-6)
        assert np.all(corrected.lower <= found[-1].lower + 1e-6)


def test_bounds_are_attained_by_the_law_that_the_program_finds() -> None:
    """The hidden parameter X / q with probability q, and Y / e with probability e, leaves this log."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    for _ in range(15):
        setting, errors = a_setting(rng), 0.1
        chance, means, best = a_world(rng, setting)
        share, mean = the_log(chance, means, best)
        program = _Program(setting, MeanLimits(mean, mean), share, share, Budgets(errors, 0.0, np.inf))
        every, wrong = program.masses
        shares = np.array([program._row(j, q=1.0, e=1.0) for j in range(len(setting))])
        size = setting.hidden.shape[1]
        limits = ([(None, None)] * (2 * size) + [(0.0, 1.0)] * 2) * len(setting)
        solved = linprog(
            -program.reward(0), A_ub=np.vstack([program.rows, wrong[None]]), b_ub=[*[0.0] * len(program.rows), errors],
            A_eq=np.vstack([shares, every[None]]), b_eq=[*share, 1.0], bounds=limits,
        )  # fmt: skip
        assert solved.x is not None
        total = np.zeros(len(setting))
        for j, own in enumerate(solved.x.reshape(len(setting), -1)):
            parts = ((own[:size], own[-2], True), (own[size:-2], own[-1], False))
            for integral, mass, right in parts:
                if mass < 1e-6:
                    continue
                point = integral / mass
                assert np.all(point >= -0.5 - 1e-5)
                assert np.all(point <= 1.0 + 1e-5)
                worth = setting.offset + setting.hidden @ point
                assert not right or worth[j] >= worth.max() - 1e-3
                total += mass * worth
        upper = mb.logs.linear_bounds(setting, share=share, mean=mean, assumption=ErringExpert(errors)).upper[0]
        assert total[0] == pytest.approx(upper, abs=1e-4)


def test_gaps() -> None:
    rng = np.random.default_rng(4)
    for _ in range(15):
        setting = a_setting(rng)
        chance, means, best = a_world(rng, setting)
        ordered = np.sort(means, axis=1)
        low, high = float((ordered[:, -1] - ordered[:, -2]).min()), float((ordered[:, -1] - ordered[:, 0]).max())
        share, mean = the_log(chance, means, best)
        wide = mb.logs.linear_bounds(setting, share=share, mean=mean)
        for assumption in (OptimalExpert(low, high), ErringExpert(0.05, low, high), AnyExpert(high)):
            found = mb.logs.linear_bounds(setting, share=share, mean=mean, assumption=assumption)
            assert np.all(found.lower <= chance @ means + 1e-12)
            assert np.all(chance @ means <= found.upper + 1e-12)
            if isinstance(assumption, OptimalExpert):
                assert np.all(found.upper <= wide.upper + 1e-6)


def test_finite_logs_are_wider_and_hold() -> None:
    rng = np.random.default_rng(5)
    setting = LinearSetting([[0.2], [0.3]], [[0.6, 0.0], [0.0, 0.5]], theta_visible=[1.0], box_low=0.0, box_high=1.0)
    types = np.array([[0.9, 0.2], [0.1, 0.8]])
    means = setting.offset + types @ setting.hidden.T
    infinite = mb.logs.linear_bounds(
        setting, share=[0.5, 0.5], mean=[means[:, 0].max(), means[:, 1].max()], assumption=ErringExpert(0.1)
    )
    rows = 4000
    kind = rng.integers(0, 2, rows)
    arm = kind.copy()
    reward = (rng.random(rows) < means[kind, arm]).astype(float)
    count, total = np.bincount(arm, minlength=2), np.bincount(arm, reward, 2)
    sums = ArmSums(count, total, total)
    found = mb.logs.linear_bounds_from_log(setting, sums, assumption=ErringExpert(0.1))
    right = mb.logs.linear_bounds_from_log(setting, sums)
    assert np.all(found.lower <= means.mean(axis=0))
    assert np.all(means.mean(axis=0) <= found.upper)
    assert np.all(found.upper >= right.upper - 1e-6)
    assert np.all(found.upper >= infinite.upper - 0.02)
    agent = mb.logs.linear_agent(setting, sums, assumption=ErringExpert(0.1), seed=1)
    assert agent.pull() in (0, 1)


def test_a_log_that_an_expert_without_errors_cannot_have_written() -> None:
    """One arm is worth 0 where it was played, and the other is known to be worth 0.5."""
    setting = LinearSetting([[0.0], [0.5]], [[1.0], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0)
    log: dict[str, Any] = {"share": [0.5, 0.5], "mean": [0.4, 0.5]}
    with pytest.raises(mb.BoundsError, match="either the expert did not play the best arm"):
        mb.logs.linear_bounds(setting, **log)
    with pytest.raises(mb.BoundsError, match=r"The log allows errors of at least 0\.1,"):
        mb.logs.linear_bounds(setting, **log, assumption=ErringExpert(0.05))
    found = mb.logs.linear_bounds(setting, **log, assumption=ErringExpert(0.11))
    assert found.lower[0] < found.upper[0]
    with pytest.raises(mb.BoundsError, match="and any other"):
        mb.logs.linear_bounds(setting, share=[0.5, 0.5], mean=[0.4, 0.7], assumption=ErringExpert(0.05))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"assumption": MarginalSensitivity(2.0)}, "can assume OptimalExpert, ErringExpert or AnyExpert"),
        ({"assumption": ErringExpert([0.1, 0.2])}, "errors must be one number here"),
        ({"assumption": ErringExpert(1.5)}, "errors are a share between 0 and 1"),
        ({"assumption": ErringExpert(0.1), "method": "paper"}, 'needs method="sharp"'),
    ],
)
def test_refused(more: dict[str, Any], words: str) -> None:
    setting = LinearSetting([[0.0], [0.5]], [[1.0], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0)
    with pytest.raises(ValueError, match=words):
        mb.logs.linear_bounds(setting, share=[0.5, 0.5], mean=[0.6, 0.5], **more)
