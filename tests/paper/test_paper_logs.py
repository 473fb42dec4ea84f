"""Experiments that start from a log, in tiny sizes, and what they are built of: completion, ratings, finite logs."""

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paper.output import CORRECTED, FAILS, FOLDER, HOLDS
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import binom
from tests.paper.reporting import Report, check_files, made

import meanbounds as mb
from meanbounds.theory import log_bounds
from paper import finite_log, movielens, output, ratings, soft_impute, theorem7, transfer

RECIPE = movielens.Recipe(penalties=(2.0, 1.0), rank=5, tolerance=1e-2, arms=6)
TINY = {
    theorem7: theorem7.Sizes(40, 6),
    transfer: transfer.Sizes(18, 2, 2_000, 12, 3, 2),
    movielens: movielens.Sizes(300, 150, RECIPE, 2, 2, 60),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return made(tmp_path_factory.mktemp("reproduce"), TINY)


def test_files_and_report(report: Report) -> None:
    check_files(report)


def test_verdicts_that_do_not_depend_on_sizes(report: Report) -> None:
    _, found = report
    assert [claim.verdict for claim in found["theorem7"]] == [HOLDS, CORRECTED, HOLDS, HOLDS, HOLDS]
    assert found["transfer"][0].verdict == CORRECTED
    assert "Corrected and sharp bounds exclude 0;" in found["transfer"][0].measured
    assert found["transfer"][-1].verdict == CORRECTED
    assert all(claim.measured.startswith("Made-up ratings, not MovieLens: ") for claim in found["movielens"])
    verdicts = {claim.source: claim.verdict for claim in found["movielens"]}
    assert verdicts["Theorem 7, Figure 6"] == HOLDS
    assert verdicts["Theorem 6"] != FAILS


def test_soft_impute_is_a_fixed_point_of_the_plain_algorithm() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30))
    rows, columns = np.nonzero(rng.random(truth.shape) < 0.5)
    known = sparse.csr_array((truth[rows, columns], (rows, columns)), truth.shape)
    for centre in (False, True):
        found = soft_impute.soft_impute(known, 2.0, rank=30, centre=centre, tolerance=1e-8)
        matrix = found.entries(slice(None)) - found.mean
        filled = matrix.copy()
        filled[rows, columns] = truth[rows, columns] - found.mean
        left, sizes, right = np.linalg.svd(filled, full_matrices=False)
        np.testing.assert_allclose((left * np.maximum(sizes - 2.0, 0.0)) @ right, matrix, atol=1e-5)
        assert found.mean == pytest.approx(truth[rows, columns].mean() if centre else 0.0)
        assert not found.binds
    assert soft_impute.soft_impute(known, 2.0, rank=2).binds
    chosen = soft_impute.choose_penalty(known, [0.5, 8.0, 40.0, 400.0], rank=5)
    assert chosen.penalty == min(chosen.trials, key=lambda trial: trial.error).penalty < 40.0
    assert soft_impute.choose_penalty(known, [7.0], rank=5).trials == ()


def write_movielens(folder: Path, **changed: str) -> Path:
    """A folder in the format of MovieLens 1M."""
    files = {
        "ratings": "2::1::5::978300760\n2::3::1::978300760\n7::3::2::0\n",
        "users": "7::F::25::11::55117\n2::M::56::0::0\n",
        "movies": "1::Toy Story (1995)::Animation\n3::Caf\xe9 (1995)::Drama\n",
    }
    for name, text in (files | changed).items():
        (folder / f"{name}.dat").write_text(text, encoding="latin-1")
    return folder


