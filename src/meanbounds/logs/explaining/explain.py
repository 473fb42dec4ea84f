"""Explain a log to the person who decides: compute everything, then write it as a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.assumptions import Assumption, KnownPropensity, OptimalExpert, check_assumption
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, check_confidence
from meanbounds.logs.counts import Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.expert import judged_log, listed_arms
from meanbounds.logs.explaining.basis import Basis
from meanbounds.logs.explaining.costs import Costs, costs_of
from meanbounds.logs.explaining.ladder import Rung, assumptions_of, rung
from meanbounds.logs.explaining.page import write
from meanbounds.logs.explaining.parts.view import View
from meanbounds.logs.explaining.summary import sentences
from meanbounds.logs.explaining.turning import Turn, first_to_tip, turns_of
from meanbounds.logs.names import Context
from meanbounds.support.checks import as_whole
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_text_atomically

__all__ = ["Explanation", "explain"]

_MOST = 12  # contexts that are shown one by one
_LARGEST = 6  # of them, those with the most rows; the others are those that tip first
_WORLDS = 160


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a log says and what rests on judgements, as numbers; `html` and `save` write the page.

    Attributes
    ----------
    basis
        The counts, what is judged of who wrote the log, and how limits are computed.
    rungs
        What follows from each assumption, from the weakest to the strongest.
    shown
        The contexts that are shown one by one.
    turns
        At which value of each judgement the decision tips, in the contexts that are shown.
    first
        For each context how far judgements can move before its decision tips, as a share of how far they can move at
        all, in steps of a twelfth; infinite where nothing tips it. None where every context is shown.
    costs
        What decisions can be expected to cost: in worlds in which what is judged is true, and in worlds in which
        nothing is assumed.
    seed
        The seed of the simulations.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
    >>> found = mb.logs.explain(lab.sample(10_000, seed=7), worlds=8)
    >>> [rung.assumption for rung in found.rungs][-2:]
    [OptimalExpert(), OptimalExpert(0.05, gap_high=0.5)]
    >>> print(found.sentences[0][:61])
    The log has 10,000 rows and 2 options. Averages mislead: “tPA
    """

    basis: Basis
    rungs: tuple[Rung, ...]
    shown: tuple[Context, ...]
    turns: tuple[Turn, ...]
    first: Floats | None
    costs: tuple[Costs, ...]
    seed: int

    @property
    def own(self) -> Rung:
        """What follows from what is judged."""
        return next(one for one in self.rungs if one.assumption == self.basis.assumption)

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The three main sentences: what the log has, when the decision tips, and what starting from it saves.

        Examples
        --------
        >>> import meanbounds as mb
        >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
        >>> len(mb.logs.explain(lab.sample(10_000, seed=7), worlds=8).sentences)
        3
        """
        return sentences(self.basis, self.own, self.turns, self.costs)

    def html(self, title: str = "") -> str:
        """The page, in one file that needs nothing else.

        Parameters
        ----------
        title
            What the log is, for the heading, such as the name of its file.

        Examples
        --------
        >>> import meanbounds as mb
        >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
        >>> mb.logs.explain(lab.sample(10_000, seed=7), worlds=8).html("log.csv")[:15]
        '<!doctype html>'
        """
        own = self.own
        view = View(
            self.basis, self.rungs, own, self.shown, self.turns, self.first, self.costs, self.sentences, self.seed
        )
        return write(view, title)

    def save(self, path: str | Path, title: str = "") -> None:
        """Write the page to a file; one that exists is replaced.

        Parameters
        ----------
        path
            The file to write, such as ``"page.html"``.
        title
            What the log is, for the heading.

        Examples
        --------
        >>> import tempfile, pathlib, meanbounds as mb
        >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
        >>> mb.logs.explain(lab.sample(10_000, seed=7), worlds=8).save(path)
        >>> path.stat().st_size < 3_000_000
        True
        """
        write_text_atomically(path, self.html(title))


def explain(
    counts: Counts,
    assumption: Assumption | None = None,
    *,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
    worlds: int = _WORLDS,
    seed: Seed = 0,
) -> Explanation:
    """Explain a log to the person who decides: what it says, what rests on a judgement, and what it saves.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    assumption
        What you judge of who wrote the log, such as ``ErringExpert(0.05)``. By default ``OptimalExpert()``: what was
        chosen was the best option for its case, by whatever gap.
    confidence, infinite, method, shift, arms
        As for `meanbounds.logs.bounds`.
    worlds
        How many worlds to simulate the first decisions in, of each kind; at least 2.
    seed
        The seed of the simulations; the same seed gives the same page.

    Returns
    -------
    Explanation
        The numbers, and `Explanation.save` for the page.

    Raises
    ------
    ValueError
        If the assumption is that of a program's log, `KnownPropensity`: its averages can be corrected, and no expert
        has to be judged.

    Notes
    -----
    A log may contradict an assumption; the page then says so, and goes on. With more than twelve contexts it shows
    those with the most rows and those whose decision tips first, and lists the others in a table.

    Examples
    --------
    >>> import meanbounds as mb
    >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
    >>> found = mb.logs.explain(world.sample(10_000, seed=7), worlds=8)
    >>> found.own.best("z0")
    ('tPA', 'watch')
    >>> for turn in found.turns:
    ...     print(turn.point)
    above gap_low 0.243: 'watch' can no longer be best
    """
    level = check_confidence(confidence, infinite)
    assumed = OptimalExpert() if assumption is None else check_assumption(assumption)
    if any(isinstance(part, KnownPropensity) for part in assumed.parts):
        raise ValueError(
            "explain is for logs of people whose choices are judged; where a column says how likely each choice was, "
            "use logs.bounds, whose bounds judge nobody"
        )
    number = as_whole("worlds", worlds)
    if number < 2:
        raise ValueError(f"worlds must be at least 2, to say how sure the costs are; got {number}")
    counts = listed_arms(counts, arms)
    if not counts.count.any():
        raise LogError("the log has no rows, so there is nothing to explain")
    log = judged_log(counts, assumed, level, method, shift).log
    basis = Basis(counts, assumed, level, method, log.shift)
    rungs = tuple(rung(basis, one) for one in assumptions_of(assumed, basis.span))
    first = first_to_tip(basis) if len(counts.contexts) > _MOST else None
    shown = _shown(basis, first)
    whole = as_seed(seed)
    return Explanation(basis, rungs, shown, turns_of(basis, shown), first, costs_of(basis, rungs, number, whole), whole)


def _shown(basis: Basis, first: Floats | None) -> tuple[Context, ...]:
    """All contexts of few; of many, those with the most rows, and those whose decision tips first."""
    if first is None:
        return basis.contexts
    by_rows = np.argsort(-basis.rows, kind="stable")
    by_way = np.lexsort((-basis.rows, first))
    chosen = dict.fromkeys(by_rows[:_LARGEST].tolist())
    for place in by_way.tolist():
        if len(chosen) == _MOST or not np.isfinite(first[place]):
            break
        chosen.setdefault(place)
    for place in by_rows.tolist():
        if len(chosen) < _MOST:
            chosen.setdefault(place)
    return tuple(basis.contexts[place] for place in chosen)
