"""`start`: the conclusion is right, its limits hold, and it says what can be lost."""

import json

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.logs.outlook import Outlook
from tests.logs.three_logs import BAD, GOOD, UNCLEAR, log_of, made


def binary(count: list[int], means: list[float], *, arms: list[str] | None = None) -> mb.logs.Counts:
    """Counts of rewards 0 and 1, of one context."""
    return made([count], np.round(np.array([count]) * np.array([means])), arms=arms)


def only(found: mb.logs.Start) -> Outlook:
    (one,) = found.outlooks
    return one


@pytest.mark.parametrize(
    ("cases", "experts", "conclusion"),
    [
        (GOOD, mb.Experts(errors=0.0), "keep your experts"),  # true there
        (GOOD, mb.Experts(), "take over under a guard"),  # the log alone cannot tell
        (BAD, mb.Experts(odds=1.5), "take over"),  # true there: experts hardly look at what is hidden
        (BAD, mb.Experts(), "take over under a guard"),
        (UNCLEAR, mb.Experts(), "take over under a guard"),
        (UNCLEAR, mb.Experts(odds=1.5), "take over under a guard"),
    ],
)
def test_the_conclusion_is_right_for_good_bad_and_unclear_experts(
    cases: mb.simulation.HiddenContexts, experts: mb.Experts, conclusion: str
) -> None:
    found = mb.logs.start(log_of(cases), experts, seed=7)
    assert found.conclusion == conclusion
    assert found.concluded == {conclusion: 2}
    assert str(found).endswith(f"Conclusion: {conclusion.capitalize()}.")
    gains = cases.marginal_means.max(axis=1) - cases.value
    if conclusion == "take over":
        assert (gains > 0.3).all()
        assert [one.best and one.best.arm for one in found.outlooks] == ["aspirin", "aspirin"]
    if conclusion == "keep your experts":
        assert (gains < 0.0).all()


def test_only_the_log_of_bad_experts_shows_an_option_that_would_beat_them() -> None:
    odds = [[one.odds for one in mb.logs.start(log_of(cases)).outlooks] for cases in (GOOD, UNCLEAR, BAD)]
    assert odds[:2] == [[None, None], [None, None]]
    for place, best in enumerate(odds[2]):
        assert best is not None
        arm, factor = best
        assert arm == "aspirin"
        assert 2.0 < factor < 4.0
        context = ("north", "south")[place]
        for change, expected in ((0.98, "take over"), (1.02, "take over under a guard")):
            found = mb.logs.start(log_of(BAD), mb.Experts(odds=factor * change))
            assert {one.context: one.conclusion for one in found.outlooks}[context] == expected


def test_what_switching_gains_and_loses_lies_within_the_limits_for_all_experts_of_random_worlds() -> None:
    rng = np.random.default_rng(5)
    for seed in range(24):
        arms = int(rng.integers(2, 5))
        cases = mb.simulation.HiddenContexts.random(2, 3, arms=arms, errors=rng.uniform(0.0, 0.8), seed=seed)
        wrong, lost = mb.Experts(errors=float(cases.errors.max())), mb.Experts(loss=float(cases.loss.max()))
        for experts in (mb.Experts(), wrong if seed % 2 else lost):
            counts = mb.logs.read(cases.log(2_000, seed=seed), context="context", arms=list(range(arms)))
            for one in mb.logs.start(counts, experts).outlooks:
                place = cases.contexts.index(str(one.context))
                change = cases.marginal_means[place] - cases.value[place]
                assert (change <= np.array([own.gain for own in one.options]) + 1e-9).all()
                assert (-change <= np.array([own.loss for own in one.options]) + 1e-9).all()
                assert one.limits[0] <= cases.value[place] <= one.limits[1]


def test_nothing_can_be_gained_from_experts_who_hardly_fail() -> None:
    one = only(mb.logs.start(binary([60_000, 40_000], [0.999, 0.998])))
    assert one.conclusion == "keep your experts"
    assert one.because == "no option can gain more than the promise may cost, 10 successes in 1,000 decisions"
    assert only(mb.logs.start(binary([60_000, 40_000], [0.97, 0.95]))).conclusion == "take over under a guard"
    assert only(mb.logs.start(binary([60_000, 40_000], [0.999, 0.998]), promise=mb.Promise(total=30))).conclusion != (
        "keep your experts"
    )


def test_a_price_of_asking_makes_taking_over_worth_it() -> None:
    counts = binary([60_000, 40_000], [0.999, 0.998])
    assert only(mb.logs.start(counts, cost=0.3)).conclusion == "take over under a guard"
    assert only(mb.logs.start(counts, cost=0.5)).conclusion == "take over"  # loses at most the successes of the others
    assert only(mb.logs.start(counts, cost=0.5)).value == pytest.approx(0.4986)


