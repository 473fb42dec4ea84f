"""Facts about other packages: their archives are downloaded with pip, unpacked in memory, and searched for features.

Nothing of theirs is installed or run. What was found is kept in facts.json, so that the page can be written again
without a network.
"""

from __future__ import annotations

import ast
import email
import functools
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.others.features import FEATURES, PACKAGES, SIMILAR, Documented, Feature, Package
from benchmarks.pages import today
from meanbounds.support.writing import write_text_atomically

FACTS = Path(__file__).with_name("facts.json")
NO_SOURCE = re.compile(r"(^|/)(tests?|examples?|docs)/|(^|/)test_|_test\.py$|(^|/)setup\.py$")


@dataclass(frozen=True)
class Fact:
    """What an archive says of a package: version, date of its release, and the features that were found in it."""

    version: str
    released: str
    requires_python: str
    license: str
    found: dict[str, str]  # of each feature the evidence
    similar: dict[str, list[str]]  # of each feature that the package does not have, names that look like it


# ----------------------------------------------------------------------------------------------------------- archives


def sources(archive: Path) -> dict[str, str]:
    """Every file of an archive by its path below the root of the archive, those in Python with their text."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            return {name: _text(name, packed.read(name)) for name in packed.namelist()}
    with tarfile.open(archive) as packed:
        members = [member for member in packed.getmembers() if member.isfile()]
        files = ((member.name.partition("/")[2], packed.extractfile(member) or io.BytesIO()) for member in members)
        return {name: _text(name, content.read()) for name, content in files}


def own_sources(root: Path) -> dict[str, str]:
    """Every file of a folder of sources, by its path."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(root)): _text(path.name, path.read_bytes()) for path in paths}


def _text(name: str, content: bytes) -> str:
    return content.decode("utf-8", "replace") if name.endswith((".py", ".pyi", ".pyx", "METADATA", "PKG-INFO")) else ""


