"""The decorator that compiles every kernel in the same way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from meanbounds.kernels.caching import compile_cached
from meanbounds.support.signals import signals_wait

__all__ = ["compiled", "inlined"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function, **options: Any) -> _Function:
    """Compile to machine code, cached on disk (see `meanbounds.kernels.caching`), free of the interpreter lock.

    With ``NUMBA_DISABLE_JIT=1`` the function stays Python, apart from unsigned overflow and division by zero, which
    are as silent as in machine code. Arithmetic is strict (no reordering, no fused operations), so that both give the
    same numbers.
    """
    if numba.config.DISABLE_JIT:

        @functools.wraps(function)
        def interpreted(*arguments: Any) -> Any:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                return function(*arguments)

        return cast(_Function, interpreted)
    return cast(_Function, _patient(compile_cached(function, nogil=True, error_model="numpy", **options)))


def inlined(function: _Function) -> _Function:
    """Compile as a part of each function that calls this one.

    Branches that depend on an argument which is a constant of the caller, such as a number in its closure, are decided
    before anything is compiled, and what the others call is left out.
    """
    return compiled(function, inline="always")


def _patient(kernel: Any) -> Any:
    """Let interrupts wait while a kernel is compiled or loaded: numba is not made to stop half way."""
    prepare = kernel._compile_for_args

    def prepare_whole(*arguments: Any, **named: Any) -> Any:
        with signals_wait():
            return prepare(*arguments, **named)

    kernel._compile_for_args = prepare_whole
    return kernel
