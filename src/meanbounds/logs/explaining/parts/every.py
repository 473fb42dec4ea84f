"""All contexts in folded tables, where not all of them are shown one by one."""

from __future__ import annotations

import numpy as np

from meanbounds.logs.explaining.parts.view import View
from meanbounds.logs.explaining.tables import cell, table
from meanbounds.logs.explaining.words import name_of, safe

__all__ = ["every"]

_GROUP = 100  # contexts in one folded table
_LARGEST = 2_000_000  # bytes of all of them
_HEAD = ("context", "rows", "chosen most often", "best average", "can be best", "tips")


def every(view: View) -> str:
    """The part of the page with all contexts; nothing if they are few."""
    if view.first is None:
        return ""
    contexts, parts, size, listed = view.basis.contexts, [], 0, 0
    while listed < len(contexts):
        end = min(listed + _GROUP, len(contexts))
        rows = [_row(view, place, float(view.first[place])) for place in range(listed, end)]
        names = (safe(name_of(contexts[place]), 40) for place in (listed, end - 1))
        body = table(f"Contexts {listed + 1:,} to {end:,}", _HEAD, rows)
        part = f"<details><summary>{' … '.join(names)}</summary>{body}</details>"
        size += len(part.encode())
        if size > _LARGEST:
            break
        parts.append(part)
        listed = end
    left = len(contexts) - listed
    more = f"<p>{left:,} more contexts are not listed, so that this page stays small.</p>" if left else ""
    return f"""<h2 id="all">All contexts</h2>
<p>In the order of the log. The last column says how far some number of the judgement can move before the decision tips,
as a share of how far it can move at all; a dash means that it never tips. <code>meanbounds sensitivity LOG -o
table.csv</code> has the exact values of all contexts, and <code>meanbounds bounds LOG -o bounds.json</code> all
bounds.</p>{more}{"".join(parts)}"""


def _row(view: View, place: int, first: float) -> list[str]:
    basis, own, words = view.basis, view.own, view.words
    usual = basis.baselines.get(basis.contexts[place])
    most, best = ("-", "-") if usual is None else map(words.option, (usual.most_frequent, usual.naive_best))
    arms = [arm for arm, can in zip(basis.arms, own.possible[place], strict=True) if can]
    left = '<span class="wrong">contradicted</span>' if own.contradicted[place] else words.options(arms)
    way = f"{first:.0%}" if np.isfinite(first) else "-"
    return [view.name(basis.contexts[place]), cell(f"{basis.rows[place]:,.0f}"), most, best, left, cell(way)]
