"""What a typical and an extreme gap are, and how to ask an expert for them, with the options of the log."""

from __future__ import annotations

import numpy as np

from meanbounds.logs.explaining.parts.view import View
from meanbounds.logs.explaining.words import amount, safe, some

__all__ = ["asking"]

_BEST, _SECOND, _WORST, _TYPICAL = 0.7, 0.65, 0.4, 0.2  # of an example, in units of the range


def asking(view: View) -> str:
    """The fourth part of the page."""
    basis = view.basis
    place = int(basis.rows.argmax())
    order = np.argsort(-basis.counts.count[place], kind="stable").tolist()
    options = some([view.words.option(basis.arms[arm]) for arm in dict.fromkeys((*order[:2], order[-1]))])
    where = f" in {view.name(basis.contexts[place])}" if view.several else ""
    low, high = basis.counts.low, basis.counts.high
    best, second, worst = (f"{low + basis.span * part:.3g}" for part in (_BEST, _SECOND, _WORST))
    gaps = (_TYPICAL, _BEST - _SECOND, _BEST - _WORST)
    typical, small, large = (amount("gap_low", basis.span * part) for part in gaps)
    reward = f"<code>{safe(basis.counts.reward_name)}</code>"
    return f"""<h2>4. How to ask an expert for gaps</h2>
<p>A <strong>gap</strong> is how much better one option is than another in the <em>same kind of case</em>, in units of
{reward} (from {low:g} to {high:g}). Kinds of cases are those that the expert can tell apart and the log does not
record.</p>
<p>A <strong>typical gap</strong> is the answer to "how much better is the best option, usually?". Say it is {typical}.
People give it readily, and the bounds cannot use it: in some kinds of cases the two best options may be all but
equal.</p>
<p>An <strong>extreme gap</strong> is the smallest or the largest over <em>all</em> kinds of cases. The bounds need
these two: the smallest gap between the best option and the second best (<code>gap-low</code>), and the largest between
the best and the worst (<code>gap-high</code>). The smallest is at most the typical one and often 0; taking the typical
one for it makes bounds that are wrong.</p>
<p>Ask each expert by themselves, before they see this page:</p>
<ol>
<li>Which kinds of cases{where} would you treat differently? Name the rare ones too.</li>
<li>For each kind: which option is best, which is second, which is worst? For example {options}.</li>
<li>For each kind: what would {reward} be on average, over 100 such cases, with the best, the second and the worst? For
example {best}, {second} and {worst}: the small gap is then {small} and the large one {large}.</li>
<li>In which kind are the best and the second closest? That difference is <code>gap-low</code>. If the answer is "about
the same", it is 0.</li>
<li>In which kind are the best and the worst farthest apart? That difference is <code>gap-high</code>.</li>
<li>In how many of 100 cases would a colleague have chosen better? That is the share of wrong choices.</li>
</ol>
<p>Of several experts take the smallest <code>gap-low</code>, the largest <code>gap-high</code> and the largest share of
wrong choices. Numbers that were picked because of what the log shows void the confidence.</p>
{_matters(view)}
<p>Then, with your numbers:
<code>meanbounds explain LOG --assume erring=0.05,gap-low={small},gap-high={large}</code>.</p>
"""


def _matters(view: View) -> str:
    """For which values the answers make a difference here."""
    names = {"gap_low": "gap-low", "gap_high": "gap-high", "errors": "a share of wrong choices"}
    found = [turn for turn in view.turns if turn.point.assumption in names]
    if not found:
        return "<p>For this log no single answer changes which options can be best in the contexts shown.</p>"
    items = []
    for turn in sorted(found, key=lambda one: one.way)[:3]:
        point = turn.point
        where = f" in {view.name(point.context)}" if view.several else ""
        items.append(
            f"<li>{names[point.assumption]} {point.direction} {amount(point.assumption, point.value)}:{where} "
            f"{view.words.options(turn.after)} can be best, instead of {view.words.options(turn.before)}.</li>"
        )
    return f"<p>For this log these answers would change the decision:</p><ul>{''.join(items)}</ul>"
