"""Rivals from the literature, written as a user writes a policy of his own: with public names and numpy alone."""

from benchmarks.rivals.min_ucb import MINUCB
from benchmarks.rivals.mints import MINTS
from benchmarks.rivals.ossb import OSSB
from benchmarks.rivals.ucboost import UCBoost
from benchmarks.rivals.warm_start import WarmStart

__all__ = ["MINTS", "MINUCB", "OSSB", "UCBoost", "WarmStart"]
