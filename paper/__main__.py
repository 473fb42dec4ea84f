"""Make every figure and table: ``python -m paper --out reproduce --quick``."""

from __future__ import annotations

from importlib import import_module

from paper.output import command

NAMES = ("factor", "panels", "table1")
"""The modules, in the order of the paper."""

if __name__ == "__main__":
    command(__doc__, *(import_module(f"paper.{name}").main for name in NAMES))
