"""Eight threads share an agent."""

from __future__ import annotations

import pytest

from tests.soak.interrupts import AGENTS
from tests.soak.threads import share


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")  # rewards are not those of the bounds
@pytest.mark.parametrize("kind", AGENTS)
def test_nothing_is_lost(kind: str) -> None:
    """The results are those of the same calls, one after the other, in the order in which they took effect."""
    assert share(kind, 150, 1) == []