def test_the_first_decision_never_goes_to_what_hardly_anybody_chose() -> None:
    """0.2 chose the option with 2% of the rows, with probability 0.96 (fault 11)."""
    counts = binary([6_000, 3_850, 29, 100], [0.4, 0.43, 0.9, 0.9], arms=["a", "b", "rare", "few"])
    for promise in (mb.Promise(margin=0.01), None):
        found = mb.logs.start(counts, promise=promise, seed=7)
        one = only(found)
        assert one.unsupported == ["rare", "few"]
        assert one.first not in one.unsupported
        assert one.best is not None
        assert one.best.arm in ("a", "b")
        assert one.wanted not in one.unsupported
        assert "left out “rare” and “few”" in str(found)
    assert only(mb.logs.start(counts, include=["rare"])).unsupported == ["few"]
    assert only(mb.logs.start(counts, forbid=["a"])).unsupported == ["a", "rare", "few"]


def test_without_an_option_to_play_the_experts_stay() -> None:
    one = only(mb.logs.start(binary([10, 12], [0.5, 0.5])))
    assert (one.first, one.reason, one.behind, one.best) == (mb.EXPERT, "support", 22, None)
    assert one.conclusion == "keep your experts"
    assert "no option has 30 rows" in one.because


def test_the_text_says_how_much_can_be_lost() -> None:
    """0.2 said "20% more" on the terminal, and on the page alone that it could be 149% less (fault 12)."""
    found = mb.logs.start(binary([600, 400], [0.8, 0.5]))
    one = only(found)
    assert one.best is not None
    assert f"lose at most {1e3 * one.best.loss:.0f} successes" in str(found)
    assert one.best.loss > 0.15


def test_reasons_are_the_guard_or_the_policy() -> None:
    counts = binary([600, 400], [0.8, 0.5])
    guarded, free = only(mb.logs.start(counts)), only(mb.logs.start(counts, promise=None))
    assert (guarded.first, guarded.reason, guarded.behind, guarded.wanted) == (mb.EXPERT, "guard", 1_000, "a")
    assert (free.first, free.reason, free.behind) == ("a", "policy", 600)
    assert free.first_in_words().startswith("play “a” (600 rows)")
    alone = mb.logs.start(counts, expert=False)
    assert alone.promise is None
    assert only(alone).first == "a"
    assert "Nothing is promised" in str(alone)


def test_what_is_first_is_what_the_agent_then_does() -> None:
    for cases in (GOOD, BAD, UNCLEAR):
        found = mb.logs.start(log_of(cases), promise=None, seed=3)
        for one in found.outlooks:
            assert found.agent.pull(one.context) == one.first


@pytest.mark.parametrize(
    ("promise", "warned"),
    [
        (mb.Promise(margin=0.01), "allows 14.3% more"),
        (mb.Promise(margin=0.009), ""),
        (mb.Promise(at_least=0.98), "allows 26.6% more"),
        (mb.Promise(failures=0.14), ""),
        (mb.Promise(at_least=0.98, failures=0.14), ""),
    ],
)
def test_a_promise_that_allows_many_more_failures_is_warned_of(promise: mb.Promise, warned: str) -> None:
    found = mb.logs.start(binary([6_000, 4_000], [0.93, 0.93]), promise=promise)
    assert (warned in str(found)) if warned else not found.warnings()


def test_3000_contexts_are_summed_up() -> None:
    names = [f"case {k}" for k in range(3_000)]
    counts = made([[1, 0]] * 2_999 + [[400, 600]], [[1, 0]] * 2_999 + [[300, 300]], contexts=names)
    found = mb.logs.start(counts)
    assert len(found.outlooks) == 20
    assert found.outlooks[0].context == "case 2999"
    assert found.concluded == {"take over under a guard": 1, "keep your experts": 2_999}
    assert found.in_words() == "Take over under a guard in 1 context and keep your experts in 2,999 contexts."
    assert len(str(found).splitlines()) < 50


def test_the_description_is_json_and_the_agent_has_not_decided() -> None:
    found = mb.logs.start(log_of(BAD), mb.Experts(odds=1.5), seed=7)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["conclusion"] == "take over"
    assert data["contexts"][0]["first"] == {"expert": True}
    assert data["experts"] == {"odds": 1.5}
    assert found.agent.pulls().sum() == 0


def test_names_cannot_command_a_terminal() -> None:
    found = mb.logs.start(binary([600, 400], [0.8, 0.5], arms=["red \x1b[31m", "b "]))
    assert "\x1b" not in str(found)
    assert "“red \\x1b[31m”" in str(found)


def test_a_misspelled_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="marign"):
        mb.logs.start(binary([600, 400], [0.8, 0.5]), marign=0.1)


def test_the_cost_of_asking_is_named() -> None:
    """With 93% successes, 14% of the failures and a cost of 0.05 there may be (0.0098 + 0.05) / 0.07 more failures."""
    counts = binary([1000, 1000], [0.93, 0.93])
    found = mb.logs.start(counts, promise=mb.Promise(failures=0.14), cost=0.05)
    assert "less the cost of asking, 0.05 each" in found.promised()
    assert "98 successes fewer" in found.promised()
    assert "The promise to your experts and the cost of asking allow 85.4% more failures" in found.warnings()[0]
    sure = binary([100, 100], [1.0, 1.0])
    assert "allows failures where they have none" in mb.logs.start(sure).warnings()[0]
    with pytest.raises(ValueError, match="belongs to a promise"):
        mb.logs.agent(counts, promise=None, ask=0.1)


