"""Logarithms and exponentials of many numbers at once.

A loop that calls the functions of the C library takes one number after another. These are additions, multiplications
and shifts without a branch, which the compiler turns into instructions that take several numbers together. Both are
right to 4e-16 of the result.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["LARGEST", "LEAST", "fill_exponentials", "fill_logarithms"]

LEAST = 1e-300
"""Smaller numbers, and those below 0, have the logarithm of this one."""

LARGEST = 690.0
"""Exponents beyond this, on either side, are taken to be it."""

_PER_LOG = 1.0 / np.log(2.0)
_LOG_HIGH = 6.93147180369123816490e-01  # log 2 in two parts: small whole numbers times the first are exact
_LOG_LOW = 1.90821492927058770002e-10
_ROUNDS = 1.5 * 2.0**52  # added to a number, it leaves a whole one in the last bits
_WHOLE = 2.0**52
_WHOLE_BITS = 0x4330000000000000  # of the number before
_FRACTION = 52  # bits of a float below its exponent
_BIAS = 1023
_HALFWAY = 0x3FF0000000000000 - 0x3FE6A09E667F3BCD  # bits between the root of 1/2 and 1

_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12 = (1.0 / factorial(n) for n in range(2, 13))
# Close to 2/3, 2/5 ... of the series, but the seven that are least wrong up to where it is used, as in fdlibm.
_L1, _L2, _L3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_L4, _L5, _L6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01


@compiled
def fill_exponentials(values: Floats, room: Floats) -> None:
    """Replace each number by its exponential; `room` is scratch space of the same size.

    With n the whole number next to x / log 2, the exponential is 2^n times that of the rest, at most log 2 / 2 from 0:
    its series ends with the power 12.
    """
    bits = room.view(np.int64)
    for i in range(values.size):
        x = min(LARGEST, max(-LARGEST, values[i]))
        moved = x * _PER_LOG + _ROUNDS
        room[i] = moved
        n = moved - _ROUNDS
        r = (x - n * _LOG_HIGH) - n * _LOG_LOW
        s = r * r
        odd = _E3 + s * (_E5 + s * (_E7 + s * (_E9 + s * _E11)))
        even = _E2 + s * (_E4 + s * (_E6 + s * (_E8 + s * (_E10 + s * _E12))))
        values[i] = 1.0 + (r + s * (even + r * odd))
    for i in range(values.size):
        bits[i] = (bits[i] + _BIAS) << _FRACTION
    for i in range(values.size):
        values[i] *= room[i]


@compiled
def fill_logarithms(values: Floats, room: Floats) -> None:
    """Replace each number by its logarithm; `room` is scratch space of the same size.

    A number is 2^n times one between the roots of 1/2 and 2, whose logarithm is an odd series in (x - 1) / (x + 1).
    """
    for i in range(values.size):
        values[i] = max(values[i], LEAST)
    bits, exponents = values.view(np.int64), room.view(np.int64)
    for i in range(values.size):
        n = (bits[i] + _HALFWAY) >> _FRACTION
        exponents[i] = n + _WHOLE_BITS
        bits[i] -= (n - _BIAS) << _FRACTION
    for i in range(values.size):
        n = room[i] - (_WHOLE + _BIAS)
        f = values[i] - 1.0
        s = f / (2.0 + f)
        z = s * s
        w = z * z
        odd = _L1 + w * (_L3 + w * (_L5 + w * _L7))
        even = _L2 + w * (_L4 + w * _L6)
        # 2 s = f - s f exactly: what is small is added last
        values[i] = n * _LOG_HIGH + (f - (s * (f - z * (odd + z * even)) - n * _LOG_LOW))
