"""What the log has, and its averages against the bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanbounds.logs.explaining.parts.view import MOST_LISTED, SENTENCE, View, quantity
from meanbounds.logs.explaining.pictures import Interval, intervals
from meanbounds.logs.explaining.tables import cell, table
from meanbounds.logs.explaining.words import condition, name_of, safe
from meanbounds.logs.names import Context

__all__ = ["has"]

_MOST_DRAWN = 10  # options in a picture
_VERDICTS = {
    "worse than the experts": ", more than any one option can bring for all cases",
    "better than the experts": ", less than the best option brings for all cases",
    "open": "",
}


def has(view: View) -> str:
    """The first part of the page."""
    counts = view.basis.counts
    dropped = sum(counts.dropped.values())
    left = f" {quantity(dropped, 'row')} could not be used and were left out." if dropped else ""
    rows = quantity(counts.rows, "row") if view.basis.whole else "Shares of an infinite log"
    pictures = "".join(_context(view, context) for context in view.shown)
    return f"""<h2>1. What the log has</h2>
<p>{rows}: what was chosen (<code>{safe(counts.arm_name)}</code>) and how it went
(<code>{safe(counts.reward_name)}</code>, from {counts.low:g} to {counts.high:g}; more is
better){_contexts(view)}.{left}</p>
<p>Those who chose saw more than was recorded, and chose accordingly. So the average of an option tells how it went in
the cases it was chosen for. It does not tell how it would go if all cases got that option, and that is what you have to
know to choose one for the next case.</p>
<p>In the pictures the <span class="cross">✕</span> is that average. The pale bar is where the mean of the option for
<em>all</em> cases of the context can lie, whoever chose. The strong bar is where it lies
{safe(condition(view.own.assumption))}: the <strong>judgement of this page</strong>. {_sure(view)} The best option's
mean is right of the dashed line, so an option whose strong bar ends left of it is out.</p>
{_selection(view)}<div class="grid">{pictures}</div>"""


def _contexts(view: View) -> str:
    if not view.several:
        return ". All rows are of one context"
    names = view.basis.counts.context_names
    columns = f" (<code>{', '.join(safe(name) for name in names)}</code>)" if names else ""
    return f", in {len(view.basis.contexts):,} contexts{columns}"


def _sure(view: View) -> str:
    if view.basis.level is None:
        return "The log counts as infinitely long, so the bars leave out the chance of few rows."
    return f"With {100 * view.basis.level:.12g}% confidence all bars of all contexts hold at once."


def _selection(view: View) -> str:
    if view.first is None:
        return ""
    return (
        f'<p class="soft">Of {len(view.basis.contexts):,} contexts {len(view.shown)} are shown one by one: those with '
        "the most rows, and those whose decision tips first when a judgement changes. "
        '<a href="#all">The table of all contexts</a> has the rest.</p>'
    )


def _context(view: View, context: Context) -> str:
    """One context: a picture, and the numbers behind it."""
    place, basis = view.places[context], view.basis
    order = np.argsort(-basis.counts.count[place], kind="stable").tolist()
    wrong = view.own.contradicted[place]
    rows = [_interval(view, place, arm) for arm in order[:_MOST_DRAWN]]
    picture = intervals(
        f"Bounds and averages, {name_of(context)}",
        "; ".join(f"{row.name}: {row.label}" for row in rows),
        rows,
        [view.words.reward(basis.counts.low + basis.span * part) for part in (0.0, 0.25, 0.5, 0.75, 1.0)],
        None if wrong else _share(view, float(view.own.lower[place].max())),
    )
    heading = f"<h3>{view.name(context)}</h3>" if view.several else ""
    caption = (
        quantity(round(float(basis.rows[place])), "row") if basis.whole else f"{basis.share[place]:.1%} of the log"
    )
    if len(order) > len(rows):
        caption += f", the {len(rows)} options chosen most often of {len(order)}"
    caption += _experts(view, context)
    caption += '. <span class="wrong">The log contradicts the judgement here.</span>' if wrong else "."
    return (
        f"<div>{heading}<figure>{picture}<figcaption>{caption}</figcaption></figure>"
        f"<details><summary>Numbers</summary>{_numbers(view, context, order)}</details></div>"
    )


def _experts(view: View, context: Context) -> str:
    """What those who chose got in a context, and whether one option for all cases can bring as much."""
    usual = view.basis.baselines.get(context)
    if usual is None:
        return ""
    said = f". Those who chose got {view.words.reward(usual.expert)} on average"
    if view.own.contradicted[view.places[context]]:
        return said
    return said + _VERDICTS[usual.verdict(view.own.bounds(context))]


def _share(view: View, reward: float) -> float:
    return (reward - view.basis.counts.low) / view.basis.span


def _interval(view: View, place: int, arm: int) -> Interval:
    """One option of a picture."""
    basis, own, naive = view.basis, view.own, float(view.basis.naive[place, arm])
    label = f"average {view.words.reward(naive)}" if naive == naive else "never chosen"
    wrong = own.contradicted[place]
    if not wrong and not own.possible[place, arm]:
        label += ", out"
    wide, narrow = (
        (_share(view, float(one.lower[place, arm])), _share(view, float(one.upper[place, arm])))
        for one in (view.rungs[0], own)
    )
    option = basis.arms[arm]
    average = _share(view, naive) if naive == naive else None
    return Interval(str(option), view.words.colour(option), wide, None if wrong else narrow, average, label)


def _numbers(view: View, context: Context, order: Sequence[int]) -> str:
    """The numbers behind a picture."""
    place, words, own, basis = view.places[context], view.words, view.own, view.basis
    rows = []
    for arm in order[:MOST_LISTED]:
        count = float(basis.counts.count[place, arm])
        share = count / max(float(basis.rows[place]), 1.0)
        ends = (np.nan, np.nan) if own.contradicted[place] else (own.lower[place, arm], own.upper[place, arm])
        numbers = [
            f"{count:,.0f}" if basis.whole else f"{count:.3g}",
            f"{share:.1%}",
            words.reward(float(basis.naive[place, arm])),
        ]
        numbers += [words.reward(float(end)) for end in ends]
        rows.append([words.option(basis.arms[arm], SENTENCE), *(cell(text) for text in numbers)])
    more = len(order) - MOST_LISTED
    cut = f'<p class="soft">{more:,} more options are not listed; <code>meanbounds bounds</code> has them.</p>'
    caption = f"{view.name(context)}: at least and at most are bounds under the judgement of this page"
    head = ["option", "rows", "share", "average", "at least", "at most"]
    return table(caption, head, rows, numbers=5, stack=False) + (cut if more > 0 else "")
