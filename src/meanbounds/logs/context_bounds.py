"""Bounds of every context, with the assumptions behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from meanbounds.bounds import Arm, BoundsError, MeanBounds, check_bounds
from meanbounds.logs.assumptions import Assumption, assumption_from_dict
from meanbounds.logs.errors import LogError
from meanbounds.logs.names import Context, context_names
from meanbounds.support.checks import as_mapping, shown
from meanbounds.support.saving import Saved

__all__ = ["ContextBounds", "load_bounds", "save_bounds"]

_DEEPEST = 20  # lists within lists in the assumptions
_FORMAT = 1


class ContextBounds(dict[Context, MeanBounds], Saved):
    """Bounds on the arms' means in each context: a dictionary from context to `MeanBounds`.

    `meanbounds.logs.bounds` returns one, and a `ContextualAgent` starts from it.

    Parameters
    ----------
    found
        Bounds by context.
    assumptions
        What the bounds rest on, by name: ``assumption`` (its ``kind`` and numbers; see the property of that name),
        ``confidence`` or ``infinite``, ``method``, ``shift``, and ``rows`` of the log.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.ContextBounds({"old": mb.MeanBounds([0.1], [0.4])}, {"confidence": 0.95})
    >>> found
    ContextBounds(1 context, 1 arm, confidence=0.95)
    >>> found["old"]
    MeanBounds([0.1], [0.4])
    >>> found.assumptions["confidence"]
    0.95
    """

    assumptions: dict[str, Any]

    def __init__(
        self, found: Mapping[Context, MeanBounds] | None = None, assumptions: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__({} if found is None else as_mapping("bounds by context", found, error=BoundsError))
        for bounds in self.values():
            check_bounds(bounds)
        said = {} if assumptions is None else as_mapping("assumptions", assumptions, error=BoundsError)
        _plain(said)
        self.assumptions = dict(said)

    def __repr__(self) -> str:
        arms = len({arm for own in self.values() for arm in own.arms})
        sizes = [f"{size:,} {word}" + "s" * (size != 1) for size, word in ((len(self), "context"), (arms, "arm"))]
        known = [f"{name}={value!r}" for name, value in self.assumptions.items() if name in ("confidence", "infinite")]
        return f"ContextBounds({', '.join([*sizes, *known])})"

    def __and__(self, other: ContextBounds) -> ContextBounds:
        """Bounds that hold if both do, from two logs of the same arms: of experts, and of an agent, for instance.

        A context or an arm that only one of the two has keeps its bounds. Both may fail, so the failure probabilities
        add up: two of 97.5% give 95%.

        Raises
        ------
        BoundsError
            If the two contradict each other, or no confidence is left.

        Examples
        --------
        >>> import meanbounds as mb
        >>> experts = mb.logs.ContextBounds({"old": mb.MeanBounds([0.1, 0.3], [0.6, 0.4])}, {"confidence": 0.975})
        >>> agent = mb.logs.ContextBounds({"old": mb.MeanBounds([0.2, 0.0], [0.7, 0.9])}, {"confidence": 0.975})
        >>> (experts & agent)["old"]
        MeanBounds([0.2, 0.3], [0.6, 0.4])
        >>> experts & agent
        ContextBounds(1 context, 2 arms, confidence=0.95)
        """
        if not isinstance(other, ContextBounds):
            return NotImplemented
        found = dict(self)
        for context, own in other.items():
            found[context] = _both(context, found[context], own) if context in found else own
        return ContextBounds(found, _joined(self.assumptions, other.assumptions))

    @property
    def assumption(self) -> Assumption:
        """What was assumed of who wrote the log, as an object; also of files that version 0.1 wrote.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]]).counts()
        >>> mb.logs.bounds(counts, mb.logs.ErringExpert(0.05), infinite=True).assumption
        ErringExpert(0.05)
        """
        said = self.assumptions
        assumed = said.get("assumption")
        if isinstance(assumed, str) or (assumed is None and "gap_low" in said):  # before assumptions were objects
            kind = "optimal-expert" if assumed is None else assumed
            gaps = {name: said[name] for name in ("gap_low", "gap_high") if kind == "optimal-expert" and name in said}
            assumed = {"kind": kind, **gaps}
        if assumed is None:
            raise BoundsError("these bounds do not say what they assume of who wrote the log")
        return assumption_from_dict(assumed)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, safe for JSON; `from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> found = mb.logs.ContextBounds({"old": mb.MeanBounds([0.1], [0.4])}, {"infinite": True})
        >>> mb.logs.ContextBounds.from_dict(found.to_dict()) == found
        True
        """
        contexts = [
            {"context": list(context) if isinstance(context, tuple) else context, **bounds.to_dict()}
            for context, bounds in self.items()
        ]
        return {"format": _FORMAT, "assumptions": _plain(self.assumptions), "contexts": contexts}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build bounds from the output of `to_dict`, of this version or of 0.1.

        Raises
        ------
        BoundsError
            If the data hold no bounds by context.

        Examples
        --------
        >>> import meanbounds as mb
        >>> data = {"format": 1, "contexts": [{"context": "old", "lower": [0.1], "upper": [0.4]}]}
        >>> mb.logs.ContextBounds.from_dict(data)["old"]
        MeanBounds([0.1], [0.4])
        """
        contexts = data.get("contexts") if isinstance(data, Mapping) else None
        form = data.get("format") if isinstance(data, Mapping) else None
        if not (isinstance(form, int | float) and form == _FORMAT and isinstance(contexts, list)):
            raise BoundsError(f"this holds no bounds by context in format {_FORMAT}; write it with ContextBounds.save")
        found: dict[Context, MeanBounds] = {}
        for entry in contexts:
            if not isinstance(entry, Mapping) or "context" not in entry:
                raise BoundsError(f"bounds of a context need its name beside lower and upper; got {shown(entry)}")
        for context, entry in zip(_names(contexts), contexts, strict=True):
            found[context] = MeanBounds.from_dict({name: value for name, value in entry.items() if name != "context"})
        return cls(found, data.get("assumptions"))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a JSON file that `save` wrote, in this version or in 0.1.

        Examples
        --------
        >>> import tempfile, pathlib, meanbounds as mb
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "bounds.json"
        >>> mb.logs.ContextBounds({"old": mb.MeanBounds([0.1], [0.4])}, {"confidence": 0.9}).save(path)
        >>> mb.logs.ContextBounds.load(path).assumptions
        {'confidence': 0.9}
        """
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except json.JSONDecodeError as error:
            raise BoundsError(f"{path} is not JSON: {error}") from error
        except BoundsError as error:
            raise BoundsError(f"{path}: {error}") from error


