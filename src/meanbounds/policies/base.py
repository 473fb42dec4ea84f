"""What a policy is: data that turns bounds into a plan for a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.kernels import textbook
from meanbounds.policies.exploration import DEFAULT, Exploration, log_f

__all__ = ["Policy", "make_plan"]

_REGISTRY: dict[str, type[Policy]] = {}


def make_plan(
    bounds: MeanBounds,
    keep: NDArray[np.bool_] | None = None,
    cap: ArrayLike = np.inf,
    proxy: ArrayLike = 0.0,
    lower: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Plan with the rows of `meanbounds.kernels.tables.Plan`, one column for each arm that is kept.

    Parameters
    ----------
    bounds
        Gives the arms and their reward ranges.
    keep
        Which arms may be played; all by default.
    cap
        What clips each arm's index, in reward units.
    proxy
        Variance proxy of each arm, in reward units squared.
    lower
        Lower bound that the kernel may use; the bottom of the range by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.make_plan(mb.MeanBounds([0.2, 0.3], [0.8, 0.9]), cap=0.5, proxy=0.25).shape
    (6, 2)
    """
    rows = (
        np.arange(len(bounds)),
        bounds.low,
        bounds.high - bounds.low,
        bounds.low if lower is None else lower,
        cap,
        proxy,
    )
    table = np.array([np.broadcast_to(row, len(bounds)) for row in rows], dtype=np.float64)
    return table if keep is None else np.ascontiguousarray(table[:, keep])


@dataclass(frozen=True)
class Policy(ABC):
    """Base of all policies.

    A policy is a frozen dataclass with a kernel and a `plan`; see "Add a policy" in CONTRIBUTING.

    Parameters
    ----------
    f
        How fast exploration grows: a name from `meanbounds.policies.EXPLORATION`, or a function of an array of rounds
        that is at least 1 and never falls.
    """

    kernel: ClassVar[int] = textbook.GAUSSIAN
    theorem: ClassVar[str] = ""

    f: Exploration = DEFAULT

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            _REGISTRY[cls.__name__] = cls

    def __post_init__(self) -> None:
        self.log_f(1, 2)

    @abstractmethod
    def plan(self, bounds: MeanBounds) -> NDArray[np.float64]:
        """What the kernel needs to know of each arm, from the bounds of the arms on offer."""

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Numbers that the kernel needs beyond the plan."""
        return np.zeros(0)

    @property
    def has_index(self) -> bool:
        """Whether the policy plays the arm with the largest index."""
        return self.kernel in (textbook.GAUSSIAN, textbook.KL, textbook.BOOST)

    def log_f(self, first: int, last: int) -> NDArray[np.float64]:
        """Log f(t) for the rounds t = first, ..., last."""
        return log_f(self.f, first, last)

    def __str__(self) -> str:
        """Name, and only the parameters that are not at their defaults."""
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in changed)
        return type(self).__name__ + (f"({inside})" if inside else "")

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, safe for JSON."""
        if callable(self.f):
            raise ValueError(
                f"{type(self).__name__} has a function as f, which JSON cannot hold; use one of the named f"
            )
        return {"policy": type(self).__name__, **asdict(self)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Policy:
        """The inverse of `to_dict`; parameters that are left out keep their defaults.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Policy.from_dict({"policy": "GLUE"})
        GLUE(f='1 + t log(t)^2')
        """
        settings = dict(data)
        name = settings.pop("policy", None)
        if name not in _REGISTRY:
            raise ValueError(f"unknown policy {name!r}; the policies are {', '.join(sorted(_REGISTRY))}")
        kind: Callable[..., Policy] = _REGISTRY[name]
        known = [field.name for field in fields(_REGISTRY[name])]
        for key in settings:
            if key not in known:
                raise ValueError(f"{name} has no parameter {key!r}; its parameters are {', '.join(known)}")
        return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in settings.items()})
