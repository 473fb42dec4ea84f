"""Commands about a store, from a log to a backup: what they print, keep and refuse, and their exit codes."""

import csv
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb
from meanbounds import cli
from tests.logs.three_logs import BAD

LOG = ["log.csv", "--context", "clinic", "--arm", "treatment", "--reward", "recovered"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, and a store with an agent that starts from it."""
    folder = tmp_path_factory.mktemp("made")
    rows = zip(*(part.tolist() for part in BAD.log(3_000, seed=3).values()), strict=True)
    text = "clinic,treatment,recovered\n" + "".join(f"{z},{arm},{x:g}\n" for z, arm, x in rows)
    (folder / "log.csv").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main(["start", *LOG, "--cost", "0.01", "-o", "clinic.db", "--name", "clinic"]) == 0
    return folder


@pytest.fixture(autouse=True)
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which the commands run."""
    for name in ("log.csv", "clinic.db"):
        shutil.copy(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line and returns its lines; those of standard error if it fails."""

    def command(line: str, code: int = 0) -> list[str]:
        capsys.readouterr()
        assert cli.main(shlex.split(line)) == code
        out, err = capsys.readouterr()
        return (out if code < 2 else err).splitlines()

    return command


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_from_a_log_to_a_restored_backup(folder: Path, run: Any) -> None:
    """Every command that is printed as the next one works as it is printed."""
    said = run("decide clinic.db --context north")
    assert said[:3] == ["context      north", "arm          ask the experts", "probability  1"]
    assert said[3].startswith("reason       guard: the promise")
    assert said[-2] == "Once you know how it went, and what they chose:"
    assert re.fullmatch(r"  meanbounds reward clinic.db [0-9a-f]{32} REWARD --arm ARM", said[-1])
    assert max(map(len, said)) <= 80
    next_line = said[-1].replace("REWARD", "1").replace("ARM", "aspirin").removeprefix("  meanbounds ")
    assert run(next_line) == ["counted: 1"]
    assert run(next_line) == ["counted already: 1"]
    said = run("export clinic.db -o decisions.csv")
    assert said[0] == "written: decisions.csv, 1 decision"
    (row,) = table(folder / "decisions.csv")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", row["time"])
    assert [row[name] for name in ("context", "arm", "chosen", "reward")] == ["north", "expert", "aspirin", "1.0"]
    assert run(said[1].removeprefix("Evaluate them with: meanbounds "))[0] == "1 decision with a reward"
    assert run("backup clinic.db copy.db") == ["written: copy.db", "Check it with: meanbounds verify copy.db"]
    assert run("verify copy.db")[0] == "3 events, 2 contexts, 0 tokens: no fault"
    assert run("restore copy.db back.db")
    with mb.Store("back.db") as back, mb.Store("clinic.db") as store:
        assert back["clinic"].agent.to_dict() == store["clinic"].agent.to_dict()
        assert back["clinic"].agent.observed("north")[0].sum() == 1
    for line in ("backup clinic.db copy.db", "restore copy.db back.db"):
        assert "is there already" in run(line, 2)[0]


def test_the_same_id_gets_the_same_answer(run: Any) -> None:
    first = json.loads(run("decide clinic.db --context north --id v1 --json")[0])
    due = {"id": "v1", "arm": {"expert": True}, "probability": 1.0, "reason": "guard", "version": 1, "repeated": False}
    assert first == due
    assert json.loads(run("decide clinic.db clinic --context north --id v1 --json")[0]) == {**first, "repeated": True}
    assert "id           v1 (asked before: this is the same answer)" in run("decide clinic.db --context north --id v1")
    assert "another context" in run("decide clinic.db --context south --id v1", 2)[0]
    assert run("reward clinic.db --never v1") == ["given up: no reward will come"]
    assert run("reward clinic.db v1 --never") == ["given up already: no reward will come"]
    with mb.Store("clinic.db") as store:
        assert store["clinic"].agent.pulls("north").sum() == 1
        assert store["clinic"].agent.pending("north").sum() == 0


def test_a_context_that_is_new_is_said_to_be(run: Any) -> None:
    said = run("decide clinic.db --context nrth")
    assert said[0] == "context      nrth (new to the agent, which knows north and south)"
    assert said[3] == "reason       support: no option has enough behind it here"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("decide clinic.db", "clinic decides by context: say which with --context"),
        ("decide clinic.db --context a b", "a context of this agent is 1 word, such as --context north; got 2"),
        ("decide clinic.db klinic --context north", "unknown agent 'klinic', did you mean 'clinic'? The agents are"),
        ("decide nosuch.db --context north", "there is no store"),
        ("decide log.csv --context north", "log.csv is not a store of meanbounds"),
        ("decide clinic.db --context north --eligible {", "{ is neither an arm nor JSON that describes a new one"),
        ("reward clinic.db v0 good --arm aspirin", "a reward is a number, such as 1 if it went well and 0 if not; got"),
        ("reward clinic.db v0 1", "the experts were asked: say with --arm which option they chose"),
        ("reward clinic.db v0 1 --arm asprin", "unknown arm 'asprin', did you mean 'aspirin'?"),
        ("reward clinic.db v9 1", "no decision has this id"),
        ("reward clinic.db v0", "after the store give ID REWARD, or AGENT ID REWARD; got v0"),
        ("reward clinic.db a b c d", "after the store give ID REWARD, or AGENT ID REWARD; got a b c d"),
        ("reward clinic.db v0 --never --arm aspirin", "after the store give ID, or AGENT ID, and no arm; got v0"),
        ("export clinic.db -o rows.txt", "rows.txt: give a file that ends in .csv, .jsonl or .parquet"),
        ("export clinic.db -o no/rows.csv", "no/rows.csv cannot be written: No such file or directory; give a file"),
        ("evaluate clinic.db", "no decision has a reward yet: wait for one"),
        ("evaluate log.csv clinic", "log.csv is no store, so clinic cannot be the agent in it"),
        ("start log.csv --name x", "--name is for an agent in a store: give one with -o, such as -o clinic.db"),
        ("start *.csv --context clinic --arm treatment --reward recovered -o clinic.db", "give the agent a name"),
        ("start log.csv --arm treatment --reward recovered -o new.db --name a/b", "name with --name: letters"),
        ("token clinic.db", "say what the token allows, such as decide reward (all are: decide, reward, observe"),
        ("token clinic.db decide --list", "say what the token allows"),
        ("token clinic.db --open --days 3", "say what the token allows"),
        ("token clinic.db decide --agents klinic", "unknown agent 'klinic', did you mean 'clinic'?"),
        ("token clinic.db --revoke x", "no token has the id or the name 'x'"),
        ("verify log.csv", "log.csv is not a store of meanbounds"),
        ("backup nosuch.db new.db", "there is no store"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(line: str, said: str, run: Any) -> None:
    run("decide clinic.db --context north --id v0")
    with mb.Store("clinic.db") as store:
        state = store["clinic"].agent.to_dict()
    lines = run(line, 2)
    assert len(lines) == 1
    assert lines[0].startswith("meanbounds: ")
    assert said in lines[0]
    with mb.Store("clinic.db") as store:
        assert store["clinic"].agent.to_dict() == state
        assert not store.database.tokens()


def play(rounds: int) -> None:
    """Decisions with rewards in the store; the experts choose aspirin if they are asked."""
    with mb.Store("clinic.db") as store:
        own = store["clinic"]
        for i in range(rounds):
            z = ("north", "south")[i % 2]
            asked = own.decide(f"p{i}", z).arm is mb.EXPERT
            if i % 5:
                own.reward(f"p{i}", float(i % 3 > 0), "aspirin" if asked else None)


def test_start_gives_a_stored_agent_what_the_log_says_now(folder: Path, run: Any) -> None:
    play(60)
    with mb.Store("clinic.db") as store:
        before = store["clinic"].agent
        assert isinstance(before, mb.Agent)
        asked = int(before.observed()[0].sum())
        with (folder / "log.csv").open("a") as file:
            file.write("east,aspirin,1\neast,watch,0\n" * 200)
    said = run(f"start {shlex.join(LOG)} --cost 0.01 --margin 0.05 --name clinic -o clinic.db")
    assert said[0] == f"Added to the log: {asked} cases in which the agent asked your experts since."
    assert said[3].startswith(f"{3_400 + asked:,} rows, 3 contexts")
    found = re.fullmatch(r"written: clinic.db, agent clinic, version (\d+)\. What it has seen stays\.", said[-2])
    assert found is not None
    counts = mb.logs.read(folder / "log.csv", context="clinic", arm="treatment", reward="recovered")
    grown = mb.logs.with_observed(counts.select(["north", "south"]), before) + counts.select(["east"])
    due = mb.logs.agent(grown, promise=mb.Promise(margin=0.05), cost=0.01)
    with mb.Store("clinic.db") as store:
        after = store["clinic"].agent
        assert isinstance(after, mb.Agent)
        assert after.contexts == ("north", "south", "east")
        for z in after.contexts:
            assert after.knowledge(z).bounds == due.knowledge(z).bounds
        assert after.policy == due.policy
        assert (after.pulls() == before.pulls()).all()
    run("decide clinic.db --context east")
    run("export clinic.db -o rows.csv")
    assert table(folder / "rows.csv")[-1]["version"] == found[1]
    script = "import meanbounds as mb; " + said[-1].removeprefix("To undo this, in Python: ")
    subprocess.run([sys.executable, "-c", script], check=True)
    with mb.Store("clinic.db") as store:
        back = store["clinic"].agent
        assert isinstance(back, mb.Agent)
        assert back.policy == before.policy
        assert back.knowledge("north").bounds == before.knowledge("north").bounds
    assert run("verify clinic.db")[0].endswith("no fault")


def test_a_store_evaluates_as_its_export_does(folder: Path, run: Any) -> None:
    play(60)
    own = run("evaluate clinic.db -o own.json")
    assert own[0] == "48 decisions with a reward"
    beside = run(f"evaluate clinic.db --log {shlex.join(LOG)}")
    assert any(line.startswith("experts, log ") for line in beside)
    for end in ("csv", "jsonl", "parquet"):
        run(f"export clinic.db -o rows.{end}")
        assert run(f"evaluate rows.{end} --context context -o {end}.json") == [*own[:-1], f"written: {end}.json"]
        assert json.loads((folder / f"{end}.json").read_text()) == json.loads((folder / "own.json").read_text())
    assert run("evaluate clinic.db --where \"context = 'north'\"")[0] == "24 decisions with a reward"


def test_contexts_of_several_parts_whole_numbers_and_erased_names(folder: Path, run: Any) -> None:
    cases = product(("a b", "c"), "34", "12", "12345" * 20)
    (folder / "stars.csv").write_text("clinic,age,dose,stars\n" + "\n".join(map(",".join, cases)))
    line = "start stars.csv --context clinic age --arm dose --reward stars --range 1 5 --no-experts -o stars.sqlite"
    said = run(line)
    assert said[-2] == "written: stars.sqlite, agent stars"
    assert said[-1] == "Ask it with: meanbounds decide stars.sqlite --context 'a b' 3"
    said = run("decide stars.sqlite --context 'a b' 3 --eligible 2 --id 1")
    assert said[:2] == ["context      a b / 3", "arm          2"]
    assert run("reward stars.sqlite 1 5 --arm 2") == ["counted: 5"]
    assert "such as --context 'a b' 3; got 1" in run("decide stars.sqlite --context c", 2)[0]
    assert "was 2, not 1" in run("reward stars.sqlite 1 5 --arm 1", 2)[0]
    run("decide stars.sqlite --context c 5 --id 2")
    assert run("reward stars.sqlite 2 1") == ["counted: 1"]
    with mb.Store("stars.sqlite") as store:
        store["stars"].erase(("c", "5"))
    run("export stars.sqlite -o rows.csv")
    names = "context_1", "context_2", "reward", "probability"
    found = [[row[name] for name in names] for row in table(folder / "rows.csv")]
    assert found == [["a b", "3", "5.0", "1.0"], ["", "", "1.0", "0.5"]]
    said = run("evaluate stars.sqlite")  # the range is the agent's
    assert said[0] == "1 decision with a reward"
    assert "1 row left out: missing context." in said
    run(line + " --name other")
    assert "has the agents other, stars: say which" in run("decide stars.sqlite --context c 3", 2)[0]
    said = run("decide stars.sqlite other --context c 3 --id 1")
    assert said[-1] == "  meanbounds reward stars.sqlite other 1 REWARD"
    assert run("reward stars.sqlite other 1 3") == ["counted: 3"]


def test_arms_with_features_are_offered_in_json(folder: Path, run: Any) -> None:
    bounds = mb.MeanBounds([0.3, 0.2], [0.4, 0.3], arms=["old", "older"])
    mb.Store.create("films.db", "films", mb.LinearAgent(mb.ROFUL(), bounds, [[1.0, 0.0], [0.0, 1.0]], seed=7)).close()
    new = """'{"name": "new", "features": [0.6, 0.8], "lower": 0.4}'"""
    assert run(f"decide films.db --eligible old {new} --id 1")[0] == "arm          new"
    assert json.loads(run(f"decide films.db --eligible old {new} --id 1 --json")[0])["arm"]["name"] == "new"
    assert run("reward films.db 1 1") == ["counted: 1"]
    run("export films.db -o rows.csv")
    assert table(folder / "rows.csv")[0]["arm"] == "new"
    assert run("evaluate films.db")[0] == "1 decision with a reward"


def test_tokens(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("token clinic.db --list") == ["no tokens; without a token, nobody may do anything"]
    given = "decide reward --agents clinic --name app --days 9"
    assert cli.main(["token", "clinic.db", *given.split()]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"mb_[0-9a-f]{12}_[\w-]{43}\n", out)
    assert "shown once" in err
    run("token clinic.db read")
    said = run("token clinic.db --list")
    assert said[0].split() == ["id", "name", "allows", "agents", "valid"]
    number = out.split("_")[1]
    (line,) = (line for line in said if line.startswith(number))
    assert re.search(r"app +decide reward +clinic +until \d{4}-\d\d-\d\d \d\d:\d\d UTC$", line)
    assert any(re.search(r"- +read +all +for ever$", line) for line in said)
    assert out.split("_", 2)[2].strip() not in "".join(said)
    assert run(f"token clinic.db --revoke {number}") == [f"revoked: {number}; services notice within two seconds"]
    assert run("token clinic.db --list")[-2].endswith("revoked")
    assert "may do" in run("token clinic.db --open")[0]
    assert run("token clinic.db --list")[-1] == "without a token, programs on the machine that serves may do anything"
    assert run("token clinic.db --close")[0].startswith("closed: ")
    with mb.Store("clinic.db") as store:
        assert store.database.meta()["access"] == "tokens"


def test_verify_names_each_fault_and_exits_with_1(run: Any) -> None:
    play(10)
    run("token clinic.db read")
    assert run("verify clinic.db")[1].startswith("checked: ")
    with sqlite3.connect("clinic.db") as database:
        database.execute("UPDATE events SET body = replace(body, '1.0', '0.9') WHERE position = 2")
        database.execute("UPDATE tokens SET scopes = '[\"admin\"]'")
    database.close()
    said = run("verify clinic.db", 1)
    assert any(line.startswith("event 2 (decision): ") for line in said)
    assert any("table tokens, row" in line for line in said)
    assert said[-1] == f"{len(said) - 1} faults: restore a backup, and keep this store"
    assert "is damaged" in run("backup clinic.db copy.db", 2)[0]
    with Path("clinic.db").open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3_000)
    assert "malformed" in run("verify clinic.db", 1)[0]


def test_serve_listens_where_it_is_told(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from meanbounds.service import serving

    asked: list[Any] = []

    def serve(store: mb.Store, **given: Any) -> None:
        with store:
            asked.append((list(store), given))

    monkeypatch.setattr(serving, "serve", serve)
    run("serve clinic.db")
    run("serve clinic.db --host ::1 --port 0")
    assert asked == [(["clinic"], {"host": host, "port": port}) for host, port in (("127.0.0.1", 8000), ("::1", 0))]


def test_a_database_on_a_server_is_a_store_too(run: Any, postgres_database: str) -> None:
    line = f"start {shlex.join(LOG)} -o '{postgres_database}'"
    said = run(line)
    assert said[-2].startswith("written: postgresql://")
    assert run(said[-1].removeprefix("Ask it with: meanbounds ") + " --id 1")[0] == "context      north"
    assert "What it has seen stays." in run(line)[-2]
    assert run(f"verify '{postgres_database}'")[0].endswith("no fault")
    assert run(f"backup '{postgres_database}' copy.db")
    assert "asked before" in run("decide copy.db log --context north --id 1")[-4]


def test_help_imports_nothing_that_takes_time() -> None:
    code = (
        "import sys, contextlib\nfrom meanbounds import cli\n"
        "with contextlib.suppress(SystemExit):\n    cli.main(sys.argv[1:])\n"
        "print(sorted({'numpy', 'msgspec', 'starlette', 'uvicorn', 'sqlite3', 'uuid', 'tempfile'} & {*sys.modules}))"
    )
    for name in ("", *(name.removesuffix("_command") for name in cli.COMMANDS)):
        arguments = [sys.executable, "-c", code, *[name] * bool(name), "--help"]
        done = subprocess.run(
            arguments, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
        )
        assert done.stdout.splitlines()[-1] == "[]"
        lines = done.stdout.splitlines()[:-1]
        assert all(len(line) <= 80 or line.startswith("  meanbounds ") for line in lines), name
