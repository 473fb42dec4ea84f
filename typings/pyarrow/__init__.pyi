from collections.abc import Mapping, Sequence
from typing import Any

class ChunkedArray:
    def to_pylist(self) -> list[Any]: ...

class Schema:
    metadata: dict[bytes, bytes] | None

class Table:
    schema: Schema
    def __getitem__(self, name: str) -> ChunkedArray: ...
    def replace_schema_metadata(self, metadata: Mapping[str, str]) -> Table: ...

def table(data: Mapping[str, Sequence[Any]]) -> Table: ...
