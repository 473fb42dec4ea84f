"""Tables in memory of more than one package: pandas, Polars and Arrow, read without importing any of them."""

from __future__ import annotations

from typing import Any

from meanbounds.support.checks import shown

__all__ = ["as_pandas", "collected", "column_names", "is_pandas", "ordered_categories"]


def is_pandas(table: Any) -> bool:
    """Whether this is a data frame of pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> is_pandas(pd.DataFrame()), is_pandas([])
    (True, False)
    """
    return type(table).__module__.split(".")[0] == "pandas" and hasattr(table, "columns")


def collected(table: Any) -> Any:
    """A lazy Polars frame as a frame, anything else as it is.

    Examples
    --------
    >>> import polars as pl
    >>> collected(pl.LazyFrame({"arm": ["a"]})).columns
    ['arm']
    """
    lazy = not isinstance(table, type) and hasattr(table, "collect_schema") and hasattr(table, "collect")
    return table.collect() if lazy else table


def column_names(table: Any) -> list[str]:
    """The names of the columns of a pandas, Polars or Arrow table.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"arm": ["a"], "reward": [1.0]})
    >>> column_names(frame), column_names(frame.lazy()), column_names(frame.to_arrow())
    (['arm', 'reward'], ['arm', 'reward'], ['arm', 'reward'])
    """
    if hasattr(table, "collect_schema"):  # Polars; a lazy frame would warn if it were asked for its columns
        return list(table.collect_schema().names())
    return [str(name) for name in (table.column_names if hasattr(table, "column_names") else table.columns)]


def as_pandas(name: str, table: Any) -> Any:
    """A pandas, Polars or Arrow table as a data frame of pandas; one of pandas is returned as it is.

    Examples
    --------
    >>> import polars as pl
    >>> as_pandas("frame", pl.DataFrame({"arm": ["a", "b"]}))["arm"].tolist()
    ['a', 'b']
    >>> as_pandas("frame", [1, 2])
    Traceback (most recent call last):
    TypeError: frame must be a pandas, Polars or Arrow table; got [1, 2]
    """
    if is_pandas(table):
        return table
    table = collected(table)
    if isinstance(table, type) or not (hasattr(table, "columns") and hasattr(table, "to_pandas")):
        raise TypeError(f"{name} must be a pandas, Polars or Arrow table; got {shown(table)}")
    return table.to_pandas()


def ordered_categories(table: Any, column: str) -> list[Any] | None:
    """The values, in order, of a column that is an ordered categorical of pandas or an Enum of Polars; None of others.

    Examples
    --------
    >>> import pandas as pd
    >>> import polars as pl
    >>> doses, seen = ["low", "medium", "high"], ["high", "low"]
    >>> ordered_categories(pd.DataFrame({"dose": pd.Categorical(seen, categories=doses, ordered=True)}), "dose")
    ['low', 'medium', 'high']
    >>> ordered_categories(pl.DataFrame({"dose": pl.Series(seen, dtype=pl.Enum(doses))}), "dose")
    ['low', 'medium', 'high']
    >>> ordered_categories(pl.DataFrame({"dose": seen}), "dose")
    """
    if is_pandas(table):
        kind = getattr(table[column], "dtype", None)
        return list(kind.categories) if kind is not None and getattr(kind, "ordered", False) else None
    if not hasattr(table, "collect_schema"):
        return None
    kind = table.collect_schema().get(column)
    return list(kind.categories) if type(kind).__name__ == "Enum" else None
