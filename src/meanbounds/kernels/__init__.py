"""Compiled loops. `play` picks the one for a kernel code; everything else is imported from the module it lives in."""

from __future__ import annotations

import numpy as np

from meanbounds.kernels import fast, textbook
from meanbounds.kernels.rewards import Rewards
from meanbounds.kernels.tables import Floats, Integers

__all__ = ["play"]

_INDEX = {textbook.GAUSSIAN: fast.play_gaussian, textbook.KL: fast.play_kl}


def play(
    code: int,
    plan: Floats,
    parameters: Floats,
    states: Floats,
    rewards: Rewards,
    seed: np.uint64,
    first_run: int,
    log_f: Floats,
    first_round: int,
    stops: Integers,
    gaps: Floats,
    curves: Floats,
) -> None:
    """Play a block of runs (see `textbook.play`) with the fastest kernel there is for this code."""
    if code in _INDEX:
        _INDEX[code](plan, states, rewards, seed, first_run, log_f, first_round, stops, gaps, curves)
    elif code == textbook.IMED:
        fast.play_imed(plan, parameters, states, rewards, seed, first_run, log_f, first_round, stops, gaps, curves)
    elif code == textbook.THOMPSON:
        fast.play_thompson(plan, parameters, states, rewards, seed, first_run, first_round, stops, gaps, curves)
    else:
        textbook.play(code, plan, parameters, states, rewards, seed, first_run, log_f, first_round, stops, gaps, curves)
