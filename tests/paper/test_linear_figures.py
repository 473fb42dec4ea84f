"""The two experiments on arms with features: that their numbers are right, and that their verdicts follow from them."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import meanbounds as mb
from meanbounds import plots
from meanbounds.paper import roful, transfer
from meanbounds.paper.base import Claim, Work, expecting
from meanbounds.paper.transfer import world
from meanbounds.paper.transfer.claimed import mostly_less
from meanbounds.paper.transfer.search import find
from meanbounds.paper.verdicts import LEVEL, Tally, Verdict, tally

SMALL_ROFUL = roful.Settings(offered=(5, 10), horizon=60, draws=10, runs=2)
SMALL_TRANSFER = transfer.Settings(
    values=2_000, rows=2_000, logs=2, draws=20, horizon=60, runs=12, runs_each=10, left=2, improvement=0.0
)


@pytest.fixture(scope="module")
def roful_results(tmp_path_factory: pytest.TempPathFactory) -> roful.Results:
    return roful.run(SMALL_ROFUL, Work(tmp_path_factory.mktemp("roful"), SMALL_ROFUL, progress=False))


@pytest.fixture(scope="module")
def transfer_results(tmp_path_factory: pytest.TempPathFactory) -> transfer.Results:
    return transfer.run(SMALL_TRANSFER, Work(tmp_path_factory.mktemp("transfer"), SMALL_TRANSFER, progress=False))


def verdicts(claims: Any) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for claim in claims:
        assert isinstance(claim, Claim)
        assert "nan" not in claim.measured
        found[claim.text] = claim.verdict
    return found


def one(found: dict[str, Verdict], start: str) -> Verdict:
    (verdict,) = [verdict for text, verdict in found.items() if text.startswith(start)]
    return verdict


def constant(regret: mb.Regret, finals: dict[str, float], kept: float | None = None) -> mb.Regret:
    """The same simulation with made-up regret: each label's rises to this number in every run."""
    rounds = regret.rounds / regret.rounds[-1]
    curves = {label: np.tile(rounds * finals[label], (len(regret.curves[label]), 1)) for label in regret.labels}
    measures = dict(regret.measures)
    if kept is not None:
        measures["kept"] = {label: np.tile(kept * regret.rounds, (len(curves[label]), 1)) for label in curves}
    return dataclasses.replace(regret, curves=curves, measures=measures)


