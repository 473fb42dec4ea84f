"""A policy is data: its name and its parameters say all there is to say of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["Described"]

_REGISTRY: dict[str, type[Described]] = {}


@dataclass(frozen=True)
class Described:
    """Base of everything that decides: can be shown, saved and found by its name."""

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            _REGISTRY[cls.__name__] = cls

    def __str__(self) -> str:
        """Name, and only the parameters that are not at their defaults."""
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in changed)
        return type(self).__name__ + (f"({inside})" if inside else "")

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, safe for JSON."""
        settings = asdict(self)
        for name, value in settings.items():
            if callable(value):
                raise ValueError(
                    f"{type(self).__name__} has a function as {name}, which JSON cannot hold; "
                    f"use one of the named {name}"
                )
        return {"policy": type(self).__name__, **settings}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Any:
        """The inverse of `to_dict`; parameters that are left out keep their defaults.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Policy.from_dict({"policy": "GLUE"})
        GLUE(f='1 + t log(t)^2')
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

    @staticmethod
    def from_repr(text: str) -> Any:
        """The inverse of ``repr``, which is what results keep; a parameter that is a function cannot be read back.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Policy.from_repr("ROFUL(norm_high=2.0, index='clip')") == mb.ROFUL(norm_high=2.0, index="clip")
        True
        """
        try:
            call = ast.parse(text, mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
                raise ValueError(text)
            settings = {str(part.arg): ast.literal_eval(part.value) for part in call.keywords}
        except (SyntaxError, ValueError) as error:
            raise ValueError(
                f"{text!r} cannot be read back: it is not a policy's name with parameters that are plain values"
            ) from error
        return Described.from_dict({"policy": call.func.id, **settings})
