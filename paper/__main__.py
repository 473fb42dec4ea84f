"""Make every figure and table: ``python -m paper --out reproduce --quick``."""

from __future__ import annotations

from importlib import import_module

from paper import claims
from paper.output import command

NAMES = ("factor", "roful", "panels", "table1", "never_worse", "compute", "theorem7", "transfer", "movielens")
"""The modules, in the order of the paper."""

if __name__ == "__main__":
    modules = [import_module(f"paper.{name}") for name in NAMES]
    given, found = command(__doc__, *(module.main for module in modules))
    claims.write(given.out, dict(zip(modules, found, strict=True)), given.quick)
