"""What the first decisions can be expected to cost."""

from __future__ import annotations

from meanbounds.logs.assumptions import AnyExpert
from meanbounds.logs.explaining.costs import AVERAGE, FREQUENT, FROM_NOTHING, WITH_LOG, Costs
from meanbounds.logs.explaining.parts.view import View
from meanbounds.logs.explaining.pictures import Bar, bars
from meanbounds.logs.explaining.tables import cell, table
from meanbounds.logs.explaining.words import safe, total

__all__ = ["cost"]

_KINDS = {WITH_LOG: "agent", FROM_NOTHING: "nothing", AVERAGE: "average", FREQUENT: "frequent"}


def cost(view: View) -> str:
    """The fifth part of the page."""
    first, basis = view.costs[0], view.basis
    every = len(basis.contexts)
    which = "the contexts" if view.several else "it"
    if first.contexts < every:
        which = f"a sample of {first.contexts:,} of its {every:,} contexts"
    agent = "expects what the judgement makes likely" if first.judged == basis.assumption else "judges nobody"
    wrong = ""
    if first.judged != basis.assumption:
        wrong = "<p>The log contradicts the judgement, so here the agent judges nobody.</p>"
    return f"""<h2>5. What the first decisions can be expected to cost</h2>
<p>A decision costs what the best option would have brought more, on average, than the one that was taken. These are
sums of that, in units of <code>{safe(basis.counts.reward_name)}</code>, over the first 100, 1,000 and 10,000 decisions.
They come up in the contexts as often as in the log, and each context learns by itself.</p>
<p>Nobody knows the true means, so {first.worlds:,} worlds that the log allows were drawn by lot, in {which}. In each,
the mean of every option is drawn evenly between its bounds, by itself, and each decision brings either the lowest or
the highest reward, with that mean. The agent is <code>meanbounds.logs.agent</code>, which starts from this log and
{agent}. The one that learns from nothing is Thompson sampling, a good method that has not seen the log. The other two
never learn.</p>{wrong}
<div class="grid">{"".join(_costs(view, one) for one in view.costs)}</div>"""


def _costs(view: View, one: Costs) -> str:
    """Costs in one kind of worlds."""
    right = one.assumption == view.basis.assumption
    heading, worlds = _worlds(one, right)
    panels = [(f"First {decisions:,} decisions", _panel(one, place)) for place, decisions in enumerate(one.decisions)]
    described = "; ".join(f"{name}: " + ", ".join(f"{bar.name} {bar.label}" for bar in panel) for name, panel in panels)
    saved = ", ".join(f"{_less(one.saved(decisions))} over {decisions:,}" for decisions in one.decisions)
    rows = []
    for label, mean in one.mean.items():
        texts = [f"{total(m)} ± {total(2.0 * e)}" for m, e in zip(mean, one.error[label], strict=True)]
        rows.append([label[0].upper() + label[1:], *(cell(text) for text in texts)])
    head = ["way to decide", *(f"first {decisions:,}" for decisions in one.decisions)]
    numbers = table(f"Expected cost. {heading}", head, rows, numbers=len(one.decisions))
    return (
        f'<section data-costs="{"judged" if right else "any"}"><h3>{heading}</h3>'
        f"<p>{worlds} Starting from the log instead of from nothing costs {saved} decisions.</p>"
        f"<figure>{bars(heading, described, panels)}<figcaption>Each part has its own scale. The thin lines say how "
        "far the drawing of worlds may be off (two standard errors).</figcaption></figure>"
        f"<details><summary>Numbers</summary>{numbers}</details></section>"
    )


def _worlds(one: Costs, right: bool) -> tuple[str, str]:
    """A heading for the worlds, and what they are."""
    if one.assumption == AnyExpert():
        heading = "Whoever chose" if right else "If the judgement may be wrong in any way"
        words = (
            "Every mean lies within the bounds that hold whoever chose. Here those who chose may have overlooked an "
            "option that is far better for everyone."
        )
        expects = "" if one.judged == AnyExpert() else " The agent expects otherwise, and may take long to notice."
        return heading, words + expects
    return "If the judgement of this page is right", "Every mean lies within the bounds of the judgement."


def _panel(one: Costs, place: int) -> list[Bar]:
    longest = max(float(mean[place] + 2.0 * one.error[label][place]) for label, mean in one.mean.items()) or 1.0
    return [
        Bar(
            label,
            _KINDS[label],
            float(mean[place]) / longest,
            2.0 * float(one.error[label][place]) / longest,
            total(float(mean[place])),
        )
        for label, mean in one.mean.items()
    ]


def _less(saved: float) -> str:
    return f"{saved:.0%} less" if saved >= 0.0 else f"{-saved:.0%} more"
