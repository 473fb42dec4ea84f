from typing import Any

class _Application:
    def display_warning(self, message: str) -> None: ...

class BuildHookInterface:
    root: str
    app: _Application
    def initialize(self, version: str, build_data: dict[str, Any]) -> None: ...
