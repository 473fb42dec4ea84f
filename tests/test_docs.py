"""Every example in the documentation runs, and every table of policies is complete."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.cli import main, make_parser
from meanbounds.policies import AnyPolicy
from meanbounds.simulation.study import read_study
from tests.contract import check_policy
from tests.files_of_readers import FILES
from tests.naive import TWINS

ROOT = Path(__file__).parents[1]
FOREIGN = {".venv", ".lowest", "node_modules"}  # folders of other people's pages


def pages(folder: Path) -> list[str]:
    """Every Markdown file below a folder, but for those of hidden folders and installed packages."""
    found = (path.relative_to(ROOT) for path in sorted(folder.rglob("*.md")))
    return [str(path) for path in found if not any(part.startswith(".") or part in FOREIGN for part in path.parts)]


PAGES = ["README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", *pages(ROOT / "docs")]  # whose examples run
ALL_PAGES = pages(ROOT)
BLOCK = re.compile(r"^```(python|toml|console)( no-run)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGE = re.compile(r"^ *(?:`{3,}|~{3,})(?P<language>[^`\n]+)$", re.MULTILINE)
NOT_RUN = {"text": "shown", "nginx": "tests/service/test_deploy.py"}  # other languages, and who looks at them
ELSEWHERE = {  # commands that take long or wait for requests, and the tests that run them
    "serve": "tests/service/test_client.py",
    "reproduce": "tests/paper/test_figures.py",
    "token --store sqlite:state.db --revoke": "tests/service/test_client.py",
}
NO_RUN = {  # pages with code that needs a server or another package, and the tests that run it
    "docs/clusters.md": "tests/logs/test_warehouses.py",
    "docs/fits.md": "tests/fits/test_obp.py",
    "docs/guide.md": "tests/worlds/test_movielens.py",
    "docs/service.md": "tests/service/test_pages.py",
    "docs/warehouses.md": "tests/logs/test_warehouses.py",
}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"")


def blocks(page: str) -> list[tuple[str, bool, str]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [(kind, bool(how), code) for kind, how, code in BLOCK.findall(text)]


def words(line: str) -> list[str]:
    """A line as a shell reads it: a comment begins at a # after a space, not at one within a word."""
    return shlex.split(re.sub(r"(^|\s)#.*", "", line))


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FILES.get(page, lambda: None)()
    names: dict[str, object] = {"__name__": "example"}
    for number, (kind, skipped, code) in enumerate(blocks(page)):
        if kind == "toml":
            (tmp_path / "study.toml").write_text(code)
            assert read_study(tmp_path / "study.toml").horizon > 0
        elif kind == "console":
            for arguments in own_commands(code):
                assert main(arguments) == 0, arguments
        else:
            program = compile(code, f"{page}, block {number}", "exec", dont_inherit=True)
            if not skipped:
                exec(program, names)
    if page == "CONTRIBUTING.md":
        policy = names["HalfTrust"]
        assert callable(policy)
        check_policy(policy())


def lines_of(code: str) -> list[str]:
    """Every line of a block that is typed into a shell; lines that end with a backslash go on."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line and not line.startswith("{")]


def own_commands(code: str) -> list[list[str]]:
    """The commands of meanbounds in a block, each as its arguments, but for those that other tests run."""
    typed = [words(line) for line in lines_of(code)]
    found = [arguments for name, *arguments in typed if name.endswith("meanbounds")]
    return [arguments for arguments in found if not " ".join(arguments).startswith(tuple(ELSEWHERE))]


def commands(page: str) -> list[str]:
    """Every line of a page that is typed into a shell."""
    return [line for kind, _, code in blocks(page) if kind == "console" for line in lines_of(code)]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_could_be_typed(page: str) -> None:
    """Those that are not run are read at least: by the command line's own parser, the Makefile, the extras."""
    for line in commands(page):
        name, *arguments = words(line)
        if name.endswith("meanbounds"):
            make_parser().parse_args(arguments)
        elif name == "make":
            assert set(arguments) <= TARGETS, line
        elif name == "pip":
            assert arguments[0] == "install", line
            extras = re.findall(r"\[([\w,]+)\]", line)
            assert {extra for group in extras for extra in group.split(",")} <= EXTRAS, line
        elif name in ("git", ".venv/bin/twine"):
            assert page == "RELEASING.md", line  # what a release publishes, which no test does
        else:
            assert name == "curl", f"who checks this? {line}"  # tests/service/test_pages.py sends them


