"""The worlds in which columns are measured: agents side by side decide as agents do, and a tiny run gives tables."""

import argparse

import numpy as np
import pytest
from benchmarks.columns import EXPERTS, MATTERS, Run, World, agent_of, boxes, checks, leaves, play, table

import meanbounds as mb
from meanbounds.policies import Policy


@pytest.mark.parametrize(
    ("policy", "promise"),
    [
        (mb.OptimisticGittins(f="t + 1000"), None),
        (mb.OptimisticGittins(), mb.Promise(0.9)),
        (mb.ThompsonSampling(), None),
    ],
)
def test_agents_side_by_side_decide_as_an_agent_does(policy: Policy, promise: mb.Promise | None) -> None:
    rng = np.random.default_rng(3)
    world = World("steps", "err in 20%", rng)
    world.grades = 3
    log, cases = world.log(2_000, rng)
    coming = world.cases(150, rng)
    how = {"policy": policy, "promise": promise, "expert": promise is not None}
    runs = [Run(*agent_of(world, kind, log, cases, coming, seed=n, **how)) for n, kind in enumerate(("tree", "one"))]
    chosen, got = play(runs, runs[0].agent.policy, coming.chances[:, None], np.array([3]), 1)
    assert promise is None or 0 < (chosen[:, 0] == world.arms).sum() < 150
    agent = runs[0].agent
    assert agent.pool
    assert agent.tree is not None
    for t, values in enumerate(zip(*coming.columns.values(), strict=True)):
        case = dict(zip(coming.columns, values, strict=True))
        assert agent.tree.leaf(case) == agent.contexts[runs[0].places[t]]
        arm = agent.pull(case)
        assert agent.arms.index(arm) == chosen[t, 0]
        if arm is mb.EXPERT:
            agent.observe(int(coming.choices[t]), got[t, 0], case)
        else:
            agent.update(arm, got[t, 0], case)


def test_worlds_are_what_they_are_called() -> None:
    rng = np.random.default_rng(1)
    for matters, experts in zip((*MATTERS, "nothing"), EXPERTS, strict=True):
        world = World(matters, experts, rng)
        cases = world.cases(5_000, rng)
        assert (cases.expected.std(axis=0) > 0.02).all() == (matters != "nothing")
        right = (cases.choices == cases.means.argmax(axis=1)).mean()
        assert {"right": right == 1.0, "habit": 0.4 < right < 0.7}.get(experts, 0.5 < right < 0.99)


def test_boxes_are_those_of_the_leaves() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(8, size=(4_000, 2))
    arm = 1 * (x[:, 0] >= 3) + (x[:, 1] >= 6)
    columns = {"a": x[:, 0] * 1.0, "b": x[:, 1] * 1.0}
    tree = mb.logs.partition({**columns, "arm": arm, "reward": arm % 2}, ["a", "b"]).tree
    places = leaves(tree, columns, len(x))
    for place, (first, second) in enumerate(boxes(tree, ["a", "b"], 8)):
        assert ((first[x[:, 0]] & second[x[:, 1]]) == (places == place)).all()


def test_a_tiny_run_gives_the_tables() -> None:
    given = argparse.Namespace(worlds=2, rows=[500], decisions=[20, 40], policies=["gittins"], seed=1, logs=2, runs=1)
    head, _, one, *rest = table(given)
    assert one[3:5] == ["1.00 / 1.00 ± 0.00", "0% / 0%"]
    assert {len(row) for row in rest} == {len(head)}
    assert [row[1] for row in checks(given)[2:]] == ["2"] * 7
