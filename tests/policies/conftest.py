"""What tests of policies share."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture
def as_the_engine_does() -> Iterator[None]:
    """Scores of arms that were never played divide by 0, which whoever asks policies expects."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        yield
