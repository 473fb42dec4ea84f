"""The two ways in which a store says no: the request is at fault, or the store cannot be used now."""

from __future__ import annotations

from typing import Literal

__all__ = ["RefusedError", "StoreError", "Trouble"]

Trouble = Literal["busy", "full", "gone", "damaged", "failed"]
"""What is wrong with a store: another process holds its lock, no room, it was removed, its content, anything else."""


class RefusedError(ValueError):
    """A request that is refused, with the status of HTTP and a word for programs, such as 409 and ``"conflict"``.

    Examples
    --------
    >>> RefusedError(409, "conflict", "this decision has had the reward 1.0").status
    409
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class StoreError(OSError):
    """A store that cannot be read or written; nothing that was not answered has been kept."""

    def __init__(self, kind: Trouble, message: str) -> None:
        super().__init__(message)
        self.kind = kind
