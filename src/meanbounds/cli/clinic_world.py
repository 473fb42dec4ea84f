"""A clinic that is made up: patients, what doctors see of them, and how treatments turn out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.support.types import Floats, Integers

__all__ = ["AGES", "ARMS", "Clinic", "Day"]

AGES = ("under 60", "60 to 75", "over 75")
ARMS = ("tPA", "medical", "watch")

_OF_AGE = (0.35, 0.4, 0.25)
_SEVERE = (0.3, 0.5, 0.6)  # share of severe cases, by age: doctors see it, and nobody writes it down
_GOOD = np.array(  # probability of a good outcome, by age, severity (mild, severe) and treatment
    [
        [[0.80, 0.75, 0.86], [0.76, 0.50, 0.20]],
        [[0.62, 0.74, 0.78], [0.56, 0.48, 0.15]],
        [[0.40, 0.60, 0.70], [0.25, 0.45, 0.20]],
    ]
)
_NEW_DRUG = 0.93  # probability of a good outcome of medical treatment, for everybody, once there is a new drug
_ERRS = 0.05  # share of the cases in which a doctor does not choose the best treatment


@dataclass(frozen=True)
class Day:
    """The patients of a day: their ages, what a doctor would choose, and the outcome of each treatment."""

    ages: Integers
    doctors: Integers
    outcomes: Floats

    def __len__(self) -> int:
        """How many patients there are."""
        return len(self.ages)


class Clinic:
    """A clinic whose doctors see how severe a case is.

    Parameters
    ----------
    patients
        How many come in a day.
    new_drug
        The day from which on a new drug makes the medical treatment better for everybody; never by default.
    seed
        Of its random numbers.

    Examples
    --------
    >>> from meanbounds.cli.clinic_world import Clinic
    >>> day = Clinic(patients=5, seed=7).day(0)
    >>> len(day), day.outcomes.shape
    (5, (5, 3))
    """

    def __init__(self, patients: int, new_drug: int | None = None, seed: int = 7) -> None:
        self.patients, self.new_drug, self.seed = patients, new_drug, seed

    def good(self, day: int) -> Floats:
        """The probability of a good outcome on a day, by age, severity and treatment."""
        if self.new_drug is None or day < self.new_drug:
            return _GOOD
        changed = _GOOD.copy()
        changed[:, :, ARMS.index("medical")] = _NEW_DRUG
        return changed

    def means(self, day: int) -> Floats:
        """The probability of a good outcome on a day, by age and treatment: what no log shows."""
        severe = np.array(_SEVERE)[:, None]
        good = self.good(day)
        return np.asarray((1.0 - severe) * good[:, 0] + severe * good[:, 1])

    def day(self, number: int) -> Day:
        """The patients of a day; the same ones whenever it is asked for."""
        rng = np.random.default_rng([self.seed, number])
        ages = rng.choice(len(AGES), self.patients, p=_OF_AGE)
        severe = (rng.random(self.patients) < np.array(_SEVERE)[ages]).astype(np.int64)
        best = _GOOD[ages, severe].argmax(axis=1)  # doctors do not know of the new drug
        errs = rng.random(self.patients) < _ERRS
        doctors = np.where(errs, (best + rng.integers(1, len(ARMS), self.patients)) % len(ARMS), best)
        outcomes = (rng.random((self.patients, 1)) < self.good(number)[ages, severe]).astype(float)
        return Day(ages, doctors, outcomes)
