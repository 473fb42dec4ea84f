"""Kernels that only others call are compiled without what Python needs to call them; it may call them all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.kernels.compiling import compiled, general
from meanbounds.support.types import Floats


def pair() -> tuple[Any, Any]:
    """A kernel and one that calls it, both new."""

    @compiled
    def twice(values: Floats) -> float:
        return 2.0 * float(values[0])

    @compiled
    def above(values: Floats) -> float:
        return twice(values) + 1.0

    return twice, above


def wrapped(kernel: Any) -> list[bool]:
    """Whether each compiled version has the wrapper by which Python calls it."""
    return [
        result.fndesc.llvm_cpython_wrapper_name in result.library.get_llvm_str() for result in kernel.overloads.values()
    ]


def test_a_part_has_no_wrapper_until_python_calls_it() -> None:
    twice, above = pair()
    values = np.array([3.0])
    assert above(values) == 7.0
    assert wrapped(above) == [True]
    assert wrapped(twice) == [False]
    assert twice(values) == 6.0
    assert wrapped(twice) == [True]
    assert above(values) == 7.0


def test_one_that_python_called_first_is_not_compiled_again() -> None:
    twice, above = pair()
    values = np.array([3.0])
    assert twice(values) == 6.0
    (before,) = twice.overloads.values()
    assert above(values) == 7.0
    assert list(twice.overloads.values()) == [before]


def test_threads_that_call_a_part_and_the_whole_at_once() -> None:
    twice, above = pair()
    found: list[float] = []
    barrier = threading.Barrier(4)

    def call(kernel: Any) -> None:
        barrier.wait()
        found.append(kernel(np.array([3.0])))

    threads = [threading.Thread(target=call, args=[kernel]) for kernel in (twice, above, twice, above)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [6.0, 6.0, 7.0, 7.0]


def test_a_general_kernel_is_compiled_once_for_all_constants() -> None:
    @general
    @compiled
    def scaled(value: float, by: int, negative: bool) -> float:
        return -by * value if negative else by * value

    @compiled
    def both(value: float) -> float:
        return scaled(value, 3, False) + scaled(value, 2, True)

    assert both(5.0) == 5.0
    kernel: Any = scaled
    assert len(kernel.overloads) == 1


USE = """
import sys
import numpy as np
from meanbounds.kernels.random import stream
for name in sys.argv[1:]:
    getattr(stream, name)(np.uint64(1), 2)
print(sum(stream.child.stats.cache_hits.values()), sum(stream.child.stats.cache_misses.values()))
"""


def test_both_are_kept_on_disk(tmp_path: Path) -> None:
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def found_and_compiled(*names: str) -> list[int]:
        command = [sys.executable, "-c", USE, *names]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=300)
        return [int(word) for word in done.stdout.split()]

    assert found_and_compiled("policy_key") == [0, 2]  # parts: for any number, and for its own constant
    assert found_and_compiled("child") == [0, 1]  # the part cannot be called
    assert found_and_compiled("child", "rounding_key") == [1, 1]  # and what can be called serves as a part
    assert found_and_compiled("floor_key", "child") == [2, 1]  # the part, and what can be called
    # Two processes may give one file to both of their results: it must not be a part for one, and called for the other.
    names = [path.name for path in tmp_path.rglob("stream.child-*.nbc")]
    assert sum(".part." not in name for name in names) == 1
    assert len(names) > 1
