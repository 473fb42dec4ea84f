"""Compiled loops. `play` picks the one for a kernel code; everything else is imported from the module it lives in."""

from __future__ import annotations

from meanbounds.kernels import fast, textbook
from meanbounds.kernels.block import Block
from meanbounds.kernels.tables import Floats

__all__ = ["play"]

_FAST = {
    textbook.GAUSSIAN: fast.play_gaussian,
    textbook.KL: fast.play_kl,
    textbook.IMED: fast.play_imed,
    textbook.THOMPSON: fast.play_thompson,
}


def play(code: int, plan: Floats, parameters: Floats, block: Block) -> None:
    """Play a block of runs with the fastest kernel there is for this code."""
    if code in _FAST:
        _FAST[code](plan, parameters, block)
    else:
        textbook.play(code, plan, parameters, block)
