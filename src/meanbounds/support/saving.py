"""One way to save objects: as a dictionary that JSON can hold, and as a JSON file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from meanbounds.support.writing import write_text_atomically

__all__ = ["Saved", "read_saved"]


class Saved(ABC):
    """Base of the objects that can be saved: `to_dict` and `from_dict`, `save` and `load`.

    A subclass defines `to_dict` and `from_dict`; `save` and `load` write and read JSON files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.2, 0.3], [0.9, 0.8])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bounds.save(Path(folder) / "bounds.json")
    ...     mb.MeanBounds.load(Path(folder) / "bounds.json") == bounds
    True
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything needed to make the object again, in lists, strings and numbers that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the object that `to_dict` described."""

    def save(self, path: str | Path) -> None:
        """Write the object to a JSON file.

        An interrupted write, or one for which there is no space, leaves the old file as it was.

        Parameters
        ----------
        path
            The file to write; one that exists is replaced.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import meanbounds as mb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "policy.json"
        ...     mb.OSSB(gamma=0.1).save(path)
        ...     print(path.read_text(encoding="utf-8"))
        {
          "policy": "OSSB",
          "f": "t",
          "epsilon": 0.01,
          "gamma": 0.1
        }
        <BLANKLINE>
        """
        text = json.dumps(self.to_dict(), indent=2) + "\n"
        write_text_atomically(path, text)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the object from a file that `save` wrote.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import meanbounds as mb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mb.OSSB(gamma=0.1).save(Path(folder) / "policy.json")
        ...     mb.Policy.load(Path(folder) / "policy.json")
        OSSB(gamma=0.1)
        """
        return cls.from_dict(read_saved(path, cls.__name__))


def read_saved(path: str | Path, what: str) -> Mapping[str, Any]:
    """The dictionary in a file that `Saved.save` wrote; `what` it holds is for messages.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import meanbounds as mb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mb.OSSB(gamma=0.1).save(Path(folder) / "policy.json")
    ...     read_saved(Path(folder) / "policy.json", "policy")["gamma"]
    0.1
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, or brackets that are too deep
        raise ValueError(f"{path} holds no saved {what}: it is not JSON ({error})") from None
    if not isinstance(data, Mapping):
        raise ValueError(f"{path} holds no saved {what}: expected a JSON object, got {type(data).__name__}")
    return data
