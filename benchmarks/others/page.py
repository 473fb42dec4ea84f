"""The page: what each package has, from facts.json, beside speed and regret that are read from the pages of others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.others.facts import Fact, has, holds, own_sources
from benchmarks.others.features import (
    BANDITDB_SERVER,
    FEATURES,
    PACKAGES,
    SIMILAR,
    THEMES,
    Documented,
    Feature,
    Package,
)
from benchmarks.pages import items, paragraph, table_rows
from meanbounds.support.version import __version__

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "others.md"
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
RIVALS = ROOT / "docs" / "rivals.md"
TEXTBOOK = {
    "UCB": ("UCB", "ucb"),
    "KLUCB": ("KL-UCB", "kl-ucb"),
    "ThompsonSampling(settle=False)": ("Thompson sampling", "thompson"),
    "IDS(power=2.0)": ("information-directed sampling", "ids"),
}
"""Policies that others have as well, as rivals.md calls them: what they are called, and the feature they are."""

RECOMMENDED = "BIMED"


def ours(feature: Feature, files: Mapping[str, str]) -> str:
    """A cell of this package; evidence that is gone is an error."""
    if feature.ours is None:
        return "-"
    if not holds(files, "", feature.ours):
        raise SystemExit(f"src/meanbounds has no {feature.ours}: benchmarks/others/features.py has to be changed")
    return "**yes**"


def versions(facts: Mapping[str, Fact]) -> str:
    """Which release of each package was looked at."""
    rows = [["package", "version", "released", "Python", "licence", "what it is"], ["---"] * 6]
    for package in PACKAGES:
        fact = facts[package.name]
        plain = package.label.replace("\u00ad", "")
        name = plain if plain.lower() == package.name.lower() else f"{plain} ({package.name})"
        rows.append([name, fact.version, fact.released, fact.requires_python, fact.license, package.about])
    return table_rows(rows)


def feature_tables(facts: Mapping[str, Fact], files: Mapping[str, str]) -> str:
    """For each theme a table of features beside packages."""
    parts = []
    for theme, features in THEMES.items():
        header = ["", "meanbounds", *(package.label for package in PACKAGES)]
        rows = [header, ["---", *([":---:"] * (len(header) - 1))]]
        for feature in features:
            cells = (has(package, feature, facts[package.name]) for package in PACKAGES)
            rows.append([feature.title, ours(feature, files), *cells])
        parts.append(f"### {theme}\n\n{table_rows(rows)}")
    return "\n\n".join(parts)


def lacking(facts: Mapping[str, Fact]) -> str:
    """What others have and this package does not, with who has it."""
    found = []
    for feature in FEATURES:
        others = owners(feature, facts)
        if feature.ours is None and others:
            found.append(f"{feature.title}: {', '.join(others)}")
    return items(found)


def alone(facts: Mapping[str, Fact]) -> str:
    """What none of the others was found to have."""
    return items(feature.title for feature in FEATURES if feature.ours and not owners(feature, facts))


def owners(feature: Feature, facts: Mapping[str, Fact]) -> list[str]:
    """The packages that have a feature, by evidence or by their documentation."""
    having = (package for package in PACKAGES if has(package, feature, facts[package.name]) != "-")
    return [package.label.replace("\u00ad", "") for package in having]


def evidence(facts: Mapping[str, Fact]) -> str:
    """What each "yes" of another package rests on, and what was not taken for one."""
    lines = []
    for package in PACKAGES:
        fact = facts[package.name]
        rests = [f"{feature.title}: {_rests_on(package, feature, fact)}" for feature in FEATURES]
        kept = "; ".join(line for line in rests if not line.endswith(": "))
        aside = [f"{_title(key)} ({SIMILAR[package.name, key]})" for key in fact.similar]
        not_taken = f" Not taken for one: {'; '.join(aside)}." if aside else ""
        lines.append(f"**{package.label.replace(chr(0xAD), '')}**: {kept}.{not_taken}")
    return items(lines)


def _rests_on(package: Package, feature: Feature, fact: Fact) -> str:
    claim = feature.theirs.get(package.name)
    if isinstance(claim, Documented):
        return f"{claim.source} (not looked up)"
    return f"`{fact.found[feature.key]}`" if feature.key in fact.found else ""


def _title(key: str) -> str:
    return next(feature.title for feature in FEATURES if feature.key == key)


# --------------------------------------------------------------------------------------------- figures of other pages


def section(page: str, title: str) -> str:
    """The text of a part of a page, without its title."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"there is no part '{title}' on the page to read figures from")
    return found[1]


def read_table(text: str) -> list[dict[str, str]]:
    """The first table of a text: a dictionary from the header for each row, without bold."""
    start = text.find("|")
    lines = list(itertools.takewhile(lambda line: line.startswith("|"), text[start:].splitlines()))
    if start < 0 or len(lines) < 3:
        raise SystemExit("there is no table on the page to read figures from")
    header, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(header, (cell.replace("**", "") for cell in row), strict=True)) for row in body]