def test_one_budget_for_all_contexts_is_not_promised_in_each() -> None:
    counts = made([[600, 400], [300, 300]], [[480, 200], [150, 100]], contexts=["a", "b"])
    apart, together = (
        mb.logs.start(counts, pooled=pooled, promise=mb.Promise(at_least=0.9)) for pooled in (False, True)
    )
    assert apart.promised().endswith("with probability 0.95 in each context.")
    assert together.promised().endswith("with probability 0.95 in all contexts together.")
    assert "at most 581 successes fewer in 10,000 decisions" in together.promised()  # a tenth of 930 / 1,600
    assert "allows 21.3% more failures than they have in “a”" in apart.warnings()[0]
    assert not together.warnings()  # 13.9% of 670 failures


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (0.0, "whether “recovered” is missing was chance for cases of a context with the same option"),
        (0.1, "with each option the mean of missing “recovered” is within 0.1 of that of the others"),
        (None, "nothing is assumed of the experts"),
    ],
)
def test_missing_outcomes_are_counted_and_what_is_assumed_of_them_is_said(apart: float | None, said: str) -> None:
    counts = made([[600, 400]], [[480, 200]], missing=[[200, 20]], apart=apart, reward="recovered")
    text, page = str(mb.logs.start(counts)), mb.logs.explain(counts).html
    assert text.startswith(f"1,000 rows, 1 context, 2 options, and 220 rows without recovered; {said}\n")
    assert "They are most frequent with “a”, 25%." in page
    assert (f"if {said}" in page) == (apart is not None)
    assert only(mb.logs.start(counts)).mostly.share == pytest.approx(800 / 1220)


def test_what_switching_gains_and_loses_allows_for_everything_that_missing_outcomes_may_have_been() -> None:
    """The limits are those of the worst log among all that are possible; with a small `apart` they are narrower."""
    count, total, missing = [[500, 400]], [[350, 200]], [[60, 100]]
    (one,) = mb.logs.start(made(count, total, missing=missing)).outlooks
    whole = np.array(count) + missing
    for filled in ([0, 0], [60, 0], [0, 100], [60, 100]):
        (known,) = mb.logs.start(made(whole, np.array(total) + filled)).outlooks
        for own, full in zip(one.options, known.options, strict=True):
            assert own.gain >= full.gain - 1e-12
            assert own.loss >= full.loss - 1e-12
    (near,) = mb.logs.start(made(count, total, missing=missing, apart=0.02)).outlooks
    for own, full in zip(one.options, near.options, strict=True):
        assert own.gain > full.gain
        assert own.loss > full.loss


def test_a_tree_of_32_leaves_fits_a_terminal_and_one_leaf_is_no_tree() -> None:
    """Each leaf is on a line of 80 columns; the rest of the text is as short as for two contexts."""
    column = "department that the patient came from, as the hospital names it"
    nodes: list[Split | None] = [None]
    for k in range(31):  # each leaf to the left of all others
        nodes = [Split(column, None, (f"ward {k}",), tuple(f"ward {n}" for n in range(k)) or ("none",)), *nodes, None]
    tree = Tree(tuple(nodes))
    rows = np.arange(40, 40 + len(tree.contexts))[:, None] * [3, 2]
    names = ["watchful waiting and observation", "tPA"]
    counts = made(rows, rows // 2, contexts=tree.contexts, arms=names, columns=tree.columns, tree=tree)
    found = mb.logs.start(counts, seed=7)
    assert len(found.outlooks) == 33
    text = str(found).split("\n\n")
    assert len(text[1].splitlines()) == 1 + len(nodes) - 1 + 1
    assert max(map(len, text[1].splitlines())) <= 80
    assert len(text) == 2 + 2 + 2
    assert all(f" {one.rows:,} " in text[1] for one in found.outlooks)
    single = Tree((None,))
    one = made([[600, 400]], [[480, 200]], contexts=single.contexts, tree=single)
    assert "found on other rows" not in str(mb.logs.start(one))


def test_an_agent_of_a_log_may_have_guardrails_and_expect_means_to_move() -> None:
    count, total = np.tile([600.0, 400.0], (12, 1)), np.tile([480.0, 200.0], (12, 1))
    counts = mb.logs.Counts(tuple(f"ward {n}" for n in range(12)), ("a", "b"), count, total, total)
    rail = mb.Guardrail("pain", worse=0.1, level=0.2)
    agent = mb.logs.agent(counts, drift=mb.evidence.Drift(), guardrails=[rail], seed=1)
    assert (agent.pool, agent.policy.pooled, agent.drift) == (False, True, mb.evidence.Drift())
    agent.report("pain", 0.0, agent.pull("ward 1"), "ward 1")
    plain = mb.logs.agent(counts, seed=1)
    assert (plain.pool, plain.policy.pooled, plain.drift) == (True, False, None)
