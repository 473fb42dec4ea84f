"""Study files: a mistake is reported in one line, with the line of the file it is on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.simulation.study import StudyError, read_study
from meanbounds.simulation.toml_lines import lines_of

TOP = 'policies = ["UCB", "GLUE"]\nhorizon = 300\n'
BERNOULLI = '[environment]\nkind = "bernoulli"\nmeans = [0.9, 0.8, 0.5]\n'
BOUNDS = "[bounds]\nlower = [0.8, 0.1, 0.1]\nupper = [0.95, 0.95, 0.7]\n"
LINEAR = '[environment]\nkind = "linear"\nfeatures = [[1.0, 0.0], [0.6, 0.8]]\ntheta = [0.5, 0.5]\n'

# Each mistake is on the line with this mark.
HERE = "# here"

MISTAKES = {
    "horizon negative": f"policies = ['UCB']\nhorizon = -5 {HERE}\n{BERNOULLI}",
    "horizon of text": f"policies = ['UCB']\n\n\nhorizon = 'long' {HERE}\n{BERNOULLI}",
    "horizon absurd": f"policies = ['UCB']\nhorizon = 1_000_000_000_000_000 {HERE}\n{BERNOULLI}",
    "horizon with 400 digits": f"policies = ['UCB']\nhorizon = {10**400} {HERE}\n{BERNOULLI}",
    "horizon with 5,000 digits": f"policies = ['UCB']\nhorizon = 1{'0' * 5000} {HERE}\n{BERNOULLI}",
    "horizon with 5,000 hexadecimal digits": f"policies = ['UCB']\nhorizon = 0x1{'0' * 5000} {HERE}\n{BERNOULLI}",
    "horizon infinite": f"policies = ['UCB']\nhorizon = inf {HERE}\n{BERNOULLI}",
    "runs absurd": f"{TOP}runs = 1_000_000_000_000 {HERE}\n{BERNOULLI}",
    "runs a date": f"{TOP}runs = 1979-05-27 07:32:00 {HERE}\n{BERNOULLI}",
    "seed absurd": f"{TOP}seed = 9223372036854775808 {HERE}\n{BERNOULLI}",
    "checkpoints zero": f"{TOP}checkpoints = 0 {HERE}\n{BERNOULLI}",
    "title no text": f"{TOP}title = [1] {HERE}\n{BERNOULLI}",
    "unknown key": f"{TOP}horizons = 1 {HERE}\n{BERNOULLI}",
    "unknown quoted key": f'{TOP}"hori\\u007aon 2" = 1 {HERE}\n{BERNOULLI}',
    "unknown table": f"{TOP}{BERNOULLI}[bound] {HERE}\nlower = [0.1]\n",
    "unknown key below a text that looks like it": f'{TOP}title = """\nrums = 1\n"""\nrums = 1 {HERE}\n{BERNOULLI}',
    "key after a text with quotes": f"{TOP}title = '''it's '' so'''\nrums = 1 {HERE}\n{BERNOULLI}",
    "key in a table of the same name": f"{TOP}{BERNOULLI}horizon = 5 {HERE}\n",
    "no TOML": f"{TOP}runs = = 3 {HERE}\n{BERNOULLI}",
    "a key twice": f"{TOP}horizon = 3 {HERE}\n{BERNOULLI}",
    "a table twice": f"{TOP}{BERNOULLI}[environment] {HERE}\n",
    "a list that does not end": f"horizon = 3\n{BERNOULLI}policies = ['UCB', {HERE}",
    "policies empty": f"horizon = 3\npolicies = [] {HERE}\n{BERNOULLI}",
    "a policy of many lines": f"horizon = 3\npolicies = [\n'UCB',\n# GLUE is next\n'GULE', {HERE}\n]\n{BERNOULLI}",
    "a policy that is a number": f"horizon = 3\npolicies = [\n  'UCB',\n  3, {HERE}\n]\n{BERNOULLI}",
    "a policy that is a list": f"horizon = 3\npolicies = [\n'UCB',\n{{ policy = ['GLUE'] }}, {HERE}\n]\n{BERNOULLI}",
    "a label that is a list": f"horizon = 3\n{BERNOULLI}[[policies]]\npolicy = 'UCB'\nlabel = [1] {HERE}\n",
    "a label twice": f"horizon = 3\npolicies = [\n 'UCB',\n 'GLUE',\n 'UCB', {HERE}\n]\n{BERNOULLI}",
    "a parameter in a table of its own": "horizon = 3\n"
    + f"[[policies]]\npolicy='UCB'\n[[policies]]\npolicy='ThompsonSampling'\nprior=[0.0, 1.0] {HERE}\n{BERNOULLI}",
    "an unknown parameter": "horizon = 3\n"
    + f"[[policies]]\npolicy='UCB'\n[[policies]]\npolicy='ThompsonSampling'\nmoment=2 {HERE}\n{BERNOULLI}",
    "an unknown policy in a table": f"horizon = 3\n[[policies]]\npolicy = 'GULE' {HERE}\nlabel = 'mine'\n{BERNOULLI}",
    "an abstract policy": f"horizon = 3\npolicies = [\n'Policy', {HERE}\n]\n{BERNOULLI}",
    "R-OFUL without features": f"horizon = 3\npolicies = [\n'UCB',\n'ROFUL', {HERE}\n]\n{BERNOULLI}",
    "UCB where few arms are on offer": f"horizon = 3\npolicies = [\n'OFUL',\n'UCB', {HERE}\n]\n{LINEAR}offered = 1\n",
    "corrupt of an unknown kind": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nby = 0.1\nkind = 'bad' {HERE}\n",
    "corrupt without a kind": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt] {HERE}\nby = 0.1\n",
    "corrupt without a size": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt] {HERE}\nkind = 'shifted'\n",
    "corrupt by a text": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nkind = 'shifted'\nby = 'much' {HERE}\n",
    "corrupt by too much": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nkind = 'bad-favoured'\nby = 0.5 {HERE}\n",
    "corrupt by nothing": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nkind = 'shifted'\nby = 0 {HERE}\n",
    "corrupt with a wrong seed": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nkind='shifted'\nby=0.1\nseed=-1 {HERE}\n",
    "corrupt with another key": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nkind='shifted'\nby=0.1\nsize=1 {HERE}\n",
    "corrupt without bounds": f"{TOP}{BERNOULLI}[corrupt]\nby = 0.1\nkind = 'shifted' {HERE}\n",
    "corrupt without a log": f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nby = 0.1\nkind = 'expert-errs' {HERE}\n",
    "corrupt that is a text": f"{TOP}corrupt = 'shifted' {HERE}\n{BERNOULLI}{BOUNDS}",
    "a log that is wrong": "horizon = 3\npolicies = [\n'UCB',\n"
    + f"{{ policy = 'MINUCB', log = {{ counts = [1], totals = [] }} }}, {HERE}\n]\n{BERNOULLI}",
    "kind unknown": f"{TOP}[environment]\nmeans = [0.5]\nkind = 'gauss' {HERE}\n",
    "kind a list": f"{TOP}[environment]\nmeans = [0.5]\nkind = ['bernoulli'] {HERE}\n",
    "kind missing": f"{TOP}[environment] {HERE}\nmeans = [0.5]\n",
    "means missing": f"{TOP}[environment] {HERE}\nkind = 'bernoulli'\n",
    "means misspelt, by dots": f"{TOP}environment.kind = 'bernoulli'\nenvironment.mean = [0.5] {HERE}\n",
    "means misspelt, in line": f"{TOP}environment = {{ kind = 'bernoulli', mean = [0.5] }} {HERE}\n",
    "means of text": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = 'high' {HERE}\n",
    "means empty": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = [] {HERE}\n",
    "means with a text": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = [\n 0.5,\n 'high', {HERE}\n]\n",
    "means with a truth": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = [\n 0.5,\n true, {HERE}\n]\n",
    "means not finite": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = [\n 0.5,\n nan, {HERE}\n]\n",
    "means with 400 digits": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = [\n 0.5,\n {10**400}, {HERE}\n]\n",
    "means nested": f"{TOP}[environment]\nkind = 'bernoulli'\nmeans = [\n 0.5,\n [0.5], {HERE}\n]\n",
    "a mean outside the range": f"{TOP}[environment]\nkind = 'uniform'\nmeans = [\n 0.5,\n\n 1.5, {HERE}\n]\n",
    "a mean at the end of the range": f"{TOP}[environment]\nkind = 'beta'\nmeans = [\n 0.5,\n 1.0, {HERE}\n]\n",
    "concentration negative": f"{TOP}[environment]\nkind = 'beta'\nmeans = [0.5]\nconcentration = -1 {HERE}\n",
    "too many ends of ranges": f"{TOP}{BERNOULLI}low = [0, 0] {HERE}\n",
    "values of one arm empty": f"{TOP}[environment]\nkind = 'table'\nvalues = [\n [1],\n [], {HERE}\n]\n",
    "values that leave the range": f"{TOP}[environment]\nkind='table'\nhigh=1\nvalues=[\n[1],\n[0, 0, 7], {HERE}\n]\n",
    "weights negative": f"{TOP}[environment]\nkind='table'\nvalues=[[1],[1, 2]]\nweights=[\n[1],\n[-1, 1], {HERE}\n]\n",
    "weights missing": f"{TOP}[environment]\nkind = 'table'\nvalues = [[1], [1, 2]]\nweights = [[1]] {HERE}\n",
    "features of two lengths": f"{TOP}[environment]\nkind='linear'\ntheta=[1]\nfeatures=[\n[1],\n[1,2], {HERE}]\n",
    "features of numbers": f"{TOP}[environment]\nkind = 'linear'\ntheta = [1]\nfeatures = [1, 2] {HERE}\n",
    "a law that is none": f"horizon = 3\npolicies = ['OFUL']\n{LINEAR}rewards = 'gauss' {HERE}\n",
    "more on offer than there is": f"horizon = 3\npolicies = ['OFUL']\n{LINEAR}offered = 7 {HERE}\n",
    "an arm on offer twice": f"horizon = 3\npolicies = ['OFUL']\n{LINEAR}offered = [\n[0, 1],\n[1, 1], {HERE}\n]\n",
    "a mean of features beyond 1": f"{TOP}[environment]\nkind='linear'\nfeatures=[\n[1],\n[2], {HERE}\n]\ntheta=[1]\n",
    "bounds for fewer arms": f"{TOP}{BERNOULLI}[bounds] {HERE}\nlower = [0.1]\nupper = [0.9]\n",
    "bounds without upper": f"{TOP}{BERNOULLI}[bounds] {HERE}\nlower = [0.1, 0.1, 0.1]\n",
    "bounds with an unknown key": f"{TOP}{BERNOULLI}{BOUNDS}lowest = 0 {HERE}\n",
    "lower above upper": f"{TOP}{BERNOULLI}[bounds]\nupper = [0.9, 0.9, 0.9]\nlower = [\n0.1,\n0.95, {HERE}\n0.1]\n",
    "lower below the range": f"{TOP}{BERNOULLI}[bounds]\nupper=[0.9, 0.9, 0.9]\nlower=[\n0.1,\n-0.5, {HERE}\n0.1]\n",
    "upper above the range": f"{TOP}{BERNOULLI}[bounds]\nlower = [0.1, 0.1, 0.1]\nupper = [\n0.9,\n1.5, {HERE}\n0.9]\n",
    "upper above the range of a named arm": f"{TOP}{BERNOULLI}[bounds]\narms = ['a', 'b', 'c']\nlower = 0.1\n"
    + f"upper = [\n0.9,\n0.9,\n1.5, {HERE}\n]\n",
    "upper too short": f"{TOP}{BERNOULLI}[bounds]\nlower = [0.1, 0.1, 0.1]\nupper = [0.9, 0.9] {HERE}\n",
    "ranges the wrong way round": f"{TOP}{BERNOULLI}{BOUNDS}low = 1 {HERE}\nhigh = 0\n",
    "rewards that leave the range of the bounds": f"{TOP}{BERNOULLI}high=2\n"
    + BOUNDS.replace("[bounds]", f"[bounds] {HERE}"),
    "an arm named twice": f"{TOP}{BERNOULLI}{BOUNDS}arms = [\n'a',\n'b',\n'a', {HERE}\n]\n",
    "an arm that is a number with a fraction": f"{TOP}{BERNOULLI}{BOUNDS}arms = [\n'a',\n1.5, {HERE}\n'c']\n",
    "too few names": f"{TOP}{BERNOULLI}{BOUNDS}arms = ['a'] {HERE}\n",
    "names that are none": f"{TOP}{BERNOULLI}{BOUNDS}arms = 'abc' {HERE}\n",
    "bounds that are a list": f"{TOP}bounds = [1] {HERE}\n{BERNOULLI}",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_line_of_a_mistake(name: str, tmp_path: Path) -> None:
    text = MISTAKES[name]
    (line,) = (number for number, each in enumerate(text.split("\n"), start=1) if HERE in each)
    for variant, ends in ((text, "\n"), (text, "\r\n"), ("\ufeff" + text, "\n")):
        path = tmp_path / "study.toml"
        path.write_bytes(variant.replace("\n", ends).encode())
        with pytest.raises(StudyError) as error:
            read_study(path)
        said = str(error.value)
        assert said.startswith(f"{path}, line {line}: ")
        assert "\n" not in said
        assert len(said) < 500 + len(str(path))


def test_there_are_many_mistakes() -> None:
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ("{a=", "}")])
def test_deep_nesting(depth: int, start: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"{TOP}{BERNOULLI}low = {start * depth}1{end * depth}\n")
    with pytest.raises(StudyError, match=r"study\.toml(, line 6)?: (environment: low must be|.*nested too deeply)"):
        read_study(path)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(TOP.encode() + b'title = "Z\xfcrich"\n')
    with pytest.raises(StudyError, match=r"line 3: not a TOML file: it is not text in UTF-8"):
        read_study(path)


def test_lines_of_everything() -> None:
    """Each entry starts with its line's number, whatever stands around it."""
    text = '''\
a = 1 # ] } "
"b.c" = """
x = 1
y = [""" # three quotes
[t] # table
k.l = 5
  m = [ 7,
  [8, { n = 8, 'o p' = 8 }], # [
9 ]
[[u]]
v = "\\"11"
[[u]]
v = \'\'\'13\'\'\'\'
[u.w]
x = 1979-05-27 07:32:00
y = 1979-05-27T07:32:00Z
'''
    expected = {
        ("a",): 1, ("b.c",): 2, ("t",): 5, ("t", "k"): 6, ("t", "k", "l"): 6, ("t", "m"): 7, ("t", "m", 0): 7,
        ("t", "m", 1): 8, ("t", "m", 1, 0): 8, ("t", "m", 1, 1): 8, ("t", "m", 1, 1, "n"): 8,
        ("t", "m", 1, 1, "o p"): 8, ("t", "m", 2): 9, ("u",): 10, ("u", 0): 10, ("u", 0, "v"): 11, ("u", 1): 12,
        ("u", 1, "v"): 13, ("u", 1, "w"): 14, ("u", 1, "w", "x"): 15, ("u", 1, "w", "y"): 16,
    }  # fmt: skip
    assert lines_of(text) == expected


