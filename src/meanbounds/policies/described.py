"""The part that all policies share: a policy is fully described by its name and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from meanbounds.support.checks import as_mapping, shown
from meanbounds.support.saving import Saved

__all__ = ["Described"]

_REGISTRY: dict[str, type[Described]] = {}
_OURS = __name__.partition(".")[0]


@dataclass(frozen=True, repr=False)
class Described(Saved):
    """Base of every policy: shows, compares, saves and loads it by its name and parameters.

    Each subclass registers itself under its class name, so that `from_dict` finds it again; a name that starts with an
    underscore is not registered.

    Examples
    --------
    >>> import meanbounds as mb
    >>> policy = mb.ThompsonSampling(moments=2)
    >>> policy, str(mb.GLUE())
    (ThompsonSampling(moments=2), 'GLUE')
    >>> mb.Policy.from_dict(policy.to_dict()) == policy
    True
    """

    formerly: ClassVar[Mapping[str, object]] = {}  # parameters added later, with the values that change nothing

    removed: ClassVar[Mapping[str, tuple[object, str]]] = {}  # of older versions: harmless value, what to do instead

    def __new__(cls, *_: Any, **named: Any) -> Self:
        """Say what to do to whoever gives a parameter of an older version."""
        for name in cls.removed.keys() & named.keys():
            raise TypeError(f"{cls.__name__}: {cls.removed[name][1]}; got {name}={shown(named[name])}")
        return super().__new__(cls)

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
        """The name and all parameters, in values that JSON can hold.

        Raises
        ------
        ValueError
            If a parameter is a function, which JSON cannot hold; use a named one, or `settings` to show it.

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
        """The same as `to_dict`, except that a function is replaced by its ``repr``: for reading, not for loading.

        Examples
        --------
        >>> import meanbounds as mb
        >>> import numpy as np
        >>> mb.UCB(f=np.exp).settings()
        {'policy': 'UCB', 'f': "<<ufunc 'exp'>>"}
        """
        return {"policy": type(self).__name__, **{name: _plain(value) for name, value in asdict(self).items()}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Any:
        """Make the policy that `to_dict` described; parameters that are left out keep their defaults.

        Parameters
        ----------
        data
            ``"policy"`` with the name of the class, and its parameters.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Policy.from_dict({"policy": "OSSB", "gamma": 0.1})
        OSSB(gamma=0.1)
        """
        settings = dict(as_mapping("a saved policy", data))
        name = settings.pop("policy", None)
        if not (isinstance(name, str) and name in _REGISTRY):
            known = sorted(name for name, kind in _REGISTRY.items() if not getattr(kind, "__abstractmethods__", None))
            raise ValueError(f"unknown policy {shown(name)}; the policies are {', '.join(known)}")
        kind: Callable[..., Described] = _REGISTRY[name]
        parameters = [field.name for field in fields(_REGISTRY[name])]
        settings = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
        for key, (harmless, advice) in _REGISTRY[name].removed.items():
            if settings.pop(key, harmless) != harmless:
                raise ValueError(f"{name}: {advice}; got {key} = {shown(data[key])}")
        for key in settings:
            if not (isinstance(key, str) and key in parameters):
                raise ValueError(f"{name} has no parameter {shown(key)}; its parameters are {', '.join(parameters)}")
        return kind(**settings)

    @classmethod
    def from_saved(cls, data: Mapping[str, Any]) -> Any:
        """Make the policy of a saved agent: parameters that the version which saved it did not have change nothing.

        Parameters
        ----------
        data
            As for `from_dict`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Policy.from_saved({"policy": "BIMED", "moments": 2})
        BIMED(moments=2, settle=False)
        """
        settings = dict(as_mapping("a saved policy", data))
        name = settings.get("policy")
        kind = _REGISTRY.get(name) if isinstance(name, str) else None
        return cls.from_dict({**(kind.formerly if kind is not None else {}), **settings})


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it."""
    if isinstance(value, tuple):
        return list(value)
    return f"<{value!r}>" if callable(value) else value


def _is_built_in(kind: type[Described]) -> bool:
    return kind.__module__.partition(".")[0] == _OURS