@functools.cache
def names_of(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Every class and function of a module by its dotted name, with its parameters.

    Examples
    --------
    >>> [(name, sorted(taken)) for name, taken in names_of("class A:\\n    def b(self, c, *, d=1): ...")]
    [('A', []), ('A.b', ['c', 'd', 'self'])]
    """
    try:
        return tuple(_named(ast.parse(text), ""))
    except SyntaxError:  # Cython, or an older Python: names at the start of a line are enough
        names = re.findall(r"^(?:cp?def|def|class)\s+(?:\w+\s+)?(\w+)", text, re.MULTILINE)
        return tuple((name, frozenset()) for name in names)


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, frozenset[str]]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield f"{prefix}{child.name}", frozenset()
            yield from _named(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            taken = child.args
            yield (
                f"{prefix}{child.name}",
                frozenset(one.arg for one in [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]),
            )
        elif isinstance(child, ast.If | ast.Try):
            yield from _named(child, prefix)


def holds(files: Mapping[str, str], prefix: str, evidence: str) -> bool:
    """Whether files have a file, `file:name` or `file:name(parameter)`; paths are those below the prefix."""
    path, _, name = evidence.partition(":")
    if f"{prefix}{path}" not in files:
        return False
    if not name:
        return True
    bare, _, parameter = name.rstrip(")").partition("(")
    found = [taken for dotted, taken in names_of(files[f"{prefix}{path}"]) if dotted == bare]  # overloads have several
    return bool(found) and (not parameter or any(parameter in taken for taken in found))


def lookalikes(files: Mapping[str, str], prefix: str, feature: Feature) -> list[str]:
    """Names of modules, classes and functions that look like a feature; tests and private parts are left out."""
    pattern, found = re.compile(feature.pattern), []
    for path, text in files.items():
        if not path.startswith(prefix) or not path.endswith((".py", ".pyi", ".pyx")) or NO_SOURCE.search(path):
            continue
        if feature.in_text:
            found += [path] * bool(pattern.search(text))
            continue
        names = [name for name, _ in names_of(text) if not re.search(r"(^|\.)_[^_.]", name)]
        candidates = [Path(path).stem, *(part for name in names for part in name.split("."))]
        found += [f"{path}:{name}" for name in dict.fromkeys(candidates) if pattern.search(name)]
    return found


# --------------------------------------------------------------------------------------------------------- collecting


def collect(packages: Sequence[Package] = PACKAGES) -> None:
    """Download the newest archive of each package, look for every feature, and keep what was found."""
    facts, wrong = {}, []
    for package in packages:
        print(f"looking at {package.name}", file=sys.stderr, flush=True)
        fact = looked_at(package)
        facts[package.name] = asdict(fact)
        wrong += problems(package, fact)
    if wrong:
        raise SystemExit("these have to be looked at, and benchmarks/others/features.py changed:\n" + "\n".join(wrong))
    text = json.dumps({"collected": today(), "packages": facts}, indent=1, ensure_ascii=False, sort_keys=True)
    write_text_atomically(FACTS, f"{text}\n")


def looked_at(package: Package) -> Fact:
    """The newest release of a package, whatever Python it is for."""
    index = import_module("pip._internal.models.index").PyPI.pypi_url  # the index that pip asks
    with urllib.request.urlopen(f"{index}/{package.name}/json", timeout=60.0) as answer:
        told = json.load(answer)
    version = told["info"]["version"]
    released = min(str(file["upload_time"]) for file in told["urls"])[:10]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-deps", "--ignore-requires-python", "--disable-pip-version-check", "--dest", folder]
        command = [sys.executable, "-m", "pip", "download", *options, f"{package.name}=={version}"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        (archive,) = Path(folder).iterdir()
        files = sources(archive)
    return fact_of(package, files, version, released)


def fact_of(package: Package, files: Mapping[str, str], version: str, released: str) -> Fact:
    """What the files of a package say."""
    described = next(text for path, text in files.items() if path.endswith(("METADATA", "PKG-INFO")))
    head = email.message_from_string(described)
    stated = head["License-Expression"] or head["License"] or ""
    classified = [
        value.rpartition(" :: ")[2] for value in head.get_all("Classifier", []) if value.startswith("License ::")
    ]
    in_file = "in its archive" if head["License-File"] else "not stated"
    license_name = stated if stated and len(stated) < 40 else ", ".join(classified) or in_file
    found, similar = {}, {}
    for feature in FEATURES:
        evidence = feature.theirs.get(package.name)
        if isinstance(evidence, str):
            if holds(files, package.prefix, evidence):
                found[feature.key] = evidence
        elif evidence is None and (names := lookalikes(files, package.prefix, feature)):
            similar[feature.key] = names
    return Fact(version, released, head["Requires-Python"] or "not stated", license_name, found, similar)


def problems(package: Package, fact: Fact) -> list[str]:
    """Evidence that is gone, and names that look like a feature which the package is said not to have."""
    wrong = []
    for feature in FEATURES:
        evidence = feature.theirs.get(package.name)
        if isinstance(evidence, str) and feature.key not in fact.found:
            wrong.append(f"{package.name} {fact.version} has no {evidence} ({feature.key})")
        explained = (package.name, feature.key) in SIMILAR
        if feature.key in fact.similar and not explained:
            names = ", ".join(fact.similar[feature.key][:8])
            wrong.append(f"{package.name} {fact.version} has names that look like {feature.key}: {names}")
    return wrong


def read_facts(path: Path = FACTS) -> tuple[str, dict[str, Fact]]:
    """The day on which packages were looked at, and what was found."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return str(kept["collected"]), {name: Fact(**fact) for name, fact in kept["packages"].items()}


def has(package: Package, feature: Feature, fact: Fact) -> str:
    """A cell: "yes" if it was found, "says so" if only documentation says it, "-" if nothing was found."""
    if isinstance(feature.theirs.get(package.name), Documented):
        return "says so"
    return "yes" if feature.key in fact.found else "-"