def speed(results: str) -> str:
    """The tables of RESULTS.md that have other packages, as they are there."""
    written = re.search(r"^Written by .*$", results, re.MULTILINE)
    if written is None:
        raise SystemExit("RESULTS.md does not say when it was written")
    names = {package.name for package in PACKAGES} | {"meanbounds", "Agent(UCB)", "Agent(GLUE)"}
    parts = [paragraph(written[0])]
    for title in ("Simulation", "Linear simulation", "One pull and one update"):
        text = section(results, title)
        rows = read_table(text)
        first = next(iter(rows[0]))
        header = list(rows[0])
        kept = [list(row.values()) for row in rows if row[first].partition(",")[0] in names]
        said = paragraph(f"**{title}.** {text.partition('|')[0].replace('In bold, how', 'How')}")
        body = table_rows([header, ["---", *(["---:"] * (len(header) - 1))], *kept])
        parts.append(f"{said}\n\n{body}")
    return "\n\n".join(parts)


def worlds(rivals: str) -> dict[str, list[dict[str, str]]]:
    """The tables of policies on the page about rivals, by kind of worlds."""
    titles = re.findall(r"^## (.*)$", rivals, re.MULTILINE)
    tables = {title: read_table(section(rivals, title)) for title in titles}
    return {title: rows for title, rows in tables.items() if {"policy", "no bounds"} <= rows[0].keys()}


def regret(rivals: str, facts: Mapping[str, Fact]) -> str:
    """Regret in each kind of worlds: ours with bounds, and policies that others have, which take none."""
    header = ["worlds", "rounds", f"{RECOMMENDED}, with bounds", "least of all, with bounds"]
    header += [f"{name}, without" for name, _ in TEXTBOOK.values()]
    rows = [header, ["---", *(["---:"] * (len(header) - 1))]]
    for title, policies in worlds(rivals).items():
        last = [name for name in policies[0] if re.fullmatch(r"[\d,]+", name)][-1]
        by_name = {row["policy"]: row for row in policies}
        best = policies[0]
        rows.append(
            [
                title,
                last,
                by_name[RECOMMENDED][last],
                f"{best[last]} ({best['policy']})",
                *(_without(by_name.get(label), last) for label in TEXTBOOK),
            ]
        )
    who = [
        f"{name}: {', '.join(owners(next(one for one in FEATURES if one.key == key), facts))}"
        for name, key in TEXTBOOK.values()
    ]
    return f"{table_rows(rows)}\n\nWho has the policies that start without bounds:\n\n{items(who)}"


def _without(row: Mapping[str, str] | None, last: str) -> str:
    """Regret of a policy without bounds; where a policy is not on the page, nothing."""
    if row is None:
        return "-"
    return row[last].partition(" ")[0] if row["no bounds"] == "same" else row["no bounds"]


def page(collected: str, facts: Mapping[str, Fact], results: str, rivals: str, files: Mapping[str, str]) -> str:
    """The whole page."""
    written = re.search(r"Written by `make rivals` on \S+", rivals)
    quick = re.search(r"^\*\*(A quick look.*)\*\*$", rivals, re.MULTILINE)
    notice = f" {quick[1]}" if quick else ""
    server, tagged = BANDITDB_SERVER
    how = f"""
    Each archive was downloaded on {collected} and searched by a program; nothing in it was run. "yes" means that a
    class, a function or a parameter was found there, and the last part names it. "says so" means that documentation
    says it and no program looked. "-" means that no name in the package looks like it, or that what does is something
    else: it is no proof that something cannot be done. The packages differ in purpose: econml and dowhy estimate
    effects and do not decide, river is for streams of every kind, obp is for research on logs. BanditDB's server is not
    on the Python index: its documentation is that of version {server} ({tagged}), its client speaks of newer ones."""
    where = f"""
    {written[0] if written else "Read"} ([rivals.md](rivals.md)), where every policy is this package's own and meets the
    same rewards.{notice} Mean regret after the last round, in shares of the range of the rewards, less is better. The
    packages themselves were not run there: theirs may differ in constants and in ties."""
    return f"""\
# Where meanbounds stands

{
        paragraph(
            f"meanbounds {__version__} beside {len(PACKAGES)} others: what each has, its speed, what policies lose. By "
            "`make others`; figures are read from other pages."
        )
    }

## What others have and meanbounds lacks

{lacking(facts)}

## What was found in no other package

{alone(facts)}

## The packages

{versions(facts)}

{paragraph(how)}

## Features

{feature_tables(facts, files)}

## Speed

{speed(results)}

{
        paragraph(
            "From [benchmarks/RESULTS.md](../benchmarks/RESULTS.md), which says what was called. The other packages of "
            "this page were not timed."
        )
    }

## Regret

{paragraph(where)}

{regret(rivals, facts)}

## What each "yes" rests on

{evidence(facts)}
"""


def written(collected: str, facts: Mapping[str, Fact]) -> str:
    """The page from what is on disk."""
    texts: Sequence[str] = [path.read_text(encoding="utf-8") for path in (RESULTS, RIVALS)]
    return page(collected, facts, texts[0], texts[1], own_sources(ROOT / "src" / "meanbounds"))
