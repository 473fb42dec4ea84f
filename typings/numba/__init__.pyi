from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Value = TypeVar("_Value")

__version__: str

def njit(*, cache: bool = ..., nogil: bool = ..., error_model: str = ...) -> Callable[[_Function], _Function]: ...

class _Config:
    CACHE_DIR: str
    DISABLE_JIT: int

config: _Config

def literally(value: _Value) -> _Value: ...
