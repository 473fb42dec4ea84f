"""The page about a run of the clinic: what happened, day by day, and what the service made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.cli.clinic_world import AGES, Clinic
from meanbounds.support.theme import ROOT
from meanbounds.support.version import __version__
from meanbounds.support.writing import write_text_atomically

__all__ = ["Story", "write_page"]

_WEEK = 7


@dataclass
class Story:
    """What happened in a run, as it is told."""

    arms: Sequence[str]
    start: int
    end: int
    change: int
    started: str = ""
    evaluated: str = ""
    verified: str = ""
    workers: int = 1
    history: dict[str, Any] = field(default_factory=dict)
    views: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    alarms: list[tuple[int, str]] = field(default_factory=list)
    _good: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    _chosen: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))

    def doctors(self, day: int, outcomes: Sequence[float]) -> None:
        """Outcomes of a day on which doctors decided."""
        self._good["doctors", day // _WEEK] += outcomes

    def decided(self, day: int, age: str, arm: str | None, outcome: float) -> None:
        """A patient for whom the agent chose, or (no arm) a doctor."""
        self._good["doctors" if arm is None else "agent", day // _WEEK].append(outcome)
        if arm is not None:
            self._chosen[age, day // _WEEK].append(arm)

    def alarm(self, day: int, text: str) -> bool:
        """An alarm; False if it was given before."""
        known = any(text == other for _, other in self.alarms)
        if not known:
            self.alarms.append((day, text))
        return not known

    @property
    def weeks(self) -> int:
        """How many weeks there were."""
        return -(-self.end // _WEEK)

    def success(self, who: str) -> list[float | None]:
        """The share of good outcomes of agent or doctors, week by week."""
        return [float(np.mean(own)) if (own := self._good.get((who, week))) else None for week in range(self.weeks)]

    def shares(self, age: str, arm: str) -> list[float | None]:
        """How often the agent chose an arm in an age group, week by week."""
        return [
            own.count(arm) / len(own) if (own := self._chosen.get((age, week))) else None for week in range(self.weeks)
        ]


def write_page(story: Story, clinic: Clinic, path: Path) -> None:
    """Write the page of a run."""
    own, doctors = story.history["agent"], story.history["expert"]
    facts = f"""{story.start} days observed; then the agent decided for about half of the patients, from day
    {story.start} to day {story.end}. Outcomes came three days late. On day {story.change} a new drug made the medical
    treatment better than the log had ever seen, so that bounds of the log became wrong, and nobody told the agent."""
    weekly = _chart(
        "Share of good outcomes, week by week",
        [("doctors", "frequent", story.success("doctors")), ("agent", "agent", story.success("agent"))],
        story,
    )
    charts = "".join(
        f"<h3>{escape(age)}</h3>"
        + _chart(
            f"Choices of the agent, {age}",
            [(arm, f"k{k}", story.shares(age, arm)) for k, arm in enumerate(story.arms)],
            story,
        )
        for age in AGES
    )
    alarms = "".join(f"<li><strong>Day {day}</strong>: {escape(text)}</li>" for day, text in story.alarms)
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>A clinic, from end to end</title><style>{ROOT}{_STYLE}</style></head><body><main>
<h1>A clinic, from end to end</h1>
<p>{facts} The clinic is made up: patients, doctors and outcomes are random numbers.</p>
<p class="box">The agent's patients did well in <strong>{own["mean"]:.1%}</strong> of {own["rewards"]:,} cases (the
mean value of its decisions is between {own["lower"]:.1%} and {own["upper"]:.1%} with 95% confidence, at all times at
once), those of the doctors in <strong>{doctors["mean"]:.1%}</strong> of {doctors["rewards"]:,}
({doctors["lower"]:.1%} to {doctors["upper"]:.1%}), the month before included.
{len(story.alarms)} alarm{"" if len(story.alarms) == 1 else "s"}.</p>
<h2>Outcomes</h2>{weekly}
<h2>Choices</h2>{charts}
<h2>Alarms</h2><ul>{alarms or "<li>none</li>"}</ul>
<h2>What the agent started from</h2><p><a href="log.html">What the log says, and what it leaves open</a></p>
<pre tabindex="0">{escape(story.started)}</pre>
<h2>Bounds, outcomes and truth in the end</h2>{_table(story, clinic)}
<h2>Evaluated from the exported log</h2><pre tabindex="0">{escape(story.evaluated)}</pre>
<h2>Computed again</h2><pre tabindex="0">{escape(story.verified)}</pre>
<p class="soft">Made by meanbounds {__version__}: <code>meanbounds clinic</code>, {story.workers}
service{"" if story.workers == 1 else "s that shared one store"}.</p>
</main></body></html>
"""
    write_text_atomically(path, text)


