"""Messages speak of options, never of Python arguments."""

from __future__ import annotations

import pytest

from meanbounds.cli.messages import in_options


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            'Correct the log, change low=0.0 and high=1.0, or leave such rows out with on_bad="drop".',
            "Correct the log, change --range 0 1, or leave such rows out with --on-bad drop.",
        ),
        ("If 1 to 5 is their scale, give low=1, high=5.", "If 1 to 5 is their scale, give --range 1 5."),
        ("give low=-1e+06, high=0.", "give --range -1000000 0."),
        ("gap_low=0.2 is more than the log allows", "--gap-low 0.2 is more than the log allows"),
        ("gaps need 0 <= gap_low <= gap_high", "gaps need 0 <= --gap-low <= --gap-high"),
        ("confidence must be a probability such as 0.95, or None; got 2.0",
         "--confidence must be a probability such as 0.95; got 2.0"),
        ("an infinite log; use confidence=None", "an infinite log; use --infinite"),
        ("an infinite log; use infinite=True", "an infinite log; use --infinite"),
        ("the log has arms that arms= leaves out: 'a'", "the log has arms that --arms leaves out: 'a'"),
        ("fixed before the log is looked at: give arms=", "fixed before the log is looked at: give --arms"),
        ('give method="kl" or method="hoeffding"', "give --method kl or --method hoeffding"),
        ('from nothing, give unknown="vacuous"', "from nothing, give --unknown vacuous to meanbounds start"),
        ("above shift 0.12: 1 can be best too", "above --shift 0.12: 1 can be best too"),
        ("arm 0: lower=0.9 is above upper=0.7", "arm 0: lower=0.9 is above upper=0.7"),
        ("such as arm='low', reward=3", "such as arm='low', reward=3"),
        ("my_gap_low.csv is missing", "my_gap_low.csv is missing"),
    ],
)  # fmt: skip
def test_arguments_become_options(message: str, shown: str) -> None:
    assert in_options(message) == shown
