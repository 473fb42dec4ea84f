"""A policy is data: its name and its parameters say all there is to say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from meanbounds.support.saving import Saved

__all__ = ["Described"]

_REGISTRY: dict[str, type[Described]] = {}
_OURS = __name__.partition(".")[0]


@dataclass(frozen=True, repr=False)
class Described(Saved):
    """Base of every policy: it can be shown, compared, saved, and made again from its name and parameters."""

    def __init_subclass__(cls) -> None:
        type.__setattr__(cls, "__repr__", Described.__repr__)  # or each dataclass would write its own
        name = cls.__name__
        if name.startswith("_"):
            return
        known = _REGISTRY.get(name)
        if known is not None and _is_built_in(known) and cls.__module__ != known.__module__:
            raise TypeError(
                f"{name} is the name of a built-in policy, and saved agents are loaded by name: "
                f"give the class in {cls.__module__} another name"
            )
        _REGISTRY[name] = cls

    def __repr__(self) -> str:
        """The call that makes this policy: its name, and the parameters that differ from their defaults."""
        return f"{type(self).__name__}({self._changed()})"

    def __str__(self) -> str:
        """The label of this policy in results: its ``repr``, without empty brackets."""
        return repr(self).removesuffix("()")

    def _changed(self) -> str:
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in changed)

    def to_dict(self) -> dict[str, Any]:
        """The name and all parameters, safe for JSON.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.OSSB(gamma=0.1).to_dict()
        {'policy': 'OSSB', 'f': 't', 'epsilon': 0.01, 'gamma': 0.1}
        """
        for name, value in asdict(self).items():
            if callable(value):
                raise ValueError(
                    f"{type(self).__name__} has a function as {name}, which JSON cannot hold; "
                    f"use one of the named {name}"
                )
        return self.settings()

    def settings(self) -> dict[str, Any]:
        """As `to_dict`, with the name of a function where a parameter is one: to be read, not to be loaded."""
        return {"policy": type(self).__name__, **{name: _plain(value) for name, value in asdict(self).items()}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Any:
        """Make the policy that `to_dict` described; parameters that are left out keep their defaults.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Policy.from_dict({"policy": "OSSB", "gamma": 0.1})
        OSSB(gamma=0.1)
        """
        settings = dict(data)
        name = settings.pop("policy", None)
        if name not in _REGISTRY:
            known = sorted(name for name, kind in _REGISTRY.items() if not getattr(kind, "__abstractmethods__", None))
            raise ValueError(f"unknown policy {name!r}; the policies are {', '.join(known)}")
        kind: Callable[..., Described] = _REGISTRY[name]
        parameters = [field.name for field in fields(_REGISTRY[name])]
        for key in settings:
            if key not in parameters:
                raise ValueError(f"{name} has no parameter {key!r}; its parameters are {', '.join(parameters)}")
        return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in settings.items()})


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it."""
    if isinstance(value, tuple):
        return list(value)
    return f"<{value!r}>" if callable(value) else value


def _is_built_in(kind: type[Described]) -> bool:
    return kind.__module__.partition(".")[0] == _OURS