def _table(story: Story, clinic: Clinic) -> str:
    before, after = clinic.means(0), clinic.means(story.end)
    rows = []
    for number, age in enumerate(AGES):
        for k, arm in enumerate(story.views[age]):
            truth = f"{before[number, k]:.2f}"
            truth += "" if before[number, k] == after[number, k] else f", then {after[number, k]:.2f}"
            mean = "none" if arm["mean"] is None else f"{arm['mean']:.2f}"
            mark = ' class="wrong"' if arm["contradictions"] else ""
            cells = [
                f"{arm['lower']:.2f} to {arm['upper']:.2f}",
                f"{arm['plays']:,}",
                mean,
                f"{arm['trust']:.2f}",
                truth,
            ]
            inside = "".join(f"<td>{cell}</td>" for cell in cells)
            rows.append(f'<tr{mark}><th scope="row">{escape(age)}, {escape(str(arm["arm"]))}</th>{inside}</tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "bounds", "rewards", "mean", "trust", "truth"))
    body = "".join(rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _chart(title: str, lines: Sequence[tuple[str, str, Sequence[float | None]]], story: Story) -> str:
    """Lines over weeks, from 0 to 1, with the two days that matter marked."""
    left, right, top, bottom = 34.0, 350.0, 20.0, 150.0

    def x(day: float) -> float:
        return left + (right - left) * day / story.end

    def y(value: float) -> float:
        return bottom - (bottom - top) * value

    parts = []
    for value in (0.0, 0.5, 1.0):
        parts.append(f'<line class="rule" x1="{left}" x2="{right}" y1="{y(value)}" y2="{y(value)}"/>')
        parts.append(f'<text x="{left - 4}" y="{y(value) + 4}" text-anchor="end">{value:.0%}</text>')
    for day, word, anchor in ((story.start, "agent starts", "end"), (story.change, "new drug", "start")):
        parts.append(f'<line class="dash" x1="{x(day):.1f}" x2="{x(day):.1f}" y1="{top - 4}" y2="{bottom}"/>')
        parts.append(f'<text x="{x(day):.1f}" y="{top - 8}" text-anchor="{anchor}">{word}</text>')
    for _, kind, values in lines:
        points = [
            (x(min(_WEEK * (week + 0.5), story.end)), y(value))
            for week, value in enumerate(values)
            if value is not None
        ]
        path = "".join(f"{'L' if number else 'M'}{a:.1f} {b:.1f}" for number, (a, b) in enumerate(points))
        parts.append(f'<path class="line {kind}" d="{path}"/>')
    parts.append(f'<text x="{left}" y="{bottom + 16}">day 0</text>')
    parts.append(f'<text x="{right}" y="{bottom + 16}" text-anchor="end">day {story.end}</text>')
    legend = "".join(f'<li class="{kind}"><span>{escape(name)}</span></li>' for name, kind, _ in lines)
    last = "; ".join(f"{name} {_ends(values)}" for name, _, values in lines)
    words = f"{escape(title)}: {escape(last)}"
    picture = f'<svg viewBox="0 0 360 170" role="img" aria-label="{words}">{"".join(parts)}</svg>'
    return f'<ul class="legend">{legend}</ul>{picture}'


def _ends(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"from {known[0]:.0%} to {known[-1]:.0%}" if known else "never"


_STYLE = """
* { box-sizing: border-box; }
body { font: 17px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 56rem; padding: 1rem; color: var(--ink);
  background: var(--page); overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin-top: 2.5rem; } a { color: var(--accent); }
.soft { color: var(--soft); } .wrong { color: var(--naive); }
.box { background: var(--tint); border-left: 4px solid var(--accent); padding: 0.6rem 1rem; }
pre, .wide { overflow-x: auto; font-size: 0.8rem; } pre { background: var(--tint); padding: 0.6rem; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.rule { stroke: var(--line); } .dash { stroke: var(--ink); stroke-dasharray: 4 3; }
.line { fill: none; stroke: var(--own); stroke-width: 2.5; }
.k0 { --own: var(--k0); } .k1 { --own: var(--k1); } .k2 { --own: var(--k2); }
.agent { --own: var(--agent); } .frequent { --own: var(--frequent); }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; padding: 0; list-style: none; }
.legend span::before { content: ""; display: inline-block; width: 0.75em; height: 0.75em; margin-right: 0.4em;
  border-radius: 2px; background: var(--own); }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; border-top: 1px solid var(--line); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
"""