def test_movielens_is_read_and_faults_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no .*ratings\.dat.*--movielens"):
        ratings.load_movielens(tmp_path)
    found = ratings.load_movielens(write_movielens(tmp_path), complete=False)
    np.testing.assert_array_equal(found.stars.toarray(), [[0, 0, 2], [5, 0, 1]])
    assert (found.gender, found.age.tolist(), found.occupation.tolist()) == (["F", "M"], [25, 56], [11, 0])
    assert found.titles == ["Toy Story (1995)", "", "Caf\xe9 (1995)"]
    assert found.rewards.nnz == 3
    assert found.rewards[1, 0] == 1.0
    assert (found.note, found.times_rated.tolist()) == ("MovieLens 1M", [1, 0, 2])
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(ValueError, match=r"has 3 ratings by 2 users.*there are 1,000,209 by 6,040"):
        ratings.find_ratings()
    for name, text, message in (
        ("ratings", "2::1::5\n", r"ratings\.dat, line 1: 4 parts"),
        ("ratings", "2::1::5::0\n2::x::5::0\n", r"ratings\.dat, line 2"),
        ("ratings", "9::1::5::0\n", "user 9, whom users.dat does not have"),
        ("ratings", "2::1::5::0\n2::1::4::0\n", "a movie twice"),
        ("users", "7::F::old::11::0\n", r"users\.dat, line 1: 5 parts"),
    ):
        write_movielens(tmp_path, **{name: text})
        with pytest.raises(ValueError, match=message):
            ratings.load_movielens(tmp_path, complete=False)


def test_the_folder_is_given_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "elsewhere")
    monkeypatch.setattr(sys, "argv", ["movielens", "--out", str(tmp_path), "--movielens", str(tmp_path / "ml-1m")])
    with pytest.raises(FileNotFoundError, match="ml-1m"):
        output.command("", movielens.main)


def test_made_up_ratings_have_the_shares_of_movielens() -> None:
    found, again = ratings.made_up_ratings(400, 300), ratings.made_up_ratings(400, 300)
    counts = np.bincount(found.stars.data.astype(int), minlength=6)[1:]
    np.testing.assert_allclose(counts / counts.sum(), np.array(ratings.STARS) / sum(ratings.STARS), atol=1e-3)
    assert found.made_up
    assert found.stars.shape == (400, 305)
    np.testing.assert_array_equal(found.stars.data, again.stars.data)
    assert np.diff(found.stars.indptr).min() >= 20
    assert all(found.titles[number] for number in np.flatnonzero(found.times_rated))


def test_logs_are_averages_of_users_who_are_alike() -> None:
    given = ratings.made_up_ratings(200, 120)
    completion = movielens.complete(given, RECIPE)
    kept = np.arange(0, 200, 2)
    logs = movielens.logs_of(given, completion, kept, RECIPE, 0)
    cases = logs.cases["Student"]
    numbers = [int(str(arm).rsplit("(", 1)[1].rstrip(")")) - 1 for arm in cases.arms]
    students = [k for k in kept.tolist() if movielens.OCCUPATIONS[int(given.occupation[k])] == "Student"]
    rewards = np.clip(completion.entries(np.array(students), numbers), 0.0, 1.0)
    np.testing.assert_allclose(cases.marginal_means[0], rewards.mean(axis=0))
    kinds = {(given.gender[k], movielens.AGES[int(given.age[k])]) for k in students}
    assert cases.means.shape == (1, len(kinds), 6)
    by_age = movielens.logs_of(given, completion, kept, replace(RECIPE, visible="age", weights="uniform"), 0)
    assert set(by_age.cases) | set(by_age.without) == set(movielens.AGES.values())
    assert all(np.ptp(own.probabilities) < 1e-12 for own in by_age.cases.values())
    nobody = movielens.logs_of(given, completion, kept[:1], RECIPE, 0)
    assert not nobody.cases
    assert set(nobody.without) == set(movielens.OCCUPATIONS.values())


def test_share_limits_are_exact() -> None:
    count, failure = np.array([0.0, 3.0, 40.0, 57.0]), 0.01
    lower, upper = finite_log.share_limits(count, failure)
    np.testing.assert_allclose(binom.cdf(count, 100, upper), failure)
    np.testing.assert_allclose(binom.sf(count[1:] - 1, 100, lower[1:]), failure)
    assert lower[0] == 0.0


