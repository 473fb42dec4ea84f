"""What can be wrong with a request, and the status of HTTP that says so."""

from __future__ import annotations

__all__ = ["RefusalError"]


class RefusalError(Exception):
    """A request that is refused: nothing was changed.

    Parameters
    ----------
    status
        The status of HTTP, such as 409.
    code
        One word for programs, such as ``"conflict"``.
    message
        What was wrong, where, and what to do.

    Examples
    --------
    >>> from meanbounds.service.errors import RefusalError
    >>> raise RefusalError(404, "unknown_agent", "there is no agent 'demo'")
    Traceback (most recent call last):
    meanbounds.service.errors.RefusalError: there is no agent 'demo'
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