class TestInstances:
    def test_the_setting_of_the_paper(self) -> None:
        """Unit arms, theta of norm 1 along (0, ..., 9); bounds hold, at most 0.5 away, inside the arm's own range."""
        for seed in range(5):
            instance = mb.LinearInstance.paper(seed)
            np.testing.assert_allclose(np.linalg.norm(instance.features, axis=1), 1.0)
            np.testing.assert_allclose(instance.theta * np.sqrt(285.0), np.arange(10.0))
            bounds, means = instance.bounds, instance.means
            assert np.all((bounds.lower <= means) & (means <= bounds.upper))
            assert np.all((means - bounds.lower <= 0.5) & (bounds.upper - means <= 0.5))
            np.testing.assert_array_equal(bounds.low, np.where(means > 0.0, 0.0, -1.0))
            np.testing.assert_array_equal(instance.environment(5).means, means)

    def test_draws_differ_and_come_back(self) -> None:
        first, again, other = (mb.LinearInstance.paper(seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.features, again.features)
        assert not np.any(first.features == other.features)


class TestSeveralSimulationsAsOne:
    def simulated(self, means: list[float], label: str = "UCB", seed: int = 1) -> mb.Regret:
        return mb.simulate({label: mb.UCB()}, mb.Bernoulli(means), None, horizon=50, runs=4, seed=seed, checkpoints=5)

    def test_pooled(self) -> None:
        parts = [self.simulated([0.9, 0.8]), self.simulated([0.5, 0.1], seed=2)]
        pooled = mb.Regret.concat(parts)
        np.testing.assert_array_equal(pooled.curves["UCB"][4:], parts[1].curves["UCB"])
        assert pooled.settings["runs"] == 8
        assert [part["seed"] for part in pooled.settings["parts"]] == [1, 2]
        with pytest.raises(ValueError, match="made from several simulations"):
            _ = pooled.seed
        assert pooled.summary().splitlines()[2].endswith(" -")  # which arm is best differs

    def test_beside(self, tmp_path: Path) -> None:
        parts = {"a": self.simulated([0.9, 0.8]), "b": self.simulated([0.9, 0.8], "other")}
        both = mb.Regret.beside(parts)
        np.testing.assert_array_equal(both.curves["a"], both.curves["b"])
        with pytest.raises(ValueError, match="made from several simulations"):
            _ = both.seed
        both.save(tmp_path / "both.parquet")
        assert mb.Regret.load(tmp_path / "both.parquet").labels == ("a", "b")

    def test_what_theorems_say_of_several(self) -> None:
        """Beside each other each has its own bound; pooled, the mean over runs is below the mean of the bounds."""
        parts = [self.simulated([0.9, 0.8]), self.simulated([0.5, 0.1], seed=2)]
        bounds = [mb.theory.regret_bounds(part)["UCB"].values for part in parts]
        assert bounds[0] is not None
        assert bounds[1] is not None
        pooled = mb.theory.regret_bounds(mb.Regret.concat(parts))["UCB"].values
        assert pooled is not None
        np.testing.assert_allclose(pooled, (bounds[0] + bounds[1]) / 2)
        beside = mb.theory.regret_bounds(mb.Regret.beside({"a": parts[0], "b": parts[1]}))
        for label, expected in zip("ab", bounds, strict=True):
            np.testing.assert_array_equal(beside[label].values, expected)

    def test_several_of_several_and_without_some(self) -> None:
        """Parts of parts keep their bounds; without a policy its bound is gone as well."""
        two = {"a": mb.UCB(), "b": mb.GLUE()}
        own = mb.simulate(two, mb.Bernoulli([0.9, 0.8]), None, horizon=50, runs=4, seed=1, checkpoints=5)
        expected = mb.theory.regret_bounds(own)["b"].values
        pooled = mb.Regret.concat([own, own])
        alike = mb.Regret.beside({"x": own.select(["b"]), "y": own.select(["b"])})
        for both, label in (
            (pooled.select(["b"]), "b"),
            (mb.Regret.concat([pooled, pooled]).select(["b"]), "b"),
            (alike.select(["y"]), "y"),
            (mb.Regret.beside({"z": pooled.select(["b"])}), "z"),
            (mb.Regret.concat([alike, alike]).select(["x"]), "x"),
        ):
            found = mb.theory.regret_bounds(both)
            assert list(found) == [label] == list(both.labels)
            values = found[label].values
            assert values is not None
            assert expected is not None
            np.testing.assert_allclose(values, expected)

    def test_refusals(self) -> None:
        with pytest.raises(ValueError, match="at least one simulation"):
            mb.Regret.concat([])
        with pytest.raises(ValueError, match="at least one simulation"):
            mb.Regret.beside({})
        first, other = self.simulated([0.9, 0.8]), self.simulated([0.9, 0.8], "other")
        with pytest.raises(ValueError, match="only if policies and checkpoints are the same"):
            mb.Regret.concat([first, other])
        two = mb.simulate(
            {"a": mb.UCB(), "b": mb.GLUE()}, mb.Bernoulli([0.9, 0.8]), None, horizon=50, runs=4, seed=1, checkpoints=5
        )
        with pytest.raises(ValueError, match="x: give simulations of one policy each"):
            mb.Regret.beside({"x": two})


class TestTally:
    def test_both_ways_and_undecided(self) -> None:
        """Ten of ten has chance 2^-10 = 0.00098, below 1/1000; nine of ten has 11/1024."""
        low, high = np.zeros(10), np.ones(10)
        nine = np.where(np.arange(10) < 9, 0.0, 2.0)
        assert tally([(low, high), (high, low), (nine, high), (low, low)]) == Tally(1, 1, 4)

    def test_too_few_pairs_to_tell_anything(self) -> None:
        """Nine of nine has chance 2^-9 = 0.002: that none is smaller would be no finding."""
        with pytest.raises(ValueError, match=r"9 pairs cannot show an order at level 0\.001"):
            tally([(np.zeros(9), np.ones(9))])

    def test_quick_settings_can_fail(self) -> None:
        for own in (transfer.SETTINGS.runs_each, transfer.QUICK.runs_each, roful.SETTINGS.draws, roful.QUICK.draws):
            assert 0.5**own <= LEVEL

    def test_undecided_is_not_ahead(self) -> None:
        assert not mostly_less(Tally(0, 0, 21))
        assert not mostly_less(Tally(20, 1, 21))
        assert mostly_less(Tally(11, 0, 21))


def test_only_the_expected_warning_is_silent() -> None:
    with expecting("outside its bounds"):
        warnings.warn("arm 1: its mean is outside its bounds [0, 1]", stacklevel=1)
        with pytest.raises(UserWarning, match="another"):
            warnings.warn("another", stacklevel=1)


class TestROFUL:
    def test_mean_after_clipping(self) -> None:
        """Against a million draws of each: an error above 5 standard deviations has probability 6e-7 for each of 4."""
        rng = np.random.default_rng(1)
        mean, low = np.array([0.1, 0.9, -0.2, -1.0]), np.array([0.0, 0.0, -1.0, -1.0])
        found = roful.clipped_mean(mean, 0.8, low, low + 1.0)
        drawn = np.clip(rng.normal(mean, np.sqrt(0.8), (1_000_000, 4)), low, low + 1.0)
        assert np.all(np.abs(found - drawn.mean(axis=0)) <= 5.0 * drawn.std(axis=0) / 1_000.0)

    def test_end_to_end(self, roful_results: roful.Results) -> None:
        regret = roful_results.regret["two-point", 5]
        assert regret.curves["R-OFUL"].shape == (20, 60)
        assert set(roful.plot(roful_results)) == {"printed", "well-specified"}
        plt.close("all")
        found = verdicts(roful.claims(roful_results))
        assert one(found, "R-OFUL restricts the arms") is Verdict.HOLDS
        assert one(found, "The rewards of the experiment are those of a linear bandit") is Verdict.CORRECTED
        assert one(found, "With probability 1 - delta") is Verdict.HOLDS
        assert one(found, "If no informative bounds are present") is Verdict.CORRECTED
        assert one(found, "The bound on R-OFUL's regret is never worse") is Verdict.HOLDS
        assert len(found) == 12

    def test_each_draw_has_its_own_bound(self, roful_results: roful.Results) -> None:
        """The theorem says nothing of printed rewards; of the others each run is held against its own arms' bound."""
        for part in roful_results.draws["clipped-gaussian", 5]:
            assert all(promise.values is None for promise in mb.theory.regret_bounds(part).values())
        largest = np.zeros(1)
        for draw, part in enumerate(roful_results.draws["two-point", 5]):
            own = mb.LinearInstance.paper(draw)
            expected = mb.theory.linear_regret(mb.ROFUL(), own.features, own.bounds, part.rounds)
            values = mb.theory.regret_bounds(part)["R-OFUL"].values
            assert values is not None
            np.testing.assert_allclose(values, expected)
            largest = np.maximum(largest, expected)
        together = mb.theory.regret_bounds(roful_results.regret["two-point", 5])["R-OFUL"]
        assert together.values is not None
        np.testing.assert_allclose(together.values, largest)

    def test_verdicts_follow_from_the_numbers(self, roful_results: roful.Results) -> None:
        """First regret as claimed, then OFUL ahead, falling, R-OFUL growing threefold, and 2.5 arms considered."""

        def made(oful: tuple[float, float], restricted: tuple[float, float], kept: float) -> dict[str, Verdict]:
            draws = {}
            for (kind, size), parts in roful_results.draws.items():
                own = restricted[size == 10]
                finals = {"OFUL": oful[size == 10], "R-OFUL": own, "R-OFUL as printed": own}
                draws[kind, size] = [constant(part, finals, kept) for part in parts]
            return verdicts(roful.claims(dataclasses.replace(roful_results, draws=draws)))

        good = made((5.0, 8.0), (1.0, 1.5), 2.5)
        for start, count in (("R-OFUL has much lower", 2), ("R-OFUL's regret is comp", 2), ("OFUL's regret grows", 2)):
            assert [v for text, v in good.items() if text.startswith(start)] == [Verdict.HOLDS] * count
        assert one(good, "R-OFUL only chooses between 2 and 3") is Verdict.HOLDS
        bad = made((0.8, 0.5), (1.0, 3.0), 3.5)
        for start in ("R-OFUL has much lower", "R-OFUL's regret is comp", "OFUL's regret grows"):
            assert [v for text, v in bad.items() if text.startswith(start)] == [Verdict.FAILS] * 2
        assert one(bad, "R-OFUL restricts the arms") is Verdict.FAILS
        assert one(bad, "R-OFUL only chooses between 2 and 3") is Verdict.FAILS
        beyond = made((1e6, 2e6), (1.0, 1.5), 1.5)
        assert one(beyond, "With probability 1 - delta") is Verdict.FAILS
        assert one(beyond, "R-OFUL restricts the arms") is Verdict.HOLDS
        assert one(beyond, "R-OFUL only chooses between 2 and 3") is Verdict.FAILS

    def test_each_kind_of_rewards_has_its_algorithm(self, roful_results: roful.Results) -> None:
        """With printed rewards the printed algorithm counts, with linear means ours: the other one may be anything."""
        finals = {"OFUL": 2.0, "R-OFUL": 1.0, "R-OFUL as printed": 3.0}
        draws = {key: [constant(part, finals) for part in parts] for key, parts in roful_results.draws.items()}
        found = verdicts(roful.claims(dataclasses.replace(roful_results, draws=draws)))
        assert one(found, "R-OFUL has much lower regret than OFUL (rewards and algorithm") is Verdict.FAILS
        assert one(found, "R-OFUL has much lower regret than OFUL (rewards with linear") is Verdict.HOLDS

    def test_runs_that_share_their_arms_count_once(self, roful_results: roful.Results) -> None:
        """R-OFUL ahead on 8 of 10 draws: 16 of 20 runs, whose sign test has 0.006; 8 of 10 has 0.05."""
        draws = {}
        for key, parts in roful_results.draws.items():
            finals = [{"OFUL": 2.0, "R-OFUL": own, "R-OFUL as printed": own} for own in [1.0] * 8 + [2.5] * 2]
            draws[key] = [constant(part, own) for part, own in zip(parts, finals, strict=True)]
        results = dataclasses.replace(roful_results, draws=draws)
        (claim, *_) = roful.claims(results)
        assert claim.verdict is Verdict.FAILS
        assert "less in 8 of 10 draws of the arms (sign test 5e-02)" in claim.measured

    def test_a_bound_that_says_nothing_is_told(self, roful_results: roful.Results) -> None:
        """In 60 rounds the bound is what any choice of arms could cost, 60 times the largest regret of a round."""
        (claim,) = [claim for claim in roful.claims(roful_results) if claim.source == "Theorem 4"]
        assert claim.measured.count("(nowhere)") == 3
        part = roful_results.draws["two-point", 5][0]
        long = dataclasses.replace(part, rounds=np.array([60, 10_000_000]))
        for promise in mb.theory.regret_bounds(long).values():
            assert promise.informative.tolist() == [False, True]


class TestDraws:
    def test_what_the_paper_says_of_the_arms(self) -> None:
        """Norms 1 and 0.9, folded normal visible parts, the first arm near theta, all others 2-sparse of norm 1."""
        for number in range(10):
            draw = world.make_draw(SMALL_TRANSFER, number)
            assert np.linalg.norm(draw.theta_known) == pytest.approx(1.0)
            assert np.linalg.norm(draw.theta_hidden) == pytest.approx(0.9)
            assert draw.visible.min() >= 0.0
            assert np.linalg.norm(draw.hidden[0] - draw.theta_hidden) <= 0.1
            assert np.all(np.count_nonzero(draw.hidden[1:], axis=1) == 2)
            np.testing.assert_allclose(np.linalg.norm(draw.hidden[1:], axis=1), 1.0)
            latent = draw.hidden @ draw.theta_hidden
            assert np.all((latent >= 0.0) & (latent <= 1.0))

    def test_arms_do_not_depend_on_the_number_of_values(self) -> None:
        few, many = (world.make_draw(dataclasses.replace(SMALL_TRANSFER, values=values), 3) for values in (10, 1_000))
        np.testing.assert_array_equal(few.hidden, many.hidden)
        np.testing.assert_array_equal(few.visible, many.visible)

    def test_the_infinite_log_is_exact(self) -> None:
        """The expert gets E max_k <a_k, T>, at least what the best arm has; no bound is off by more than rounding."""
        for number in range(20):
            draw = world.make_draw(SMALL_TRANSFER, number)
            assert draw.share.sum() == pytest.approx(1.0)
            assert draw.share @ draw.mean >= draw.means.max() - 1e-12
            for box in world.BOXES:
                sharp, corrected = draw.bounds("sharp", box), draw.bounds("corrected", box)
                assert world.contains(sharp, draw.means).all()
                assert world.contains(corrected, draw.means).all()
                assert np.all(sharp.upper <= draw.share @ draw.mean + 1e-7)  # no arm is better than the expert

    def test_uniform_in_the_ball(self) -> None:
        """(r / radius)^5 is uniform. Kolmogorov-Smirnov at 20,000 points: a distance of 0.02 has chance 2 exp(-16)."""
        points = world.ball(np.random.default_rng(1), 20_000, SMALL_TRANSFER)
        shares = np.sort((np.linalg.norm(points, axis=1) / 0.1) ** 5)
        assert np.abs(shares - np.arange(1, 20_001) / 20_001).max() < 0.02
        assert np.abs(points.mean(axis=0)).max() < 5 * 0.1 / np.sqrt(20_000)

    def test_printed_bounds_exclude_the_truth(self) -> None:
        """By hand: an arm that is played throughout has p = 1; its printed lower bound is nu + m d sum(a), above nu."""
        found = 0
        for number in range(20):
            draw = world.make_draw(SMALL_TRANSFER, number)
            if draw.share.max() < 1.0:
                continue
            best = int(np.argmax(draw.share))
            low = draw.box()[0][0]
            printed = draw.bounds("paper")
            assert printed.lower[best] == pytest.approx(draw.mean[best] + 5.0 * low * draw.hidden[best].sum())
            assert not world.contains(printed, draw.means)[best]
            found += 1
        assert found >= 5


class TestTransfer:
    def test_end_to_end(self, transfer_results: transfer.Results) -> None:
        pictures = transfer.plot(transfer_results)
        assert set(pictures) == {"setting-1", "setting-2", "draws"}
        plt.close("all")
        found = verdicts(transfer.claims(transfer_results))
        assert one(found, "The mean of every arm is within the bounds") is Verdict.CORRECTED
        assert one(found, "With probability 1 - delta") is Verdict.CORRECTED  # printed: for arms of norm 1
        assert len(found) == 10

    def test_settings_are_what_the_captions_say(self, transfer_results: transfer.Results) -> None:
        for name, improved in (("setting-1", False), ("setting-2", True)):
            tight = transfer_results.shown[name].tight
            factors = tight.variance_proxy[tight.possible]
            assert 2 <= factors.size < 12
            assert bool(factors.min() < 0.25 - 1e-9) is improved
            kept = transfer_results.shown[name].alone.measures["kept"]["corrected"][:, -1]
            np.testing.assert_array_equal(kept, factors.size * 60)  # nothing is restricted any more

    def test_no_such_draw(self, transfer_results: transfer.Results) -> None:
        settings = dataclasses.replace(SMALL_TRANSFER, left=11)
        with pytest.raises(ValueError, match=r"none of 20 draws of the arms leaves 11 arms .* raise draws"):
            find(transfer_results.survey, transfer_results.online, settings, improved=True)

    def test_bounds_that_contradict_each_other_are_named(self) -> None:
        """With limits for each coordinate the printed bounds leave nothing, in every draw."""
        draw = world.make_draw(SMALL_TRANSFER, 0)
        tight, reason = world.usable(draw, draw.bounds("paper", "by coordinate"))
        assert tight is None
        assert "arm " in reason

    def test_verdicts_follow_from_the_numbers(self, transfer_results: transfer.Results) -> None:
        """Made-up regret and bounds, as claimed and not."""

        def made(restricted: float, clipped: float, excluded: int, missed: int) -> dict[str, Verdict]:
            shown = {}
            for name, own in transfer_results.shown.items():
                finals = {label: 2.0 if label == "OFUL" else restricted for label in own.regret.labels}
                shown[name] = dataclasses.replace(own, regret=constant(own.regret, finals))
            online = transfer_results.online.assign(**{"OFUL": 2.0, "corrected": restricted, "as printed": restricted})
            online = online.assign(**{"OFUL, only arms left": 2.0, "corrected, only arms left": clipped})
            survey = transfer_results.survey.assign(excluded=excluded)
            logs = transfer_results.logs.assign(corrected_excluded=missed, limits_excluded=missed)
            results = dataclasses.replace(transfer_results, shown=shown, online=online, survey=survey, logs=logs)
            return verdicts(transfer.claims(results))

        starts = (
            "The mean of every arm",
            "A log of",
            "In the first",
            "Where the bounds say something, R-OFUL significantly outperforms OFUL (from the printed",
            "Where the bounds say something, R-OFUL significantly outperforms OFUL (from corrected",
            "Where the bounds do not",
        )
        good, bad = made(1.0, 2.0, 0, 0), made(3.0, 3.0, 1, 1)
        for start in starts:
            assert one(good, start) is Verdict.HOLDS
            assert one(bad, start) is Verdict.FAILS


def test_bounds_beside_each_other_cross_out_what_is_wrong() -> None:
    """Of three arms, the second's mean is above one of the two bounds, the third's below it."""
    right, wrong = mb.MeanBounds([0.1, 0.2, 0.3], [0.9, 0.8, 0.7]), mb.MeanBounds([0.1, 0.2, 0.6], [0.9, 0.4, 0.7])
    ax = plots.plot_bounds_beside({"right": right, "wrong": wrong}, [0.5, 0.5, 0.5], low=0.0, high=1.0)
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [float(np.asarray(line.get_xdata())[0]) for line in crosses] == [0.4, 0.6]
    plt.close("all")
