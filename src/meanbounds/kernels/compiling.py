"""The decorator that compiles every kernel in the same way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock

from meanbounds.kernels.caching import compile_cached
from meanbounds.support.signals import signals_wait

__all__ = ["compiled", "general", "inlined"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_type_alone: Callable[[Any], Any] = types.unliteral


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
    return cast(_Function, _patient(_lean(compile_cached(function, nogil=True, error_model="numpy", **options))))


def inlined(function: _Function) -> _Function:
    """Compile as a part of each function that calls this one.

    Branches that depend on an argument which is a constant of the caller, such as a number in its closure, are decided
    before anything is compiled, and what the others call is left out.
    """
    return compiled(function, inline="always")


def general(kernel: _Function) -> _Function:
    """Compile a kernel once for all numbers of a type, not once more for each constant that a caller writes out.

    For large kernels. What a small one does with a constant, loops that call it are faster with.
    """
    if numba.config.DISABLE_JIT:
        return kernel
    dispatcher: Any = kernel
    template = dispatcher.get_call_template

    def template_of_types(arguments: Any, named: Any) -> Any:
        plain = {name: _type_alone(argument) for name, argument in named.items()}
        return template(tuple(_type_alone(argument) for argument in arguments), plain)

    dispatcher.get_call_template = template_of_types
    return kernel


def _patient(kernel: Any) -> Any:
    """Let interrupts wait while a kernel is compiled or loaded: numba is not made to stop half way."""
    prepare = kernel._compile_for_args

    def prepare_whole(*arguments: Any, **named: Any) -> Any:
        with signals_wait():
            return prepare(*arguments, **named)

    kernel._compile_for_args = prepare_whole
    return kernel


def _files(cache: Any) -> dict[bool, Any]:
    """Where numba keeps what Python calls, and what it does not; nowhere, if nothing is kept on disk.

    Two processes that compile a kernel at the same time may give one file to both of their results. If one were a part,
    Python would call what is not there.
    """
    if not hasattr(cache, "_cache_file"):
        return {}
    locator, base = cache._impl.locator, f"{cache._impl.filename_base}.part"
    called = cache._cache_file
    return {True: called, False: type(called)(cache._cache_path, base, locator.get_source_stamp())}


def _lean(kernel: Any) -> Any:
    """Compile the wrapper by which Python calls a kernel only where Python does call it.

    It takes Python's objects apart, and tables of arrays have so many that this takes as long to compile as a small
    kernel itself. What another kernel calls is a part: compiled without, and kept on disk in files of its own. Should
    Python call it as well, it is compiled once more.
    """
    prepare, compile_for, add = kernel._compile_for_args, kernel.compile, kernel.add_overload
    parts: set[tuple[Any, ...]] = set()
    files = _files(kernel._cache)
    called = False  # by Python, in the thread that holds numba's lock

    def prepare_called(*arguments: Any, **named: Any) -> Any:
        nonlocal called
        with global_compiler_lock:
            called = True
            try:
                return prepare(*arguments, **named)
            finally:
                called = False

    def compile_called(signature: Any) -> Any:
        with global_compiler_lock:
            if called and signature in parts:
                parts.discard(signature)
                del kernel.overloads[signature]
            if files:
                kernel._cache._cache_file = files[called]
            return compile_for(signature)

    def add_where_found(result: Any) -> None:
        if called:
            add(result)
        else:  # Python would call what is not there
            signature = tuple(result.signature.args)
            kernel.overloads[signature] = result
            parts.add(signature)

    def wrap(flags: Any) -> Any:
        flags.no_cpython_wrapper, flags.no_cfunc_wrapper = not called, True
        return flags

    kernel._compile_for_args, kernel.compile, kernel.add_overload = prepare_called, compile_called, add_where_found
    kernel._compiler._customize_flags = wrap
    return kernel
