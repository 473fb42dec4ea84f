"""What is looked for in other packages: features, and where each package has them.

Evidence is a place in a package's archive that a program looks up: a file, `file:name`, or `file:name(parameter)`. A
name is that of a class, a function, or a method with dots. A package without evidence for a feature is searched for
names that match the feature's pattern, so that "no" is not a guess; names that match and are something else are listed
in `SIMILAR` with the reason. What no program can look up, such as a server in Rust, is a `Documented` claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Package:
    """Another package: its name at the index, what it is called on the page, and what it is for."""

    name: str
    label: str
    about: str
    prefix: str  # of the files that are looked at


@dataclass(frozen=True)
class Documented:
    """A claim that rests on a page of documentation."""

    source: str


@dataclass(frozen=True)
class Feature:
    """A row of the table: what it is called, how its names look, and where each package has it."""

    key: str
    title: str
    pattern: str
    ours: str | None
    theirs: Mapping[str, str | Documented] = field(default_factory=dict)
    in_text: bool = False  # whether the pattern is looked for in the whole source, not in names alone


PACKAGES = (
    Package("river", "river", "learning from streams, with bandits", "river/"),
    Package("mabwiser", "mabwiser", "bandits with and without contexts", "mabwiser/"),
    Package("coba", "coba", "experiments with contextual bandits", "coba/"),
    Package("pymab", "pymab", "bandits and simulations, partly in Rust", "pymab/"),
    Package("contextualbandits", "contextual\u00adbandits", "bandits around any classifier", "contextualbandits/"),
    Package("bayesianbandits", "bayesian\u00adbandits", "Bayesian bandits for services", "bayesianbandits/"),
    Package("obp", "obp", "evaluation and learning from logs", "obp/"),
    Package("econml", "econml", "effects of treatments, by machine learning", "econml/"),
    Package("dowhy", "dowhy", "causal graphs, identification, refutation", "dowhy/"),
    Package("banditdb-python", "BanditDB", "a server of contextual bandits, and its client", "banditdb/"),
)

BANDITDB_SERVER = ("1.0.4", "2026-06-25")
"""Version and date of the tag of BanditDB's server whose documentation was read; it is not on the Python index."""

README = Documented("BanditDB, README")
RUNBOOK = Documented("BanditDB, High-Availability Runbook")

