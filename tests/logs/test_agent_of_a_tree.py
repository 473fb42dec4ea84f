"""Agents that start from a log of raw columns: what they pool, promise and leave out."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.logs import Counts
from meanbounds.logs.log_agent import OF_VALUE
from meanbounds.policies import Guarded

TREE = Tree((Split("age", 50.0), None, Split("age", 75.0), None, None))
#   rows of            a    b   rare new  of each leaf, and of "unknown: age"
ROWS = np.array([[300, 700, 5, 0], [20, 30, 1, 0], [400, 0, 40, 2], [0, 0, 0, 0]], dtype=float)
TOTAL = np.round(ROWS * [0.5, 0.6, 0.8, 0.5])


def counts_of(tree: Tree | None = TREE, **more: Any) -> Counts:
    names, arms = TREE.contexts, ("a", "b", "rare", "new")
    return Counts(names, arms, ROWS, TOTAL, TOTAL, columns=("age",), tree=tree, **more)


def test_leaves_of_a_tree_are_pooled_and_share_a_promise() -> None:
    counts = counts_of()
    one, apart = mb.logs.agent(counts, seed=1), mb.logs.agent(counts_of(None), seed=1)
    assert isinstance(one.policy, Guarded)
    assert isinstance(apart.policy, Guarded)
    assert (one.pool, one.policy.pooled, one.tree) == (True, True, TREE)
    assert (apart.pool, apart.policy.pooled, apart.tree) == (False, False, None)
    upper = [own.knowledge(name).bounds.upper[-1] for own in (one, apart) for name in counts.contexts]
    for given, joint in ((upper[:4], True), (upper[4:], False)):
        confidence = 1.0 - OF_VALUE * 0.05
        np.testing.assert_allclose(given, mb.logs.value(counts, confidence=confidence, joint=joint)[1], atol=1e-12)
    assert one.decide({"age": 62}).context == "50 <= age < 75"
    assert mb.Agent.from_dict(json.loads(json.dumps(one.to_dict()))).tree == TREE
    chosen = mb.logs.agent(counts, pool=False, pooled=False)
    assert (chosen.pool, chosen.policy) == (False, apart.policy)
    both = mb.logs.agent(counts_of(None), pool=True, pooled=True)
    assert (both.pool, both.policy) == (True, one.policy)


def test_what_cannot_be_pooled_is_left_out_or_refused() -> None:
    counts = counts_of()
    assert not mb.logs.agent(counts, policy=mb.GLUE()).pool
    asking = mb.logs.agent(counts, ask=0.05).policy
    assert isinstance(asking, Guarded)
    assert not asking.pooled
    free = mb.logs.agent(counts, promise=None)
    assert (free.pool, isinstance(free.policy, Guarded)) == (True, False)
    with pytest.raises(ValueError, match="makes no use of one"):
        mb.logs.agent(counts, policy=mb.GLUE(), pool=True)
    for more in ({"promise": None}, {"expert": False, "include": ["a"]}):
        with pytest.raises(ValueError, match="pooled=True belongs to a promise"):
            mb.logs.agent(counts, pooled=True, **more)
    with pytest.raises(ValueError, match="choose one"):
        mb.logs.agent(counts, pooled=True, ask=0.05)


def test_support_is_judged_by_all_leaves_together_as_far_as_one_is_too_small() -> None:
    one = mb.logs.agent(counts_of())
    left_out = {name: one.forbidden(name) for name in TREE.contexts}
    assert left_out == {
        "age < 50": ("rare", "new"),  # less than 2% of 1,005 choices
        "50 <= age < 75": ("new",),  # 51 rows say little
        "age >= 75": ("b", "new"),  # nobody of 442 got it
        "unknown: age": ("new",),
    }
    apart = mb.logs.agent(counts_of(None))
    assert apart.forbidden("50 <= age < 75") == ("a", "rare", "new")
    assert apart.forbidden("unknown: age") == ("a", "b", "rare", "new")


def test_an_empty_context_starts_from_the_prior_of_all() -> None:
    """Without pooling a context without rows knows nothing, and asks for ever what the other leaves have found out."""
    known = {pool: mb.logs.agent(counts_of(), promise=None, pool=pool, seed=2) for pool in (False, True)}
    rng = np.random.default_rng(3)
    for one in known.values():
        for n in range(600):
            context = TREE.contexts[n % 3]
            one.update("a", float(rng.random() < 0.3), context, pulled=False)
            one.update("b", float(rng.random() < 0.8), context, pulled=False)
    apart, pooled = (known[pool].indices("unknown: age") for pool in (False, True))
    assert apart[0] == pytest.approx(apart[1])
    assert pooled[1] - pooled[0] > 0.2


def test_what_experts_chose_when_asked_is_added_to_any_log() -> None:
    missing = np.where(ROWS > 10.0, 3.0, 0.0)
    kinds: tuple[dict[str, Any], ...] = ({}, {"missing": missing, "apart": 0.1})
    for more in kinds:
        counts = counts_of(**more)
        one = mb.logs.agent(counts, seed=1)
        one.observe("b", 1.0, {"age": 80}, pulled=False)
        both = mb.logs.with_observed(counts, one)
        expected = ROWS.copy()
        expected[2, 1] += 1.0
        np.testing.assert_array_equal(both.count, expected)
        assert both.tree == TREE
        assert both.rows == counts.rows + 1
        if counts.missing is not None:
            np.testing.assert_array_equal(both.missing, missing)


def test_experts_are_expected_to_earn_what_all_rows_say_if_some_have_no_reward() -> None:
    """Rewards of option b, which does better, are missing in half of its rows."""
    log: dict[str, Any] = {"context": ["x"] * 400, "arm": ["a"] * 200 + ["b"] * 200}
    log["reward"] = [float(n % 10 < 2) for n in range(200)] + [float(n % 10 < 8) for n in range(200)]
    whole = mb.logs.read(log, context="context")
    sums: dict[str, Any] = {name: [[40, 80]] for name in ("total", "squares")}
    some = replace(whole, **sums, count=np.array([[200.0, 100.0]]), missing=np.array([[0.0, 100.0]]), apart=0.0)
    means = [mb.logs.agent(counts).knowledge("x").prior.mean[-1] for counts in (whole, some)]  # type: ignore[union-attr,index]
    assert means[1] == pytest.approx(means[0], abs=1e-9)
