"""At which value of each judgement the decision tips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanbounds.logs.explaining.parts.view import View
from meanbounds.logs.explaining.pictures import Pin, pins
from meanbounds.logs.explaining.tables import cell, table
from meanbounds.logs.explaining.turning import Turn, judgements_of
from meanbounds.logs.explaining.words import NUMBERS, amount, name_of, safe, said

__all__ = ["tips"]


def tips(view: View) -> str:
    """The third part of the page."""
    basis = view.basis
    moved = [name for _, numbers in judgements_of(basis.assumption, basis.span) for name in numbers]
    names = [name for name in moved if name != "confidence" or basis.level is not None]
    found = {name: [turn for turn in view.turns if turn.point.assumption == name] for name in names}
    parts = [
        "<h2>3. When the decision tips</h2>",
        "<p>The decision is which options can be best. The judgement of this page: "
        f"{safe(said(basis.assumption))}. Here one number at a time moves, and everything else stays. Where the "
        "decision changes, you see at which value, for which context, and which options are left then. Ask yourself on "
        "which side of the value the truth is.</p>",
        *(_judgement(view, name, turns) for name, turns in found.items() if turns),
    ]
    quiet = [NUMBERS[name][0].lower() for name, turns in found.items() if not turns]
    if quiet:
        parts.append(f"<p>No value of these changes the decision in the contexts shown: {'; '.join(quiet)}.</p>")
    return "\n".join(parts)


def _judgement(view: View, name: str, turns: Sequence[Turn]) -> str:
    """One judgement: where it tips, in a picture and in a table."""
    heading, meaning = NUMBERS[name]
    head = ["context", "tips", "before", "beyond"]
    rows = [
        [
            view.name(turn.point.context),
            cell(f"{turn.point.direction} {amount(name, turn.point.value)}"),
            view.words.options(turn.before),
            view.words.options(turn.after),
        ]
        for turn in turns
    ]
    marks = [f'data-turn="{view.turns.index(turn)}" data-value="{turn.point.value!r}"' for turn in turns]
    starts = sorted({amount(name, turn.start) for turn in turns})
    caption = "The circle is what is assumed, the diamond where the decision tips."
    listed = table(f"{heading}: which options can be best before and beyond that value", head, rows, marks=marks)
    return (
        f"<h3>{heading}</h3><p>{meaning} Assumed: {' to '.join(starts[:: max(1, len(starts) - 1)])}.</p>"
        f'<div class="grid"><figure>{_picture(name, turns)}<figcaption>{caption}</figcaption></figure>{listed}</div>'
    )


def _picture(name: str, turns: Sequence[Turn]) -> str:
    end = max(max(turn.point.value, turn.start) for turn in turns)
    top = 1.0 if name == "confidence" else _rounded_up(1.05 * end)
    rows = [
        Pin(
            name_of(turn.point.context),
            turn.start / top,
            turn.point.value / top,
            f"tips {turn.point.direction} {amount(name, turn.point.value)}",
        )
        for turn in turns
    ]
    described = "; ".join(f"{row.name}: {row.label}" for row in rows)
    ticks = [amount(name, top * part) for part in (0.0, 0.5, 1.0)]
    return pins(f"{NUMBERS[name][0]}: where the decision tips", described, rows, ticks)


def _rounded_up(value: float) -> float:
    """The next number that is easy to read on an axis: 1, 2, 4, 5 or 8 times a power of ten."""
    power = float(10.0 ** np.floor(np.log10(value))) if value > 0.0 else 1.0
    return next(digit * power for digit in (1, 2, 4, 5, 8, 10) if digit * power >= value)