def test_a_good_study_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        f"{TOP}title = 'all'\nruns = 3\nseed = 9223372036854775807\ncheckpoints = 5\n{BERNOULLI}low = 0\n"
        f"high = [1, 1, 1]\n{BOUNDS}arms = ['a', 'b', 3]\nlow = 0\nhigh = 1.0\n"
    )
    study = read_study(path)
    assert study.bounds is not None
    assert study.bounds.arms == ("a", "b", 3)
    assert study.environment.means.tolist() == [0.9, 0.8, 0.5]
    regret = mb.simulate(
        study.policies, study.environment, study.bounds, horizon=study.horizon, runs=study.runs, seed=study.seed
    )
    assert regret.labels == ("UCB", "GLUE")
    assert re.match("policy", regret.summary())


LOGGED = """
policies = [
  "GLUE",
  { policy = "MINUCB", log = { counts = [20, 80, 0], totals = [18.0, 70.0, 0.0] }, bias = 0.1, label = "MIN-UCB" },
  { policy = "WarmStart", base = { policy = "ThompsonSampling" }, log = { counts = [9], totals = [5] }, label = "w" },
]
horizon = 300
"""


@pytest.mark.parametrize(
    ("kind", "lower", "upper"),
    [
        ("cap-too-low", [0.8, 0.1, 0.1], [0.85, 0.95, 0.7]),
        ("best-pruned", [0.05, 0.1, 0.1], [0.05, 0.95, 0.7]),
        ("bad-favoured", [0.8, 0.1, 0.95], [0.95, 0.95, 0.95]),
    ],
)
def test_a_study_with_wrong_bounds(tmp_path: Path, kind: str, lower: list[float], upper: list[float]) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"{TOP}{BERNOULLI}{BOUNDS}[corrupt]\nkind = '{kind}'\nby = 0.05\n")
    bounds = read_study(path).bounds
    assert bounds is not None
    assert bounds.lower.tolist() == pytest.approx(lower)
    assert bounds.upper.tolist() == pytest.approx(upper)


def test_a_study_with_wrong_logs(tmp_path: Path) -> None:
    """Policies without a log stay as they are, the seed is that of the study, and there need not be bounds."""
    path = tmp_path / "study.toml"
    for more in ("", "seed = 3\n"):
        path.write_text(f"{LOGGED}{more}{BERNOULLI}[corrupt]\nkind = 'expert-errs'\nby = 0.3\n")
        study = read_study(path)
        wrong = study.policies["MIN-UCB"]
        assert isinstance(wrong, mb.MINUCB)
        right = mb.LoggedArms([20, 80, 0], [18.0, 70.0, 0.0])
        means, arms = [0.9, 0.8, 0.5], mb.MeanBounds.vacuous(3)
        seed = 3 if more else 0
        assert wrong.log == mb.simulation.corrupt_log(right, means, arms, "expert-errs", 0.3, seed=seed)
        assert study.policies["GLUE"] == mb.GLUE()
    mb.simulate(study.policies, study.environment, horizon=20, runs=2, seed=1)