@pytest.mark.parametrize("page", PAGES)
def test_no_block_escapes(page: str) -> None:
    """Each block is run here, or named with the test that runs it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    languages = [found["language"].strip() for found in LANGUAGE.finditer(text)]
    ours = [language for language in languages if language not in NOT_RUN]
    assert len(ours) == len(blocks(page)), ours
    assert (page in NO_RUN) == any(skipped for _, skipped, _ in blocks(page))


def test_what_is_run_elsewhere_is() -> None:
    for page, test in NO_RUN.items():
        text = (ROOT / test).read_text(encoding="utf-8")
        assert page in text, test
        assert "blocks(" in text, test
    for command, test in ELSEWHERE.items():
        name, *options = command.split()
        text = (ROOT / test).read_text(encoding="utf-8")
        assert f'main(["{name}"' in text, test
        assert all(option in text for option in options if option.startswith("--")), test
    assert "docs/operations.md" in (ROOT / NOT_RUN["nginx"]).read_text(encoding="utf-8")


def test_there_are_examples() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 10


def test_the_readme_names_every_policy_with_its_source() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    policies: list[AnyPolicy] = [*TWINS, mb.OFUL(), mb.ROFUL(), mb.LinearThompson()]
    for policy in policies:
        assert re.search(rf"^\| `{type(policy).__name__}` \|.*\| {re.escape(policy.theorem)} \|$", readme, re.MULTILINE)


def broken_links(page: Path) -> list[str]:
    """Relative links of a page, pictures included, that point at no file."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [target for pair in LINK.findall(text) for target in pair if target]
    relative = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    return [target for target in relative if not (page.parent / target).exists()]


@pytest.mark.parametrize("page", ALL_PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert broken_links(ROOT / page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").touch()
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#part) [c](#part) [d](https://example.org/x) ![e](no.png) [f](gone.md#part)\n"
        '[g](missing.md "title") <img src="nowhere.png"> `[h](code.md)`\n\n```python\nx[0](never)\n```\n'
    )
    assert broken_links(page) == ["no.png", "gone.md", "missing.md", "nowhere.png"]


def test_all_pages_are_looked_at() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/guide.md"} <= set(ALL_PAGES)
    assert {page for page in ALL_PAGES if page.startswith("docs/")} <= set(PAGES)


def test_captions_of_the_instances_hold() -> None:
    """What the paper's four captions say of the bounds."""
    high, meta, low, clipping = (mb.INSTANCES[name] for name in mb.INSTANCES)
    assert high.bounds.best_lower > 0.5
    assert high.meta_pruned.tolist() == [False, False, True, False, False]
    factors = mb.GLUE().plan(high.bounds).proxy
    assert factors == pytest.approx([mb.variance_proxy(0.85)] * 5)
    assert mb.GLUE().plan(meta.bounds).proxy.tolist() == [0.25] * 5
    assert meta.meta_pruned.tolist() == [False, True, False, False, False]
    assert low.bounds.upper.max() < 0.5
    assert mb.GLUE().plan(clipping.bounds).proxy.tolist() == [0.25] * 5
    assert not clipping.meta_pruned.any()
    for instance in mb.INSTANCES.values():
        assert instance.bounds.possible.all()
        assert ((instance.bounds.lower <= instance.means) & (instance.bounds.upper >= instance.means)).all()
