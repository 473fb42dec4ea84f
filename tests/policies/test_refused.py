"""Wrong arguments of policies and plans are refused in words, not by errors of numpy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb

ANY: Any = mb  # for calls that the types would refuse already
TWO = mb.MeanBounds([0.2, 0.3], [0.6, 0.9])
ARMS = mb.LinearArms([[1.0, 0.0], [0.6, 0.8]], TWO)
PLAN: Any = mb.make_plan(TWO)
OFUL: Any = mb.OFUL()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ANY.UCB(f=np.zeros(2)), r"unknown f array\(\[0\., 0\.\]\); give a function"),
        (lambda: ANY.UCB(f=object), "unknown f <class 'object'>"),
        (lambda: ANY.UCB(f=lambda t: t[:1]), "f must return one number for each of 2 rounds"),
        (lambda: ANY.UCB(f=lambda _: "a"), r"f\(t\) must be numbers"),
        (lambda: ANY.UCB().log_f(np.int8(-128), 4), "first must be a whole number, at least 1"),
        (lambda: ANY.UCB().log_f(1, [0.5, pd.NA]), "last must be a whole number"),
        (lambda: ANY.UCB().plan(0.5), "MeanBounds"),
        (lambda: ANY.BIMED(moments=np.array([1, 2])), "moments must be 1 or 2"),
        (lambda: ANY.OSSB(gamma=10**400), "OSSB: gamma must be numbers"),
        (lambda: ANY.OSSB(epsilon=np.array([0, 0])), r"needs 0 < epsilon < 1 and gamma >= 0; got epsilon=array"),
        (lambda: ANY.ThompsonSampling(prior=[1.0, np.ma.masked]), "ThompsonSampling: a prior is no longer a parameter"),
        (lambda: ANY.Prior([1.0, np.ma.masked], 2), "mean"),
        (lambda: ANY.OFUL(regularisation=10**400), "OFUL: regularisation must be numbers"),
        (lambda: ANY.OFUL(failure=np.complex128(0.5)), "OFUL: failure must be a probability"),
        (lambda: ANY.OFUL(noise=np.array(["weighted", "a"])), "OFUL: noise must be one of"),
        (lambda: ANY.ROFUL(online=1), "ROFUL: online must be one of True, False; got 1"),
        (lambda: OFUL.check_scale("a"), "length must be numbers"),
        (lambda: OFUL.check_scale(-(10**400)), "length must be numbers"),
        (lambda: OFUL.check_scale(1e200), "would round it away"),
        (lambda: OFUL.check_scale(float("nan")), "features of length nan"),
        (lambda: OFUL.plan(TWO), "arms must be LinearArms"),
        (lambda: ANY.ROFUL(index="clip", tighten="cone").plan(None), "arms must be LinearArms"),
        (lambda: OFUL.make_plan(ARMS, TWO, "best"), "index must be one of 'plain', 'clip', 'exact'"),
        (lambda: OFUL.make_plan(ARMS, TWO.subset([0])), "bounds on 1 arms and features of 2"),
        (lambda: OFUL.make_plan(ARMS, TWO, "exact", 0.5), "feasible must be a FeasibleSet, or None; got 0.5"),
        (lambda: OFUL.make_plan(ARMS, TWO, prune="yes"), "prune must be True or False"),
        (lambda: OFUL.make_plan(ARMS, TWO, norm_low=2.0), "norm_low must be between 0 and norm_high"),
        (lambda: ANY.Policy.from_dict(["policy"]), "a saved policy must be a mapping"),
        (lambda: ANY.Policy.from_dict({"policy": ["GLUE"]}), r"unknown policy \['GLUE'\]; the policies are"),
        (lambda: ANY.Policy.from_dict({"policy": "GLUE", pd.NA: 1}), "GLUE has no parameter <NA>"),
        (lambda: ANY.make_plan([0.2], cap=1.0), "bounds must be MeanBounds"),
        (lambda: ANY.make_plan(TWO, cap=[0.5j, 0.5]), "cap must be numbers"),
        (lambda: ANY.make_plan(TWO, proxy=[[]]), r"proxy has shape \(1, 0\); give one number or one for each of 2"),
        (lambda: ANY.make_plan(TWO, lower=[0.1, float("nan")]), "one of lower, cap and proxy is not a number"),
        (lambda: ANY.make_plan(TWO, [True]), "positions must be places of 2 arms, or a mask"),
        (lambda: PLAN.select(1.5), "positions must be places of 2 arms"),
        (lambda: PLAN.select([2]), "positions must be places of 2 arms"),
        (lambda: PLAN.placed(3), "positions must be whole numbers from 0 on"),
        (lambda: PLAN.placed([0, -1]), "positions must be whole numbers from 0 on"),
        (lambda: PLAN.placed([[1], [1, 2]]), "positions must be whole numbers from 0 on"),
        (lambda: PLAN.placed([7]), "one entry for each arm that the plan was made for"),
    ],
)
def test_wrong_arguments_are_refused_in_words(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()


@pytest.mark.parametrize(
    "policy",
    [
        ANY.BIMED(moments=np.int8(2)),
        ANY.ThompsonSampling(settle=np.True_, moments=np.int64(2)),
        ANY.OSSB(epsilon=np.float64(0.1), gamma=1),
        ANY.ROFUL(online=np.True_, regularisation=np.float16(2)),
    ],
)
def test_numbers_of_numpy_are_kept_as_plain_ones(policy: Any) -> None:
    """Such a policy could not be saved as JSON."""
    assert mb.Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert "np." not in repr(policy)
