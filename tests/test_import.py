"""What importing the package costs, and what it does not need."""

import subprocess
import sys
from pathlib import Path

import pytest

import meanbounds as mb

FIRST_DECISION = """
import sys, time
import meanbounds as mb
bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.8])
agent = mb.Agent(getattr(mb, {policy!r})(), bounds, seed=7)
agent.update(agent.pull(), 1.0)
agent.pull()
heavy = [name for name in ("numba", "matplotlib", "joblib", "scipy.stats", "pandas") if name in sys.modules]
assert not heavy, heavy
print(time.process_time())
"""
POLICIES = ["UCB", "BUCB", "ImprovedUCB", "GLUE", "KLUCB", "BKLUCB", "BIMED"]
POLICIES += ["ThompsonSampling", "OptimisticGittins", "IDS"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fresh_process_decides_at_once(policy: str) -> None:
    """Half a second of processor time is the aim; a test on a busy machine allows three times that."""
    code = FIRST_DECISION.format(policy=policy)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.5


def test_every_public_name_is_there() -> None:
    assert len(mb.__all__) <= 36
    for name in mb.__all__:
        assert getattr(mb, name).__doc__, name


def test_a_file_name_occurs_once() -> None:
    names = [path.name for path in Path(mb.__file__).parent.rglob("*.py") if path.name != "__init__.py"]
    assert len(set(names)) == len(names)