def save_bounds(
    found: Mapping[Context, MeanBounds], path: str | Path, *, assumptions: Mapping[str, Any] | None = None
) -> None:
    """Write bounds by context as JSON, which `load_bounds` reads.

    Parameters
    ----------
    found
        Bounds by context, such as `meanbounds.logs.bounds` returns.
    path
        The file to write; one that exists is replaced.
    assumptions
        The assumptions behind the bounds, by name; by default those that `found` carries.

    Examples
    --------
    >>> import tempfile, pathlib, meanbounds as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bounds.json"
    >>> mb.logs.save_bounds({"old": mb.MeanBounds([0.1], [0.4])}, path, assumptions={"confidence": 0.9})
    >>> mb.logs.load_bounds(path)["old"]
    MeanBounds([0.1], [0.4])
    """
    carried = found.assumptions if isinstance(found, ContextBounds) else {}
    ContextBounds(found, carried if assumptions is None else assumptions).save(path)


def load_bounds(path: str | Path) -> ContextBounds:
    """Read bounds by context, with their assumptions, from a JSON file that `save_bounds` wrote.

    Parameters
    ----------
    path
        The file; ``ContextBounds.load(path)`` does the same.

    Raises
    ------
    BoundsError
        If the file is not JSON, or holds no bounds by context.

    Examples
    --------
    Find bounds once, save them, and start an agent from them elsewhere:

    >>> import tempfile, pathlib, meanbounds as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bounds.json"
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> mb.logs.save_bounds(mb.logs.bounds(lab.counts(), gap_low=0.3, infinite=True), path)
    >>> found = mb.logs.load_bounds(path)
    >>> found
    ContextBounds(1 context, 2 arms, infinite=True)
    >>> found.assumption
    OptimalExpert(0.3)
    """
    return ContextBounds.load(path)


def _both(context: Context, one: MeanBounds, other: MeanBounds) -> MeanBounds:
    """The narrower of both bounds on each arm."""
    arms = tuple(dict.fromkeys((*one.arms, *other.arms)))
    columns = []
    for arm in arms:
        ends = [_ends(own, arm) for own in (one, other) if arm in own.arms]
        lower, upper = max(end[0] for end in ends), min(end[1] for end in ends)
        if len({end[2:] for end in ends}) > 1:
            raise BoundsError(f"context {context!r}, arm {arm!r}: the two logs have rewards in different ranges")
        if lower > upper:
            raise BoundsError(
                f"context {context!r}, arm {arm!r}: the two logs contradict each other, since the mean would be at "
                f"least {lower:.6g} and at most {upper:.6g}; what is assumed of one of them is wrong, or the arm has "
                f"changed"
            )
        columns.append((lower, upper, *ends[0][2:]))
    table = np.array(columns)
    return MeanBounds(table[:, 0], table[:, 1], arms=arms, low=table[:, 2], high=table[:, 3])


def _ends(bounds: MeanBounds, arm: Arm) -> tuple[float, ...]:
    place = bounds.arms.index(arm)
    return tuple(float(column[place]) for column in (bounds.lower, bounds.upper, bounds.low, bounds.high))


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two logs together rest on: the assumptions of both, the confidence that is left, and both as they were."""
    said: dict[str, Any] = {}
    if "assumption" in one and "assumption" in other:
        parts = [part.to_dict() for log in (one, other) for part in assumption_from_dict(log["assumption"]).parts]
        said["assumption"] = {"kind": "all-of", "parts": parts}
    left = 1.0 - sum(1.0 - float(log["confidence"]) for log in (one, other) if "confidence" in log)
    if not left > 0.0:
        raise BoundsError(f"no confidence is left of {one['confidence']} and {other['confidence']}; give each log more")
    if any("confidence" in log for log in (one, other)):
        said["confidence"] = round(left, 12)
    elif "infinite" in one and "infinite" in other:
        said["infinite"] = True
    if "rows" in one and "rows" in other:
        said["rows"] = one["rows"] + other["rows"]
    return {**said, "logs": [dict(one), dict(other)]}


def _names(entries: list[Mapping[str, Any]]) -> tuple[Context, ...]:
    """The names of saved contexts; none is there twice."""
    try:
        return context_names(entry["context"] for entry in entries) if entries else ()
    except LogError as error:
        raise BoundsError(str(error)) from None


def _plain(value: Any, depth: int = 0) -> Any:
    """Numbers, lists and dictionaries of Python in place of those of numpy; refuses what could not be saved."""
    if depth > _DEEPEST:
        raise BoundsError(f"assumptions are nested more than {_DEEPEST} times; give numbers, texts and lists of them")
    if isinstance(value, Mapping):
        return {str(name): _plain(part, depth + 1) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part, depth + 1) for part in value]
    return value
