"""`bounds`, `sensitivity` and `lab`: what they print and write, and that the guide's example is true."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
COLUMNS = ["--context", "age", "--arm", "arm", "--reward", "reward"]
PYTHON_ARGUMENTS = re.compile(r"\b(low|high|on_bad|arms|gap_low|gap_high|confidence|method|shift)=")


def write_log(path: Path, arms: list[str], scale: tuple[int, int] = (0, 1), rows: int = 400) -> Path:
    rng = np.random.default_rng(1)
    low, high = scale
    frame = {
        "age": rng.choice(["under 65", "65 to 74", "75 and over"], rows),
        "arm": rng.choice(arms, rows),
        "reward": rng.integers(low, high + 1, rows),
    }
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log.csv", ["arm 1", "arm 2", "arm 10"])


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    return write_log(tmp_path / "stars.csv", ["a", "b"], (1, 5), 2000)


def table_of(text: str) -> list[list[str]]:
    """The cells of the table: those between its line of dashes and the next empty line."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if set(line) == {"-"})
    rows = [re.split(r"\s{2,}", line) for line in [lines[first - 1], *lines[first + 1 :]]]
    return rows[: rows.index([""])]


def bounds(*arguments: object) -> int:
    return main(["bounds", *map(str, arguments)])


def test_beside_each_arm_its_rows_share_naive_mean_and_bounds(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(log, *COLUMNS) == 0
    said = capsys.readouterr().out
    header, *rows = table_of(said)
    assert header == ["context", "arm", "rows", "share", "naive mean", "lower", "upper", "can be best"]
    ages = ["under 65", "65 to 74", "75 and over"]
    assert [row[:2] for row in rows] == [[age, arm] for age in ages for arm in ("arm 1", "arm 2", "arm 10")]
    frame = pd.read_csv(log)
    counts = mb.logs.read(log, context="age", arm="arm", reward="reward")
    found = mb.logs.bounds(counts, confidence=0.95)
    for age, arm, number, share, naive, lower, upper, possible in rows:
        own = frame[frame["age"] == age]
        mine = own[own["arm"] == arm]["reward"]
        assert (number, share) == (str(len(mine)), f"{len(mine) / len(own):.1%}")
        assert naive == f"{mine.mean():.4f}"
        k = found[age].arms.index(arm)
        assert (lower, upper) == (f"{found[age].lower[k]:.4f}", f"{found[age].upper[k]:.4f}")
        assert possible == ("yes" if found[age].possible[k] else "no")
    assert "naive mean: the plain average of the arm's rows. It is not an estimate of the arm's mean" in said
    assert said.startswith("400 rows, 3 contexts, 3 arms (those in the log; if there are others, list all")


def test_arms_never_played_are_counted_and_shown_in_the_order_given(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bounds(log, "--arm", "arm", "--reward", "reward", "--arms", "arm 10", "surgery", "arm 2", "arm 1") == 0
    said = capsys.readouterr().out
    assert said.startswith("400 rows, 1 context, 4 arms (surgery never played)\n")
    rows = table_of(said)[1:]
    assert [row[0] for row in rows] == ["arm 10", "surgery", "arm 2", "arm 1"]
    assert rows[1][1:4] == ["0", "0.0%", "never played"]


def test_default_confidence_and_an_infinite_log(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    widths = {}
    for name, options in {"default": [], "0.95": ["--confidence", "0.95"], "infinite": ["--infinite"]}.items():
        out = tmp_path / f"{name}.json"
        assert bounds(log, *COLUMNS, *options, "-o", out) == 0
        widths[name] = sum((own.upper - own.lower).sum() for own in mb.logs.load_bounds(out).values())
    assert widths["default"] == widths["0.95"] > widths["infinite"]
    said = capsys.readouterr().out
    assert "then all bounds hold at once with probability 0.95" in said
    assert "assumed: the expert always played the best arm, the log is infinitely long" in said
    with pytest.raises(SystemExit):
        bounds(log, *COLUMNS, "--infinite", "--confidence", "0.9")


def test_assumptions_are_said(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(log, *COLUMNS, "--gap-low", "0.05", "--gap-high", "0.9", "--shift", "0.1") == 0
    said = capsys.readouterr().out
    assert "the best arm, better than the second best by at least 0.05, better than the worst by at most 0.9" in said
    assert "at most 10% of the hidden cases have changed since" in said
    assert bounds(log, *COLUMNS, "--assume", "any") == 0
    assert "assumed: nothing of the expert; then" in capsys.readouterr().out
    assert bounds(log, *COLUMNS, "--assume", "erring=0.05,gap-high=0.9", "--assume", "odds=3") == 0
    said = capsys.readouterr().out
    assert "all but at most 5% of the cases of each context, better than the worst by at most 0.9; and what" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("lazy", "'lazy' is none of optimal, erring"),
        ("erring", "write erring=..., and gaps after a comma"),
        ("any=3", "write any alone"),
        ("odds=2,gap-low=0.1", "after odds may follow nothing; got 'gap-low=0.1'"),
        ("erring=few", "erring needs a number that is not negative; got 'few'"),
        ("propensity=chance", "say how small a probability can be: propensity=chance,least=0.1"),
    ],
)
def test_assumptions_that_cannot_be_read(log: Path, given: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bounds(log, *COLUMNS, "--assume", given)
    assert words in " ".join(capsys.readouterr().err.split())


def test_gaps_go_into_the_assumption(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(log, *COLUMNS, "--assume", "erring=0.05", "--gap-low", "0.1") == 2
    assert "go into --assume, for example --assume erring=0.05,gap-low=0.1" in capsys.readouterr().err


def test_a_column_of_propensities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    first = rng.random(4000) < 0.25
    frame = {
        "arm": np.where(first, "new", "old"),
        "chance": np.where(first, 0.25, 0.75),
        "reward": (rng.random(4000) < np.where(first, 0.8, 0.4)).astype(int),
    }
    pd.DataFrame(frame).to_csv(tmp_path / "log.csv", index=False)
    out = tmp_path / "bounds.json"
    given = ["--arm", "arm", "--reward", "reward", "--assume", "propensity=chance,least=0.2"]
    assert bounds(tmp_path / "log.csv", *given, "-o", out) == 0
    assert [row[:2] for row in table_of(capsys.readouterr().out)[1:]] == [["new", f"{first.sum():,}"], ["old", "2,989"]]
    found = mb.logs.load_bounds(out)
    assert found.assumption == mb.logs.KnownPropensity("chance", 0.2)
    assert found["all"].contains([0.8, 0.4]).all()
    assert found["all"].pruned().arms == ("new",)


def test_star_ratings_get_the_range_in_words_of_the_command(stars: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(stars, *COLUMNS) == 2
    said = capsys.readouterr().err
    assert "--range 1 5" in said
    assert "--on-bad drop" in said
    assert not PYTHON_ARGUMENTS.search(said.replace("reward=", ""))


def test_many_dropped_rows_cannot_be_missed(stars: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(stars, *COLUMNS, "--on-bad", "drop") == 0
    out, err = capsys.readouterr()
    kept = int((pd.read_csv(stars)["reward"] <= 1).sum())
    share = rf"{2000 - kept:,} of 2,000 rows \({int((2000 - kept) / 20)}[.\d]*%\) were dropped"
    assert err.startswith("=" * 60)
    joined = " ".join(err.split())
    assert re.search(f"WARNING: {share}", joined)  # before the table
    assert re.search(f"meanbounds: warning: {share}", err)  # and after it
    assert "from 1 to 5" in joined
    assert "--range 1 5" in joined
    assert not PYTHON_ARGUMENTS.search(err)
    assert f"{kept} rows, 3 contexts" in out
    assert f"{2000 - kept:,} of 2,000 rows were dropped" in out


def test_a_few_dropped_rows_are_one_quiet_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.read_csv(log)
    frame.loc[3, "reward"] = 7
    frame.to_csv(log, index=False)
    assert bounds(log, *COLUMNS, "--on-bad", "drop") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "dropped: 1 row, reward above range" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--confidence", "95"], "--confidence"),
        (["--shift", "7"], "--shift"),
        (["--gap-low", "3"], "--gap-low"),
        (["--gap-low", "0.5", "--gap-high", "0.2"], "--gap-high"),
        (["--arms", "arm 1"], "--arms leaves out: , 'arm 2', 'arm 10'"),
        (["--range", "1", "0"], "[1.0, 0.0]"),
    ],
)
def test_mistakes_are_named_by_option(
    log: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bounds(log, *COLUMNS, *options) == 2
    said = capsys.readouterr().err
    assert said.startswith("meanbounds: ")
    for word in words.split(", "):
        assert word in said
    assert not PYTHON_ARGUMENTS.search(said)


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(tmp_path / "nothing.parquet", "--arm", "a", "--reward", "r") == 2
    assert "nothing.parquet" in capsys.readouterr().err


def test_lab_bounds_sensitivity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "-o", str(tmp_path), "--rows", "2000", "--arms", "3"]) == 0
    assert "next: meanbounds bounds" in capsys.readouterr().out
    log = ["--context", "context", "--arm", "arm", "--reward", "reward"]
    options = ["--gap-low", "0.01", "--gap-high", "1", "--confidence", "0.9"]
    out, picture = tmp_path / "bounds.json", tmp_path / "bounds.png"
    assert bounds(tmp_path / "log.parquet", *log, *options, "-o", out, "--plot", picture) == 0
    assert "2,000 rows, 3 contexts, 3 arms" in capsys.readouterr().out
    assert list(mb.logs.load_bounds(out)) == ["z0", "z1", "z2"]
    assert picture.stat().st_size > 1000
    command = ["sensitivity", str(tmp_path / "log.parquet"), *log, "--gap-low", "0.05", "0.0"]
    command += ["-o", str(tmp_path / "grid.csv"), "--plot", str(tmp_path / "grid.png")]
    assert main(command) == 0
    said = capsys.readouterr().out
    counts = mb.logs.read(tmp_path / "log.parquet", context="context", arm="arm", reward="reward")
    for context in counts.contexts:
        assert re.search(rf"\b{context}\b", said)
    assert not PYTHON_ARGUMENTS.search(said)
    assert (tmp_path / "grid.csv").read_text().count("\n") == 7
    assert (tmp_path / "grid.png").stat().st_size > 1000


def test_examples_of_the_help_are_true_in_the_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the help shows for `lab` and `bounds`, run one after the other, gives bounds that hold."""
    monkeypatch.chdir(tmp_path)
    examples = {command.name: shlex.split(command.example)[1:] for command in COMMANDS}
    assert main(examples["lab"]) == 0
    assert main([*examples["bounds"], "-o", "bounds.json"]) == 0
    assert main(examples["sensitivity"]) == 0
    assert main(examples["refute"]) == 0
    assert main(examples["explain"]) == 0
    found = mb.logs.load_bounds("bounds.json")
    for row in pd.read_csv("lab/truth.csv").to_dict("records"):
        own = found[row["context"]]
        k = own.arms.index(row["arm"])
        assert own.lower[k] <= row["mean"] <= own.upper[k]


def test_piped_output_is_plain_and_not_cut(tmp_path: Path) -> None:
    arms = [f"{'long ' * 30}{k}" for k in range(3)]
    log = write_log(tmp_path / "log.csv", arms)
    command = [sys.executable, "-m", "meanbounds", "bounds", str(log), *COLUMNS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert all(done.stdout.count(arm) == 3 for arm in arms)
    assert max(map(len, done.stdout.splitlines())) > 200


def guide_command() -> list[str]:
    """The guide's example, word by word."""
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^meanbounds bounds ratings\.csv .*$", text, re.MULTILINE)
    return shlex.split(line)[1:]


def world_of_ratings(seed: int) -> mb.HiddenContexts:
    """Stars from 1 to 5, given by hidden types of users in three occupations; the expert recommends the best movie.

    Stars are 1 + Binomial(4, p), with p drawn anew for each occupation, type and movie: no gap is known.
    """
    rng = np.random.default_rng(seed)
    share = rng.beta(4.0, 2.0, (3, 6, 5))
    stars = np.arange(5)
    law = np.array([1, 4, 6, 4, 1]) * share[..., None] ** stars * (1.0 - share[..., None]) ** (4 - stars)
    return mb.HiddenContexts(
        1.0 + 4.0 * share,
        rng.exponential(size=(3, 6)),
        low=1.0,
        high=5.0,
        contexts=["artist", "lawyer", "student"],
        arms=[f"movie {k}" for k in range(1, 6)],
        values=stars + 1.0,
        law=law,
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_example_of_the_guide_is_true(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    world = world_of_ratings(seed)
    names = {"context": "occupation", "arm": "movie", "reward": "rating"}
    world.log(20_000, seed=seed).rename(columns=names).to_csv("ratings.csv", index=False)
    assert main(guide_command()) == 0
    found = mb.logs.load_bounds("bounds.json")
    assert list(found) == list(world.contexts)
    for z, context in enumerate(world.contexts):
        for k, arm in enumerate(world.arms):
            place = found[context].arms.index(arm)
            assert found[context].lower[place] <= world.marginal_means[z, k] <= found[context].upper[place]
            assert found[context].upper[place] < 5.0  # and they say something


def test_rows_that_stand_for_several_and_windows_of_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = [f"2024-0{1 + k % 6}-15" for k in range(600)]
    log = pd.DataFrame({"arm": ["a", "b", "c"] * 200, "reward": [0, 1] * 300, "day": days, "cases": [1, 2, 3, 0] * 150})
    log.to_csv(tmp_path / "log.csv", index=False)
    window = ["--time", "day", "--since", "2024-02-01", "--until", "2024-05-15"]
    columns = ["--arm", "arm", "--reward", "reward"]
    assert bounds(tmp_path / "log.csv", *columns, "--weight", "cases", *window, "-o", tmp_path / "bounds.json") == 0
    inside = log[(log["day"] >= "2024-02-01") & (log["day"] < "2024-05-15")]
    assert [row[1] for row in table_of(capsys.readouterr().out)[1:]] == [
        f"{cases:,}" for cases in inside.groupby("arm")["cases"].sum()
    ]
    repeated = inside.loc[inside.index.repeat(inside["cases"])]
    counts = mb.logs.read(repeated, arm="arm", reward="reward")
    assert mb.logs.load_bounds(tmp_path / "bounds.json")["all"] == mb.logs.bounds(counts)["all"]
    log.assign(day=["", *days[1:]]).to_csv(tmp_path / "gap.csv", index=False)
    assert bounds(tmp_path / "gap.csv", *columns, *window) == 2
    assert "missing time: 1 row" in capsys.readouterr().err
    assert bounds(tmp_path / "gap.csv", *columns, *window, "--on-bad", "drop") == 0
    assert "dropped: 1 row, missing time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "2024-01-01"], "--since and --until need --time, the column"),
        (["--time", "age"], "--time age needs --since, --until or both"),
        (["--time", "age", "--since", "soon"], "--since must be a number, or a date"),
        (["--time", "age", "--since", "7", "--until", "3"], "--since 7 is not before --until 3"),
    ],
)
def test_windows_that_cannot_be(
    log: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bounds(log, "--arm", "arm", "--reward", "reward", *options) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_names_written_in_two_ways_are_pointed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Capitals and spaces make another arm; who reads the output learns it, and nothing else changes."""
    rows = [("north", "Physio", 1), ("north", "physio ", 0), ("n/a", "rest", 1), ("south", "rest", 0)]
    path = tmp_path / "log.csv"
    path.write_text("clinic,arm,reward\n" + "".join(f"{clinic},{arm},{reward}\n" for clinic, arm, reward in rows))
    assert main(["bounds", str(path), "--context", "clinic", "--assume", "any"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("names: ")]
    assert said == [
        "names: 'Physio' and 'physio ' count as different arms; if they are one, write it in one way in the log",
        "names: the context 'n/a' counts like any other; if it says that a value is missing, leave the field empty",
    ]


def test_words_for_rewards_are_refused_with_what_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\na,yes\nb,\n")
    assert main(["bounds", str(path)]) == 2
    said = capsys.readouterr().err
    assert "reward=None; reward is not a number: 1 row (50%), such as arm='a', reward='yes'. Correct the log" in said
    assert "1 for yes and 0 for no, 0.5 rather than 0,5" in said


def test_dates_that_are_not_read_are_refused_with_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,day\na,1,31/01/2024\nb,0,30/01/2024\n")
    given = ["bounds", str(path), "--time", "day", "--since", "2024-01-01"]
    for more in ([], ["--on-bad", "drop"]):
        assert main([*given, *more]) == 2
        said = capsys.readouterr().err
        assert "time cannot be read" in said
        assert "a date such as 2024-01-31" in said


def test_a_missing_column_says_how_to_name_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("treatment,recovered\na,1\n")
    assert main(["bounds", str(path)]) == 2
    said = capsys.readouterr().err
    assert "Its columns are 'treatment', 'recovered'. Name yours with --context, --arm and --reward" in said


def test_a_range_from_the_worst_to_the_best_says_to_negate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", "log.csv", "--range", "90", "0"]) == 2
    assert "where less is better, negate the rewards: --range -90 0" in capsys.readouterr().err
