"""Set-up shared by all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
from hypothesis import settings
from matplotlib import pyplot as plt

matplotlib.use("agg")
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in jobs that a shell starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "meanbounds"


def drop_stale_kernels() -> None:
    """Compiled kernels are cached by the time stamp of their own file alone: drop all if any they call is newer.

    Those of the tests call kernels, too.
    """
    compiled = [*(SOURCE / "kernels").rglob("*.py"), SOURCE / "subgaussian.py"]
    newest = max(path.stat().st_mtime for path in compiled)
    cached = [*SOURCE.rglob("*.nb[ic]"), *TESTS.rglob("*.nb[ic]")]
    if any(path.stat().st_mtime < newest for path in cached):
        for path in cached:
            path.unlink(missing_ok=True)


drop_stale_kernels()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count no lines in tests of kernels, which are machine code: counting makes Python almost twice as slow."""
    for item in items:
        if TESTS / "kernels" in item.path.parents:
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Pictures that a test leaves open are closed: matplotlib warns of too many, whichever test opens the last one."""
    yield
    plt.close("all")