THEMES: Mapping[str, tuple[Feature, ...]] = MappingProxyType(
    {
        "Policies": (
            Feature(
                "ucb",
                "UCB for arms without features",
                r"UCB|UpperConfidence",
                "policies/index.py:UCB",
                {
                    "river": "bandit/ucb.py:UCB",
                    "mabwiser": "mab.py:LearningPolicy.UCB1",
                    "coba": "learners/bandit.py:BanditUCBLearner",
                    "pymab": "_reference/policies/ucb.py:UCBPolicy",
                    "bayesianbandits": "policies/_upper_confidence_bound.py:UpperConfidenceBound",
                },
            ),
            Feature(
                "kl-ucb",
                "KL-UCB",
                r"KL_?UCB",
                "policies/index.py:KLUCB",
                {"pymab": "_reference/policies/ucb.py:KLUCBPolicy"},
            ),
            Feature(
                "thompson",
                "Thompson sampling",
                r"Thompson|TS$|TS(Learner|Config|Policy)$",
                "policies/direct.py:ThompsonSampling",
                {
                    "river": "bandit/thompson.py:ThompsonSampling",
                    "mabwiser": "mab.py:LearningPolicy.ThompsonSampling",
                    "coba": "learners/lints.py:LinTSLearner",
                    "pymab": "_reference/policies/thompson_sampling.py:BernoulliThompsonSamplingPolicy",
                    "contextualbandits": "online.py:BootstrappedTS",
                    "bayesianbandits": "policies/_thompson_sampling.py:ThompsonSampling",
                    "obp": "policy/contextfree.py:BernoulliTS",
                    "banditdb-python": README,
                },
            ),
            Feature(
                "ids",
                "information-directed sampling",
                r"InformationDirected|^IDS$",
                "policies/ids.py:IDS",
                {"bayesianbandits": "policies/_information_directed_sampling.py:InformationDirectedSampling"},
            ),
            Feature("gittins", "Gittins indices", r"Gittins", "policies/gittins.py:OptimisticGittins"),
            Feature(
                "linear",
                "linear policies for arms or contexts with features",
                r"Lin(ear)?_?(UCB|TS|Thompson|EpsilonGreedy)|OFUL",
                "policies/oful.py:OFUL",
                {
                    "river": "bandit/lin_ucb.py:LinUCBDisjoint",
                    "mabwiser": "mab.py:LearningPolicy.LinUCB",
                    "coba": "learners/linucb.py:LinUCBLearner",
                    "pymab": "_reference/policies/contextual_bandits.py:LinUCBPolicy",
                    "contextualbandits": "online.py:LinUCB",
                    "bayesianbandits": "_estimators.py:NormalRegressor",
                    "obp": "policy/linear.py:LinUCB",
                    "banditdb-python": README,
                },
            ),
            Feature(
                "nonlinear",
                "policies around trees, logistic models or any classifier",
                r"Logistic(UCB|TS|Context|Epsilon)|TreeBandit|SeparateClassifiers|Vowpal\w*Learner|BayesianGLM",
                None,
                {
                    "mabwiser": "mab.py:NeighborhoodPolicy.TreeBandit",
                    "coba": "learners/vowpal.py:VowpalLearner",
                    "pymab": "_reference/policies/contextual_bandits.py:LogisticContextualBanditPolicy",
                    "contextualbandits": "online.py:SeparateClassifiers",
                    "bayesianbandits": "_estimators.py:BayesianGLM",
                    "obp": "policy/logistic.py:LogisticUCB",
                },
            ),
            Feature(
                "neural",
                "neural networks",
                r"Neural|^NN[A-Z]|MLP|Deep[A-Z]|[Tt]orch",
                None,
                {"obp": "policy/offline.py:NNPolicyLearner", "banditdb-python": "client.py:NeuralLinUCBConfig"},
            ),
            Feature(
                "adversarial",
                "adversarial rewards (EXP3, Corral)",
                r"EXP3|Exp3|Corral",
                None,
                {
                    "river": "bandit/exp3.py:Exp3",
                    "coba": "learners/corral.py:CorralLearner",
                    "pymab": "_reference/policies/adversarial.py:EXP3Policy",
                    "bayesianbandits": "policies/_exp3a.py:EXP3A",
                },
            ),
            Feature(
                "drift",
                "means that drift: windows, discounts, detectors of change",
                r"SlidingWindow|Discounted|Forgetting|ChangePoint|CUSUM|PageHinkley|ADWIN",
                None,
                {
                    "river": "drift/adwin.py:ADWIN",
                    "pymab": "_reference/policies/nonstationary.py:SlidingWindowUCBPolicy",
                    "bayesianbandits": "_forgetting.py:ExponentialForgetting",
                    "banditdb-python": "client.py:Client.create_campaign(decay_half_life_hours)",
                },
            ),
            Feature(
                "best-arm",
                "identification of the best arm",
                r"SuccessiveElimination|MedianElimination|[Bb]est_?[Aa]rm",
                None,
                {"pymab": "_reference/policies/pure_exploration.py:SuccessiveEliminationPolicy"},
            ),
            Feature(
                "slates",
                "slates, rankings, several arms at once",
                r"\b[Ss]late|Slate|[Rr]anking|[Tt]op_?[kN]\b",
                None,
                {
                    "contextualbandits": "online.py:_BasePolicy.topN",
                    "bayesianbandits": "api.py:ContextualAgent.pull(top_k)",
                    "obp": "ope/meta_slate.py:SlateOffPolicyEvaluation",
                },
            ),
            Feature(
                "continuous",
                "arms on a continuous scale",
                r"Continuous\w*(Policy|Bandit|Learner)|Lipschitz",
                None,
                {
                    "bayesianbandits": "api.py:LipschitzContextualAgent",
                    "obp": "ope/meta_continuous.py:ContinuousOffPolicyEvaluation",
                },
            ),
            Feature(
                "budgets",
                "budgets and pacing",
                r"Budget|Pacing|ResourceConstraint|[Kk]napsack",
                None,
                {"banditdb-python": "client.py:ResourceConstraint"},
            ),
        ),
        "What is known before the first round": (
            Feature(
                "bounds", "bounds on each arm's mean", r"MeanBounds|mean_bounds|arm_bounds", "bounds.py:MeanBounds"
            ),
            Feature(
                "priors",
                "a prior on each arm's mean",
                r"[Pp]rior",
                "prior.py:Prior",
                {
                    "river": "bandit/thompson.py:ThompsonSampling.__init__(reward_obj)",
                    "pymab": "_reference/policies/bayesian_ucb.py:BernoulliBayesianUCBPolicy.__init__(alpha_prior)",
                    "contextualbandits": "online.py:BootstrappedTS.__init__(beta_prior)",
                    "bayesianbandits": "_estimators.py:NormalRegressor.__init__(alpha)",
                    "obp": "policy/contextfree.py:BernoulliTS",
                },
            ),
            Feature(
                "trust",
                "knowledge that is doubted, and given up when rewards contradict it",
                r"^trust|[Cc]ontradict",
                "knowledge.py:Knowledge",
            ),
            Feature(
                "empirical-bayes",
                "priors learned across arms and contexts (empirical Bayes)",
                r"[Ee]mpirical_?Bayes",
                None,
                {"bayesianbandits": "_eb_estimators.py:EmpiricalBayesNormalRegressor"},
            ),
            Feature(
                "warm-start",
                "a warm start from past data",
                r"[Ww]arm_?[Ss]tart$",
                "policies/rivals.py:WarmStart",
                {
                    "mabwiser": "mab.py:MAB.warm_start",
                    "contextualbandits": "online.py:_BasePolicy.fit",
                    "bayesianbandits": "api.py:ContextualAgent.update",
                    "banditdb-python": "client.py:Client.add_arm(warm_start)",
                },
            ),
        ),
        "Logs": (
            Feature(
                "ope",
                "evaluation of another policy (importance weights, doubly robust, replay)",
                r"[Dd]oubly_?[Rr]obust|InverseProb|^ips$|OffPolicyEval|^OPE|Ope[A-Z]|evaluate_offline|policy_value$",
                "logs/evaluating/evaluate.py:evaluate",
                {
                    "river": "bandit/evaluate.py:evaluate_offline",
                    "coba": "environments/filters.py:OpeRewards",
                    "pymab": "offline/estimators.py:estimate_policy_value",
                    "contextualbandits": "evaluation.py:evaluateDoublyRobust",
                    "obp": "ope/meta.py:OffPolicyEvaluation",
                    "banditdb-python": "eval.py:doubly_robust",
                },
            ),
            Feature(
                "always-valid",
                "confidence limits that hold at every look",
                r"[Cc]onfidence_?[Ss]equence|[Aa]nytime|[Aa]lways_?[Vv]alid|^e_process",
                "evidence/processes.py:confidence_sequence",
            ),
            Feature(
                "opl",
                "learning a policy from a log (off-policy learning)",
                r"OffPolicyLearner|IPWLearner|OffsetTree|PolicyLearner|PolicyTree",
                None,
                {
                    "coba": "learners/vowpal.py:VowpalOffPolicyLearner",
                    "contextualbandits": "offpolicy.py:OffsetTree",
                    "obp": "policy/offline.py:IPWLearner",
                    "econml": "policy/_drlearner.py:DRPolicyTree",
                },
            ),
            Feature(
                "confounded",
                "bounds on means from the log of people who saw more than was recorded",
                r"[Pp]artial_?[Ii]dentif|[Mm]anski|[Ee]xpert_?[Bb]ounds",
                "logs/expert.py:expert_bounds",
            ),
            Feature(
                "sensitivity",
                "sensitivity to what was not recorded",
                r"[Ss]ensitivity|UnobservedCommonCause",
                "logs/sensitivity.py:sensitivity",
                {
                    "econml": "validate/sensitivity_analysis.py:sensitivity_summary",
                    "dowhy": "causal_refuters/add_unobserved_common_cause.py:AddUnobservedCommonCause",
                },
            ),
            Feature(
                "refutation",
                "tests that can refute an assumption",
                r"[Rr]efut|falsify",
                "logs/refuting/refute.py:refute",
                {"econml": "dowhy.py:DoWhyWrapper", "dowhy": "causal_refuters/refute_estimate.py:refute_estimate"},
            ),
            Feature(
                "graphs",
                "causal graphs and identification",
                r"CausalGraph|CausalModel$|identify_effect|[Bb]ackdoor",
                None,
                {"econml": "dowhy.py:DoWhyWrapper", "dowhy": "causal_identifier/auto_identifier.py:AutoIdentifier"},
            ),
            Feature(
                "instruments",
                "instrumental variables",
                r"[Ii]nstrument|DRIV|DMLIV|OrthoIV|TSLS",
                None,
                {
                    "econml": "iv/dml/_dml.py:OrthoIV",
                    "dowhy": "causal_estimators/instrumental_variable_estimator.py:InstrumentalVariableEstimator",
                },
            ),
            Feature(
                "effects",
                "doubly robust learners and forests of effects",
                r"DRLearner|XLearner|CausalForest|DML$",
                None,
                {"econml": "dr/_drlearner.py:DRLearner", "dowhy": "causal_estimators/doubly_robust_estimator.py"},
            ),
            Feature(
                "warehouses",
                "logs counted inside DuckDB, Spark or PostgreSQL",
                r"duckdb|[Ss]park|[Pp]ostgres",
                "logs/engines.py",
            ),
        ),
        "Running it": (
            Feature(
                "http",
                "decisions over HTTP",
                r"[Ff]ast_?[Aa][Pp][Ii]|[Ss]tarlette|[Ss]erver\b|^serve$",
                "service/app.py:Service",
                {"banditdb-python": README},
            ),
            Feature(
                "durable",
                "every decision and reward in a log that survives a crash",
                r"[Ww]rite_?[Aa]head|[Jj]ournal",
                "service/store.py:Store",
                {"banditdb-python": README},
            ),
            Feature(
                "replayed",
                "every past decision computed again, bit by bit",
                r"^verify$",
                "service/verify.py:verify",
            ),
            Feature(
                "processes",
                "several processes that write to one store",
                r"[Cc]luster(ed)?_?[Ss]tore|[Pp]ostgres",
                "service/postgres.py:PostgresStore",
            ),
            Feature(
                "other-languages",
                "clients in many languages by an open standard (OpenFeature)",
                r"[Oo][Ff][Rr][Ee][Pp]|[Oo]pen_?[Ff]eature",
                "service/ofrep.py",
            ),
            Feature(
                "mcp",
                "tools for language models (Model Context Protocol)",
                r"\bmcp|^MCP",
                None,
                {"banditdb-python": "mcp_server.py"},
            ),
            Feature(
                "streams",
                "an ecosystem for streams: online trees, pipelines, drift",
                r"HoeffdingTree|OnlinePipeline",
                None,
                {"river": "tree/hoeffding_tree_classifier.py:HoeffdingTreeClassifier"},
            ),
            Feature("gpu", "computation on a GPU", r"\bcuda\b|\bGPUs?\b|\bcupy\b", None, in_text=True),
            Feature(
                "typed",
                "type hints for checkers (py.typed)",
                r"^$",
                "py.typed",
                {"river": "py.typed", "pymab": "py.typed"},
            ),
        ),
    }
)
"""Rows of the table by theme."""

FEATURES: tuple[Feature, ...] = tuple(feature for features in THEMES.values() for feature in features)

SIMILAR: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("river", "slates"): "`Policy.ranking` lists the arms by their rewards; one is pulled",
        ("coba", "neural"): "a simulated world whose rewards come from a network",
        ("contextualbandits", "ucb"): "needs contexts",
        ("obp", "ucb"): "needs contexts",
        ("dowhy", "neural"): "predicts outcomes; not a policy",
        ("dowhy", "priors"): "priors of a causal model, for sampling",
        ("dowhy", "ope"): "the effect of a treatment, not the value of a policy",
        ("banditdb-python", "ucb"): "needs contexts",
    }
)
"""Names that match the pattern of a feature in a package that does not have it: what they are instead."""