def test_finite_log_bounds_equal_one_large_program() -> None:
    """Shares and p_j x_j together are one linear program for each side of each arm."""
    rng = np.random.default_rng(3)
    known, hidden = np.array([0.1, 0.3, 0.0]), np.array([[1.0, 0.2], [0.1, 0.8], [0.6, -0.6]])
    box, failure = (np.array([0.0, 0.1]), np.array([0.8, 0.9])), 0.05 / 12
    parameters = rng.uniform(*box, (400, 2))
    best, latent = transfer.play_expert(known, hidden, parameters)
    reward = known[best] + latent
    sums = [np.bincount(best, part, 3).astype(float) for part in (np.ones(400), reward, reward**2)]
    ends = np.full(3, -1.0), np.full(3, 2.0)
    lower, upper = finite_log.finite_log_bounds((sums[0], sums[1], sums[2]), known, hidden, box, ends)
    unit = sums[0], (sums[1] + sums[0]) / 3.0, (sums[2] + 2.0 * sums[1] + sums[0]) / 9.0
    limits = [
        -1.0 + 3.0 * side(*unit, -np.log(failure))
        for side in (mb.logs.confidence.lower_limit, mb.logs.confidence.upper_limit)
    ]
    shares = finite_log.share_limits(sums[0], failure)
    rows = []  # variables: p (3), then p_j x_j (3 x 2); each row <= 0
    for j in range(3):
        y = 3 + 2 * j
        for i in range(3):
            row = np.zeros(9)
            row[j], row[y : y + 2] = known[i] - known[j], hidden[i] - hidden[j]
            rows.append(row)
        for sign, end in ((1.0, limits[1][j]), (-1.0, limits[0][j])):
            row = np.zeros(9)
            row[j], row[y : y + 2] = sign * (known[j] - end), sign * hidden[j]
            rows.append(row)
        for d, (sign, side) in itertools.product(range(2), ((1.0, box[1]), (-1.0, box[0]))):
            row = np.zeros(9)
            row[j], row[y + d] = -sign * side[d], sign
            rows.append(row)
    sides = [*zip(*shares, strict=True), *[(None, None)] * 6]
    for k in range(3):
        target = np.concatenate([np.full(3, known[k]), np.tile(hidden[k], 3)])
        for sign, bound in ((1.0, lower[k]), (-1.0, upper[k])):
            found = linprog(sign * target, rows, np.zeros(len(rows)), [[1.0] * 3 + [0.0] * 6], [1.0], bounds=sides)
            assert found.fun == pytest.approx(sign * bound, abs=1e-7)
    means = known + hidden @ np.mean(box, axis=0)
    assert np.all((lower <= means) & (means <= upper))
    with pytest.raises(mb.BoundsError, match="arm 2 was played"):
        finite_log.finite_log_bounds((sums[0] * [1, 1, 0] + [0, 0, 300], sums[1], sums[2]), known, hidden, box, ends)


def test_bounds_to_start_from_know_the_box() -> None:
    draw = transfer.make_draw(3, 2_000)
    vacuous = draw.known, draw.known + 1.0
    start = transfer.start_from(draw, vacuous)
    low, high = draw.box()
    above, below = np.maximum(draw.hidden, 0.0), np.maximum(-draw.hidden, 0.0)
    assert np.all(start.lower >= np.maximum(vacuous[0], draw.known + above @ low - below @ high) - 1e-6)
    assert np.all(start.upper <= np.minimum(vacuous[1], draw.known + above @ high - below @ low) + 1e-6)
    assert start.contains(draw.means).all()
    with pytest.raises(mb.BoundsError):
        transfer.start_from(draw, (draw.known + 2.0, draw.known + 3.0))


def test_cases_that_attain_bounds_have_the_same_log() -> None:
    cases = mb.simulation.HiddenContexts.random(1, 5, arms=4, seed=8)
    share, mean = theorem7.infinite_log(cases)
    gap_low, gap_high = float(cases.gap_low[0]), float(cases.gap_high[0])
    bounds = log_bounds(share / share.sum(), mean, gap_low=gap_low, gap_high=gap_high)
    other = theorem7.attaining(cases)
    np.testing.assert_allclose(other.marginal_means[0], bounds.upper)
    np.testing.assert_allclose(other.shares[0], share)
    assert theorem7.attaining(cases, 2).marginal_means[0, 2] == pytest.approx(bounds.lower[2])
    change = theorem7.moved(cases, 0.1, 1).hidden_given_visible - cases.hidden_given_visible
    assert 0.0 < np.abs(change).max() <= 0.1 + 1e-12
