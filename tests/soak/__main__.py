"""Run the parts of the soak test, and fail with the list of what they found.

python -m tests.soak                                   every part
python -m tests.soak fuzz mutate --calls 5000000       some of them, for longer
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

from tests.children import run_module
from tests.fuzzing.batches import in_words, run_in_children, unique
from tests.fuzzing.judge import Finding
from tests.service.hostile import tamper
from tests.soak.alarms import false_alarms
from tests.soak.interrupts import AGENTS, interrupt_in_children
from tests.soak.precision import wear
from tests.soak.serving import crashes, losses, together
from tests.soak.threads import share

Part = Callable[[argparse.Namespace], list[str]]


def fuzz(given: argparse.Namespace) -> list[str]:
    """Every public call, with hostile values."""
    return _listed(run_in_children("call", given.seed, given.calls, workers=given.workers, show=True))


def mutate(given: argparse.Namespace) -> list[str]:
    """Saved states that were tampered with."""
    return _listed(run_in_children("mutant", given.seed, given.mutants, workers=given.workers, show=True))


def _listed(findings: Sequence[Finding]) -> list[str]:
    return [in_words(findings)] if unique(findings) else []


def interrupts(given: argparse.Namespace) -> list[str]:
    """Signals at random moments, and an interrupt at every place of every call, for each kind of agent."""
    path = "tests/agents/test_interrupts.py"
    done = run_module("pytest", "-q", "-n", str(given.workers), "-k", "every_instruction", path, SOAK="1")
    places = [done.stdout[-3000:]] if done.returncode else []
    return places + interrupt_in_children(given.interrupts, given.seed)


def threads(given: argparse.Namespace) -> list[str]:
    """Eight threads on one agent, for each kind of agent."""
    return [problem for kind in AGENTS for problem in share(kind, given.shared, given.seed)]


def precision(given: argparse.Namespace) -> list[str]:
    """Many updates of an agent with features: the width of an arm that was never played."""
    return wear(given.updates)


def alarms(given: argparse.Namespace) -> list[str]:
    """False alarms over bounds that hold, with means at the bounds, over many long runs."""
    return false_alarms(given.alarms, given.seed)


def service(given: argparse.Namespace) -> list[str]:
    """A service or its PostgreSQL killed under load, tampered requests, and two processes on one PostgreSQL."""
    killed = [*crashes(given.kills, given.seed), *losses(given.kills // 4, given.seed)]
    return [*killed, *tamper(given.tampered, given.seed), *together(given.together)]


PARTS: dict[str, Part] = {
    "fuzz": fuzz,
    "mutate": mutate,
    "interrupts": interrupts,
    "threads": threads,
    "precision": precision,
    "alarms": alarms,
    "service": service,
}
"""The parts by name; a new one is a line here."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--seed", type=int, default=_from_environment("SOAK_SEED", 1))
    parser.add_argument("--calls", type=int, default=_from_environment("SOAK_CALLS", 1_000_000))
    parser.add_argument("--mutants", type=int, default=_from_environment("SOAK_MUTANTS", 200_000))
    parser.add_argument("--interrupts", type=int, default=_from_environment("SOAK_INTERRUPTS", 200))
    parser.add_argument("--shared", type=int, default=_from_environment("SOAK_SHARED", 20_000), help="calls per thread")
    parser.add_argument("--updates", type=int, default=_from_environment("SOAK_UPDATES", 10_000_000))
    parser.add_argument("--alarms", type=int, default=_from_environment("SOAK_ALARMS", 2_000), help="runs of 100,000")
    parser.add_argument("--kills", type=int, default=_from_environment("SOAK_KILLS", 100), help="of a service")
    parser.add_argument("--tampered", type=int, default=_from_environment("SOAK_TAMPERED", 100_000), help="requests")
    parser.add_argument("--together", type=int, default=_from_environment("SOAK_TOGETHER", 600), help="seconds")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    problems = []
    for name in given.parts or PARTS:
        start = time.monotonic()
        found = PARTS[name](given)
        print(f"{name}: {'problems' if found else 'nothing found'}, {time.monotonic() - start:.0f} s", file=sys.stderr)
        problems += found
    print("\n".join(problems))
    return bool(problems)


def _from_environment(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


if __name__ == "__main__":
    sys.exit(main())
