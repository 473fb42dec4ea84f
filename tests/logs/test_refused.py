"""Wrong arguments of logs are refused in words, not by errors of numpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb

LOGS: Any = mb.logs  # for calls that the types would refuse already
LAB = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
COUNTS: Any = LAB.sample(200, seed=1)
SAVED = COUNTS.to_dict()
SETTING: dict[str, Any] = {
    **{"visible": [[0.0], [0.0]], "hidden": [[1.0], [0.5]], "theta_visible": [1.0]},
    **{"box_low": 0.0, "box_high": 1.0},
}


def counts(**more: Any) -> Any:
    sums = {"count": [[2.0]], "total": [[1.0]], "squares": [[1.0]]}
    return LOGS.Counts(**{"contexts": ["z"], "arms": ["a"], **sums, **more})


def saved(**more: Any) -> Any:
    return LOGS.Counts.from_dict({**SAVED, **more})


def bounds(**more: Any) -> Any:
    return LOGS.bounds(COUNTS, **more)


def sensitivity(**more: Any) -> Any:
    return LOGS.sensitivity(COUNTS, **more)


def expert(share: Any = (0.75, 0.25), contribution: Any = (0.6, 0.2), **more: Any) -> Any:
    return LOGS.expert_bounds(share, contribution, **more)


def setting(**more: Any) -> Any:
    return LOGS.LinearSetting(**{**SETTING, **more})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: counts(contexts=1e-160), "contexts must be a list; got 1e-160"),
        (lambda: counts(arms="a"), "arms must be a list; got 'a'"),
        (lambda: counts(total=[[0.5j]]), "total must be an array of numbers"),
        (lambda: counts(squares=np.ma.array([[1.0]], mask=True)), "squares must be an array of numbers"),
        (lambda: counts(low=np.complex128(0.5)), "low and high must be numbers"),
        (lambda: counts(high=1e-200), "must be finite, with low below high, at least 1e-150 apart"),
        (lambda: counts(total=[[1e300]], squares=[[1e300]]), "a total that rewards in"),
        (lambda: counts(count=[[1e300]]), "more rows than can be counted"),
        (lambda: counts(histogram=3), "histogram must be a logs.Histogram"),
        (lambda: saved(context_names=slice(None)), "context_names must be a list"),
        (lambda: saved(arm_name=[]), "arm_name: the name of a column must be text"),
        (lambda: saved(dropped=pd.NA), "dropped must be a mapping"),
        (lambda: saved(dropped={"missing arm": 0.5}), "dropped missing arm must be a whole number"),
        (lambda: saved(arms_listed=np.zeros(2)), "arms_listed must be True or False"),
        (lambda: saved(format=np.zeros(2)), "counts of format"),
        (lambda: saved(histogram={"count": [1]}), "a saved histogram has the entries"),
        (lambda: LOGS.Counts.from_dict([b"0.5"]), "saved counts must be a mapping"),
        (lambda: COUNTS.with_arms(mb.logs), "arms must be a list"),
        (lambda: COUNTS.with_arms([{}, 0, 1]), "names of arms must be text or integers; got {}"),
        (lambda: LOGS.ArmSums("a", [1.0]), "count must be numbers"),
        (lambda: LOGS.bounds(7), "counts must be those of a log"),
        (lambda: bounds(infinite=np.zeros(2)), "infinite must be True or False"),
        (lambda: bounds(confidence=np.complex128(0.5)), "confidence must be a probability"),
        (lambda: bounds(gap_high="a"), "gap_high must be numbers"),
        (lambda: bounds(gap_low={"z0": "a"}), "context 'z0': gap_low must be numbers"),
        (lambda: bounds(method=np.array(["kl"])), "method must be one of 'hoeffding'"),
        (lambda: bounds(shift=pd.NA), "shift must be numbers"),
        (lambda: bounds(assumption="any-expert"), "assumption must be an object such as meanbounds.logs.AnyExpert"),
        (lambda: bounds(assumption=LOGS.ErringExpert(1.5)), "context 'z0': errors is the largest share of cases"),
        (lambda: bounds(assumption=LOGS.NearlyOptimalExpert(-0.1)), "context 'z0': loss is the most that better"),
        (lambda: bounds(assumption=LOGS.MarginalSensitivity(0.5)), "context 'z0': odds is a factor of at least 1"),
        (lambda: bounds(assumption=LOGS.KnownPropensity("p", 0.1)), "one column that the log was read with"),
        (lambda: LOGS.KnownPropensity("p", 0.0), "least is the smallest probability"),
        (lambda: LOGS.KnownPropensity(3, 0.5), "column must be the name"),
        (lambda: LOGS.ErringExpert("few"), "errors must be numbers"),
        (lambda: LOGS.OptimalExpert(gap_low=[[0.1]]), "gap_low must be one number, or one for each context"),
        (lambda: LOGS.AnyExpert() & 3, "unsupported operand"),
        (lambda: LOGS.assumption_from_dict({"kind": "lazy"}), "an assumption needs a kind, one of 'optimal-expert'"),
        (lambda: LOGS.assumption_from_dict({"kind": "any-expert", "x": 1}), "cannot have the entries"),
        (lambda: LOGS.assumption_from_dict({"kind": "all-of"}), "needs a list of parts"),
        (lambda: bounds(arms=0.5), "arms must be a list"),
        (lambda: LOGS.sensitivity(np.uint32(1)), "counts must be those of a log"),
        (lambda: sensitivity(gap_low="nan"), "gap_low must be numbers; got 'nan'"),
        (lambda: sensitivity(gap_high=[0.5, float("inf")]), "gap_high must be finite numbers"),
        (lambda: sensitivity(gap_high=np.zeros((2, 0))), "gap_high must be one number"),
        (lambda: sensitivity(gap_low=np.ma.array([0.0, 0.1], mask=[True, False])), "gap_low must be numbers, and some"),
        (lambda: sensitivity(gap_low={"old": 0.1}), "context 'z0': gap_low has no entry for it"),
        (lambda: expert(share=(part for part in (0.75, 0.25))), "share must be numbers"),
        (lambda: expert(arms=1e16), "arms must be a list"),
        (lambda: expert(arms=["a"]), "1 arm names for 2 arms"),
        (lambda: expert(gap_low=0.2 + 0j), "gap_low must be numbers"),
        (lambda: expert(high=10**400), "high must be numbers"),
        (lambda: expert(share=[1e308, 1e308]), "the shares of all arms sum to 1"),
        (lambda: setting(theta_visible=(part for part in (1.0,))), "theta_visible must be numbers"),
        (lambda: setting(visible=[[0.0], 1.0]), "visible must be numbers"),
        (lambda: setting(hidden=[[1e300], [1.0]]), "arm 0: its hidden features"),
        (lambda: setting(box_low={}), "box_low must be numbers"),
        (lambda: LOGS.linear_bounds(None, share=[1.0], mean=[0.5]), "setting must be a LinearSetting"),
        (lambda: LOGS.linear_bounds(setting(), share=["a", "b"], mean=[0.5, 0.5]), "share must be numbers"),
        (lambda: LOGS.ContextBounds(7), "bounds by context must be a mapping"),
        (lambda: LOGS.ContextBounds({"z": [0.1, 0.2]}), "bounds must be MeanBounds"),
        (lambda: LOGS.ContextBounds({}, np.zeros(2)), "assumptions must be a mapping"),
    ],
)
def test_wrong_arguments_are_refused_in_words(call: Callable[[], Any], words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_a_context_is_saved_once() -> None:
    one: Mapping[str, Any] = {"context": ["old", 1], "lower": [0.1], "upper": [0.4]}
    data = {"format": 1, "contexts": [one]}
    assert list(mb.logs.ContextBounds.from_dict(data)) == [("old", 1)]
    with pytest.raises(mb.BoundsError, match="is named twice"):
        mb.logs.ContextBounds.from_dict({**data, "contexts": [one, one]})


def test_numbers_of_any_type_are_gaps() -> None:
    """A number is one value to try, whatever its type."""
    found = sensitivity(gap_low=np.array(0.0), gap_high=Decimal("0.5"), infinite=True)
    assert [row["gap_high"] for row in found.rows] == [0.5]
    assert bounds(gap_high=Decimal("0.5"), infinite=True) == bounds(gap_high=np.float32(0.5), infinite=True)
