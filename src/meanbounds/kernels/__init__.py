"""Compiled loops, and nothing else: numbers and arrays in, numbers and arrays out.

`arms` holds each policy's round for arms without features, `linear` the same for arms with features, `fast` quicker
loops that make the same decisions, `solvers` the optimisation problems behind bounds and indices, and `random` the
random numbers and rewards. What a policy is called, checks of what a user gives, and anything with a name rather than a
number belongs to the rooms that import this one. `play` and `play_linear` run a block of simulated runs with the
fastest loop there is.
"""

from __future__ import annotations

from meanbounds.kernels import fast, linear
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.solvers.cone import Known
from meanbounds.support.types import Floats

__all__ = ["play", "play_linear"]

_FAST = {
    textbook.GAUSSIAN: fast.play_gaussian,
    textbook.KL: fast.play_kl,
    textbook.IMED: fast.play_imed,
    textbook.THOMPSON: fast.play_thompson,
    textbook.THOMPSON + textbook.LOGGED: fast.play_logged_thompson,
    textbook.GITTINS: fast.play_gittins,
    textbook.GITTINS + textbook.LOGGED: fast.play_logged_gittins,
    textbook.DOUBTED + textbook.GITTINS: fast.play_doubted_gittins,
    textbook.DOUBTED + textbook.GITTINS + textbook.LOGGED: fast.play_doubted_logged_gittins,
    textbook.IDS: fast.play_ids,
    textbook.DOUBTED + textbook.IDS: fast.play_doubted_ids,
}


def play(code: int, plan: Floats, parameters: Floats, block: Block) -> None:
    """Play a block of runs with the fastest kernel there is for this code."""
    if code in _FAST:
        _FAST[code](plan, parameters, block)
    else:
        textbook.play(code, plan, parameters, block)


def play_linear(pool: linear.Pool, rule: linear.Rule, known: Known, block: linear.LinearBlock, keep_all: bool) -> None:
    """Play a block of runs of a linear policy with the fastest kernel there is for this rule."""
    learns_bounds = rule.cone or rule.online or rule.noise == linear.RESTRICTED_MAX
    if learns_bounds or rule.index_kind in (linear.EXACT, linear.SAMPLE):
        linear.play(pool, rule, known, block, keep_all)
    else:
        fast.play_linear(pool, rule, block, keep_all)
