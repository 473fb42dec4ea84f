"""What follows from each assumption, from the weakest to the strongest."""

from __future__ import annotations

import numpy as np

from meanbounds.logs.assumptions import AnyExpert
from meanbounds.logs.explaining.ladder import Rung
from meanbounds.logs.explaining.parts.view import MOST_LISTED, View
from meanbounds.logs.explaining.tables import cell, table
from meanbounds.logs.explaining.words import name_of, plain, safe, said, title_of

__all__ = ["follows"]

_REASON = 600  # characters of a reason


def follows(view: View) -> str:
    """The second part of the page."""
    parts = [
        "<h2>2. What follows from what you assume</h2>",
        "<p>From the weakest assumption to the strongest. A stronger one leaves fewer options, and is easier to get "
        "wrong. Take the strongest that you would defend in front of those who chose. Numbers are examples where you "
        "gave none.</p>",
    ]
    return "\n".join([*parts, *(_rung(view, number, one) for number, one in enumerate(view.rungs, start=1))])


def _rung(view: View, number: int, one: Rung) -> str:
    own = one.assumption == view.basis.assumption
    mark = ' <span class="soft">(the judgement of this page)</span>' if own else ""
    premise = "nothing" if one.assumption == AnyExpert() else safe(said(one.assumption))
    return (
        f'<section data-rung="{number}"><h3>{number}. {safe(title_of(one.assumption))}{mark}</h3>'
        f"<p>Assumed: {premise}. {_number(view, one)} {_refuted(view, one)}</p>"
        f"{_decisions(view, one)}{_bounds(view, one)}</section>"
    )


def _number(view: View, one: Rung) -> str:
    """In how many contexts something follows."""
    out = int(((~one.possible).any(axis=1) & ~one.contradicted).sum())
    wrong, every = int(one.contradicted.sum()), len(view.basis.contexts)
    if not view.several or not (out or wrong):
        return ""
    found = f"Options are out in {out:,} of {every:,} contexts."
    return found + (f" The log contradicts it in {wrong:,}." if wrong else "")


def _refuted(view: View, one: Rung) -> str:
    """What the log's own tests say."""
    tests = one.refuted
    if tests is None or not tests.tests:
        return "The log alone cannot test this."
    if not tests.found:
        return "The log does not refute this, which does not confirm it."
    first = tests.found[0]
    where = f" (context {view.name(first.context)})" if view.several and first.context is not None else ""
    allowed = f" It would allow {safe(plain(' or '.join(first.allowed)), _REASON)}." if first.allowed else ""
    others = len(tests.found) - 1
    more = f" So do {others:,} more findings." if others > 1 else " So does another finding." if others else ""
    return (
        f'<span class="wrong">The log itself speaks against this</span>{where}: {safe(plain(first.reason), _REASON)}.'
        f"{allowed}{more}"
    )


def _decisions(view: View, one: Rung) -> str:
    """Which options are left in each context that is shown."""
    places = [view.places[context] for context in view.shown]
    if one.possible[places].all() and not one.contradicted[places].any():
        return f"<p><strong>Every option can be best{' in every context shown' * view.several}.</strong></p>"
    rows = []
    for context in view.shown:
        if one.contradicted[view.places[context]]:
            reason = f'<span class="wrong">The log contradicts this:</span> {safe(plain(one.reason(context)), _REASON)}'
            rows.append([view.name(context), reason, "-"])
        else:
            options = (view.words.options(arms) for arms in (one.best(context), one.out(context)))
            rows.append([view.name(context), *options])
    return table("Which options are left", ["context", "can be best", "out"], rows)


def _bounds(view: View, one: Rung) -> str:
    """The bounds of each option, folded."""
    rows = []
    for context in view.shown:
        place = view.places[context]
        if one.contradicted[place]:
            continue
        order = np.argsort(-view.basis.counts.count[place], kind="stable")[:MOST_LISTED]
        for arm in order.tolist():
            ends = (cell(view.words.reward(float(side[place, arm]))) for side in (one.lower, one.upper))
            rows.append([safe(name_of(context)), view.words.option(view.basis.arms[arm]), *ends])
    if not rows:
        return ""
    head = ["context", "option", "at least", "at most"]
    found = table("Where the mean of each option lies", head, rows, numbers=2)
    return f"<details><summary>Bounds of each option</summary>{found}</details>"
