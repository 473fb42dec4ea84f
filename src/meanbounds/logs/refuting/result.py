"""What the log speaks against, as a value and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meanbounds.logs.assumptions import Assumption
from meanbounds.logs.names import Context
from meanbounds.support.optional import optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Refutation", "Refutations"]


@dataclass(frozen=True)
class Refutation:
    """One thing that the log speaks against.

    Attributes
    ----------
    assumption
        The assumption that is refuted. None: that the rows are independent draws from one law, which every confidence
        limit presumes.
    test
        The test that refutes it, one of those that `Refutations.tests` lists.
    context
        The context in which it does not hold; None if that is known for all contexts together only.
    reason
        What was seen.
    allowed
        Which weaker numbers this test would let pass, all else as it is.

    Examples
    --------
    >>> import meanbounds as mb
    >>> one = mb.logs.Refutation(mb.logs.ErringExpert(0.02), "means of deciders", "old", "Ada earned more than Bo", ())
    >>> one.claim
    "the expert's choice was the best one in all but at most 2% of the cases of each context"
    """

    assumption: Assumption | None
    test: str
    context: Context | None
    reason: str
    allowed: tuple[str, ...]

    @property
    def claim(self) -> str:
        """What is refuted, in words.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.Refutation(None, "choices over time", "old", "'a' was chosen in 60% ...", ()).claim
        'in each context the rows are independent draws from one law'
        """
        if self.assumption is None:
            return "in each context the rows are independent draws from one law"
        return self.assumption.in_words()


@dataclass(frozen=True)
class Refutations:
    """What a log speaks against, and which tests were tried. An assumption that is not listed is not confirmed.

    Attributes
    ----------
    found
        A `Refutation` for each assumption, test and context.
    tests
        The tests that were tried.
    assumption
        What was assumed.
    confidence
        If all that was assumed is true, nothing is found with this probability, or more.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[900, 900]], total=[[90, 300]], squares=[[90, 300]])
    >>> found = mb.logs.refute(counts, mb.logs.OptimalExpert(gap_low=0.2))
    >>> bool(found), found.found[0].context, found.found[0].allowed
    (True, 'all', ('gap_low of at most 0.1509',))
    """

    found: tuple[Refutation, ...]
    tests: tuple[str, ...]
    assumption: Assumption
    confidence: float

    def __bool__(self) -> bool:
        return bool(self.found)

    def summary(self) -> str:
        """Say in words what is refuted, by what, and what would still be allowed.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[90, 90]], total=[[50, 30]], squares=[[50, 30]])
        >>> print(mb.logs.refute(counts, mb.logs.OptimalExpert(gap_low=0.1)).summary())
        assumed: the expert always played the best arm, better than the second best by at least 0.1
        tried: low rewards
        <BLANKLINE>
        Nothing that was assumed is refuted. That does not confirm it: these tests see only some ways to be wrong.
        """
        lines = [f"assumed: {self.assumption.in_words()}", f"tried: {', '.join(self.tests) or 'nothing'}", ""]
        if not self.tests:
            lines.append(
                "The counts alone cannot speak against this. Equal cases, time, several deciders or a randomised part "
                "could: give equal_cases=, time=, decider= or randomised=."
            )
            return "\n".join(lines)
        if not self.found:
            lines.append(
                "Nothing that was assumed is refuted. That does not confirm it: these tests see only some ways to be "
                "wrong."
            )
            return "\n".join(lines)
        sure = f"{100 * self.confidence:.12g}%"
        lines.append(f"Refuted, with {sure} confidence for all of it together. What is not listed is not confirmed.")
        for one in self.found:
            where = "all contexts together" if one.context is None else f"context {one.context!r}"
            lines += ["", f"{one.test}, {where}", f"    speaks against: {one.claim}", f"    seen: {one.reason}"]
            if one.allowed:
                lines.append(f"    this test allows: {' or '.join(one.allowed)}, all else as it is")
        return "\n".join(lines)

    __str__ = summary

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame, a row for each thing that is refuted.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[900, 900]], total=[[90, 300]], squares=[[90, 300]])
        >>> frame = mb.logs.refute(counts, mb.logs.OptimalExpert(gap_low=0.2)).to_frame()
        >>> frame[["assumption", "context"]].to_numpy().tolist()[0]
        ['OptimalExpert(0.2)', 'all']
        """
        with optional("frames", "data frames"):
            import pandas as pd

        columns = ("assumption", "test", "context", "reason", "allowed")
        return pd.DataFrame([self._row(one) for one in self.found], columns=list(columns))

    def _row(self, one: Refutation) -> Sequence[object]:
        what = one.claim if one.assumption is None else repr(one.assumption)
        return (what, one.test, one.context, one.reason, " or ".join(one.allowed))
