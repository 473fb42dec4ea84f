"""Standard output and standard error of a command, wherever they lead: a terminal, a pipe, a full disk, nowhere."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO

from meanbounds.support.text import one_line, visible

__all__ = ["Output", "guarded_output", "tell"]

_BROKEN_PIPE = 141  # the exit code of a program that the signal SIGPIPE ends, as a shell shows it


class Output(io.TextIOBase):
    r"""Standard output that never stops a command: the files that it still has to write are worth more.

    Control characters are written as escapes, so that names in a log cannot command the terminal, and so are
    characters that the encoding of the stream does not have. After an error, such as a reader that has gone away,
    everything else is dropped.

    Parameters
    ----------
    stream
        The stream to write to.

    Examples
    --------
    >>> import io
    >>> from meanbounds.cli.streams import Output
    >>> ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    >>> print("Zürich \x1b[31m", file=Output(ascii_only), flush=True)
    >>> ascii_only.buffer.getvalue()
    b'Z\\xfcrich \\x1b[31m\n'
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Whether the stream can be written: always."""
        return True

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> int:
        """Write text, or drop it after an error."""
        if self.error is None:
            try:
                self._stream.write(_encodable(visible(text), self._stream))
            except OSError as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Write out the buffer, or drop it after an error."""
        if self.error is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def exit_code(self, code: int) -> int:
        """The exit code of a command that returned this one: a reader that went away counts as it does elsewhere."""
        if code or self.error is None:
            return code
        if isinstance(self.error, BrokenPipeError):
            return _BROKEN_PIPE
        tell(f"meanbounds: standard output cannot be written: {self.error}")
        return 2

    def _fail(self, error: OSError) -> None:
        self.error = error
        _lead_nowhere(self._stream)


@contextmanager
def guarded_output() -> Iterator[Output]:
    """Replace standard output by one that never stops the command, and streams that are closed by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # also keeps their numbers from being given to files that the command opens
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
    output = Output(sys.stdout)
    with redirect_stdout(output):
        try:
            yield output
        finally:
            output.flush()


def tell(message: str, *, lines: bool = False) -> None:
    """Print a message to standard error, on one line unless it has `lines`; where nobody can read it, drop it.

    Examples
    --------
    >>> from meanbounds.cli.streams import tell
    >>> tell("meanbounds: nothing to do")
    """
    try:
        print(visible(message) if lines else one_line(message), file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a pipe whose reader has gone away, or a closed stream
        _lead_nowhere(sys.stderr)


def _encodable(text: str, stream: TextIO) -> str:
    """Text in which characters that the stream cannot encode are escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _lead_nowhere(stream: TextIO) -> None:
    """Let a stream's buffer drain into the null device, so that Python has no error to show when it ends."""
    with suppress(OSError, ValueError):  # a stream without a number, such as one in memory
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
