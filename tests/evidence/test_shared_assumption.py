"""Evidence against one assumption: shared by contexts, rarely wrong, and what it leaves of the trust."""

import math

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.evidence import AssumptionWarning, Ledger, log_e
from meanbounds.known import Known, Seen

PRUNED = mb.MeanBounds([0.5, 0.78, 0.3], [0.75, 0.95, 0.7])  # the best arm is excluded
RIGHT = mb.MeanBounds([0.8, 0.7, 0.3], [0.95, 0.9, 0.7])


def of(*bounds: mb.MeanBounds, trust: float | list[float] = 0.9) -> Known:
    return Known.of([mb.Knowledge(own, trust=trust) for own in bounds])


def seen_of(plays: object, means: object) -> Seen:
    """Rewards of 0 and 1."""
    n, m = np.broadcast_arrays(np.asarray(plays, dtype=np.float64), np.asarray(means, dtype=np.float64))
    return Seen(n, np.round(n * m), np.round(n * m), np.round(n * m))


def test_evidence_is_what_the_definition_says_and_can_be_taken_back() -> None:
    rng, known, ledger = np.random.default_rng(1), of(PRUNED, RIGHT, PRUNED), Ledger("a", 3)
    seen = seen_of(rng.integers(0, 30, (3, 3)), rng.random((3, 3)))
    ledger.enter(known, seen)
    lower, upper = (
        log_e(seen.plays, seen.total, squares=seen.total, **{side: getattr(known, side)}) for side in ("lower", "upper")
    )
    e, weights = np.exp(np.array([lower, upper])), 1.0 / (np.arange(1.0, 21.0) * np.arange(2.0, 22.0))
    each = [e, *(e[:, :, k] for k in range(3))]
    whole, *by_arm = (
        sum(w / weights.sum() * np.prod(1 - 0.5**i + 0.5**i * x) for i, w in enumerate(weights)) for x in each
    )
    assert ledger.log_e == pytest.approx(math.log(0.5 * whole + 0.5 * sum(by_arm) / 3), abs=1e-9)
    for row in range(3):
        ledger.enter(known.row(row), seen.row(row), sign=-1)
    assert ledger.log_e == pytest.approx(0.0, abs=1e-9)
    for certain in (of(PRUNED, trust=1.0), of(PRUNED, trust=[1.0, 0.9, 0.0])):  # these do not rest on the assumption
        ledger.enter(certain, seen_of([[50, 0, 50]], 1.0))
        assert ledger.log_e == pytest.approx(0.0, abs=1e-9)


def test_a_refuted_assumption_is_told_once() -> None:
    """One wrong context among 200; or a little evidence in each of 20 contexts, none of it enough by itself."""
    ledger, many = Ledger("the expert is optimal", 3), Ledger("a", 3)
    ledger.enter(of(*[RIGHT] * 199), seen_of(np.full((199, 3), 40), [[0.9, 0.8, 0.5]]))
    assert ledger.log_e < 0.0
    assert ledger.news() is None
    ledger.enter(of(PRUNED), seen_of([[300, 0, 0]], 0.9))
    news = ledger.news()
    assert isinstance(news, AssumptionWarning)
    assert (news.assumption, news.log_e) == ("the expert is optimal", ledger.log_e)
    assert str(news).startswith(
        "the rewards so far, taken together, refute the assumption 'the expert is optimal' (e-v"
    )
    assert ledger.news() is None
    many.enter(of(*[PRUNED] * 20), seen_of([[12, 0, 0]] * 20, 1.0))
    assert log_e(12, 12, upper=0.75, squares=12) < 3.0
    assert many.news() is not None


def test_trust_is_taken_away_and_never_given() -> None:
    """The odds that bounds hold are those of the trust over E; a refuted assumption is given up in all contexts."""
    ledger, known = Ledger("a", 3), of(RIGHT, trust=[0.9, 0.99, 0.9])
    ledger.enter(known, seen_of([[60, 60, 60]], [[0.9, 0.8, 0.5]]))
    assert ledger.log_e < 0.0
    assert ledger.doubted(known, 0) is known
    assert ledger.doubted(of(RIGHT, trust=1.0), 0).log_n is None
    ledger.sums[:] = 0.0
    ledger.enter(known, seen_of([[0, 0, 16]], 1.0))
    assert ledger.log_e > 0.0
    odds = np.array([[9.0, 99.0, 9.0]]) / math.exp(ledger.log_e)
    assert ledger.doubted(known, 0).log_n == pytest.approx(np.log1p(odds))
    ledger.enter(known, seen_of([[0, 0, 200]], 1.0))
    assert (np.asarray(ledger.doubted(known, [0, 1]).log_n) < 1e-6).all()


@pytest.mark.parametrize(("trust", "share"), [(0.9, 0.2 * 0.1**0.5), (0.99, 0.02), (1 - 1e-8, 0.2e-4)])
def test_a_share_of_the_contexts_plays_without_the_bounds(trust: float, share: float) -> None:
    known, doubt = of(PRUNED, trust=trust), -math.log1p(-trust)
    log_n = np.asarray(Ledger("a", 3).doubted(known, np.arange(20_000)).log_n)
    controls = np.asarray((log_n < 1e-6).all(axis=1))
    assert np.count_nonzero(controls) == pytest.approx(share * controls.size, abs=2)
    assert log_n[~controls] == pytest.approx(doubt)
    assert not controls[0]  # an agent without contexts is none
