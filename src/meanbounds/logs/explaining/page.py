"""The page itself: one HTML file that needs nothing else, and no script."""

from __future__ import annotations

from meanbounds.logs.explaining.parts.asking import asking
from meanbounds.logs.explaining.parts.cost import cost
from meanbounds.logs.explaining.parts.every import every
from meanbounds.logs.explaining.parts.follows import follows
from meanbounds.logs.explaining.parts.has import has
from meanbounds.logs.explaining.parts.tips import tips
from meanbounds.logs.explaining.parts.view import SENTENCE, View
from meanbounds.logs.explaining.style import STYLE
from meanbounds.logs.explaining.words import amount, safe, said
from meanbounds.support.version import __version__

__all__ = ["write"]


def write(view: View, title: str) -> str:
    """The whole page of an explanation."""
    name = (
        f"What {safe(title)} says, and what it leaves open" if title else "What this log says, and what it leaves open"
    )
    parts = [part(view) for part in (_summary, has, follows, tips, asking, cost, every, _made)]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title><style>{STYLE}</style></head><body><main>
<h1>{name}</h1>
{chr(10).join(parts)}
</main></body></html>
"""


def _summary(view: View) -> str:
    """The three sentences that matter most."""
    items = "".join(f"<li>{safe(sentence, SENTENCE)}</li>" for sentence in view.sentences)
    return f'<section class="box" aria-label="In three sentences"><ol>{items}</ol></section>'


def _made(view: View) -> str:
    """What the numbers rest on."""
    basis = view.basis
    size = "a log that counts as infinite" if basis.level is None else f"confidence {100 * basis.level:.12g}%"
    return f"""<h2>How this page was made</h2>
<p class="soft">By meanbounds {safe(__version__)}: <code>meanbounds explain</code>. Judgement:
{safe(said(basis.assumption))}; {size}; method {safe(basis.method)}; change since the log was written
{amount("shift", basis.shift)}; simulations with seed {view.seed}. Bounds hold for cases like those of the log. That the
log does not refute an assumption does not make it true.</p>"""
