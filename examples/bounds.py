"""From bounds to decisions, in the terminal and on a page: ``python -m examples.demo --out demo``.

Five treatments, and bounds on how many patients recover with each. What do the bounds exclude, how does an agent
decide, what do the bounds save, and what happens if one is wrong? All numbers are made up, so the truth is known.
"""

from __future__ import annotations

import argparse
import base64
import inspect
import io
import textwrap
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.support.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PATIENTS, RUNS, SEED, TRUST = 1_000, 60, 13, 0.9
TREATMENTS = ["exercise", "physiotherapy", "massage", "painkillers", "bed rest"]
TRUTH = [0.78, 0.70, 0.60, 0.50, 0.35]  # the share of patients who recover, which no agent is told
LOWER = [0.62, 0.55, 0.50, 0.30, 0.10]
UPPER = [0.85, 0.90, 0.80, 0.60, 0.55]
BOUNDS = mb.MeanBounds(LOWER, UPPER, arms=TREATMENTS)
WRONG = mb.MeanBounds([0.30, *LOWER[1:]], [0.52, *UPPER[1:]], arms=TREATMENTS)  # exercise is better than that

UCB, THOMPSON, GITTINS = "UCB", "Thompson sampling", "Gittins"
GLUE, BOUNDED, OWN = "GLUE, bounds", "Gittins, bounds", "own MOSS, bounds"
SHOWN = (UCB, THOMPSON, GITTINS, GLUE, BOUNDED)
CERTAIN, DOUBTED, NOTHING = "trust 1", f"trust {TRUST}", "no bounds"
WORDS = {  # on the axes of pictures
    "mean reward": "share of patients who recover",
    "regret": "recoveries lost (regret)",
    "round": "patients",
    "": "",
}


@dataclass(frozen=True)
class ClippedMOSS(mb.policies.IndexPolicy):
    """MOSS (Audibert and Bubeck, 2009), clipped at the upper bounds."""

    horizon: int = 1_000

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        arms = known.possible.sum(axis=1, keepdims=True)
        log = np.log(np.maximum(1.0, self.horizon / (arms * seen.plays)))
        width = known.width * np.sqrt(log / seen.plays)
        return np.where(known.possible, np.fmin(known.upper, seen.mean(known) + width), -np.inf)


class Treated(NamedTuple):
    """One patient: the index of each treatment, the one that was given, and whether the patient recovered."""

    patient: int
    indices: list[float]
    given: int
    recovered: bool


class Story(NamedTuple):
    """Everything that the terminal and the page tell."""

    excluded: list[str]  # what the bounds exclude
    decisions: list[Treated]
    saved: mb.Regret  # with bounds and without
    right: mb.Regret  # by trust, with the bounds that hold
    wrong: mb.Regret  # by trust, with those that do not
    silenced: list[str]  # what the wrong bounds exclude
    alarm: tuple[int, str]  # the patient after whom an agent warned, and what it said


def tell(patients: int = PATIENTS, runs: int = RUNS) -> Story:
    """Compute the story."""
    world = mb.Bernoulli(TRUTH)
    shared: dict[str, Any] = {"horizon": patients, "runs": runs, "seed": SEED, "compiled": False}
    without = {UCB: mb.UCB(), THOMPSON: mb.ThompsonSampling(), GITTINS: mb.OptimisticGittins()}
    within = {GLUE: mb.GLUE(), BOUNDED: mb.OptimisticGittins(), OWN: ClippedMOSS(horizon=patients)}
    saved = mb.simulate(without, world, **shared).beside(mb.simulate(within, world, BOUNDS, **shared))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that do not hold: here that is on purpose
        doubted, fooled, careful = (
            mb.simulate({label: mb.OptimisticGittins()}, world, mb.Knowledge(bounds, trust=trust), **shared)
            for label, bounds, trust in ((DOUBTED, BOUNDS, TRUST), (CERTAIN, WRONG, 1.0), (DOUBTED, WRONG, TRUST))
        )
    nothing = saved.select({GITTINS: NOTHING})
    agent = mb.Agent(mb.OptimisticGittins(), BOUNDS, seed=SEED)
    return Story(
        excluded=reasons(agent),
        decisions=[treat(agent, patient) for patient in range(1, 11)],
        saved=saved,
        right=saved.select({BOUNDED: CERTAIN}).beside(doubted, nothing),
        wrong=fooled.beside(careful, nothing),
        silenced=reasons(mb.Agent(mb.OptimisticGittins(), WRONG)),
        alarm=first_alarm(patients),
    )


def reasons(agent: mb.Agent) -> list[str]:
    """What the bounds exclude, and why."""
    return [
        f"{one.arm}: at most {one.upper:.0%} recover, with {one.better} at least {one.lower:.0%}"
        for one in agent.excluded()
    ]


def treat(agent: mb.Agent, patient: int) -> Treated:
    """Let an agent decide for one patient, and tell it how it went."""
    indices, arm = agent.indices().tolist(), agent.pull()
    place = agent.arms.index(arm)
    recovered = bool(np.random.default_rng([SEED, patient]).random() < TRUTH[place])
    agent.update(arm, float(recovered))
    return Treated(patient, indices, place, recovered)


def first_alarm(patients: int) -> tuple[int, str]:
    """Let an agent that does not quite trust a wrong bound decide until it warns."""
    agent = mb.Agent(mb.OptimisticGittins(), mb.Knowledge(WRONG, trust=TRUST), seed=SEED)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for patient in range(1, patients + 1):
            treat(agent, patient)
            if caught:
                return patient, str(caught[0].message)
    return patients, "no warning so far"


def lost(regret: mb.Regret, label: str) -> str:
    """The mean regret at the end."""
    return f"{regret.mean[label][-1]:.0f}"


# The terminal


def show(story: Story) -> None:
    """Print the story."""
    patients = int(story.saved.checkpoints[-1])
    heading(1, "What is known: how many patients recover, at least and at most")
    for arm, low, high in zip(TREATMENTS, LOWER, UPPER, strict=True):
        start, end = round(40 * low), round(40 * high)
        print(f"  {arm:14} {low:4.0%}  {'.' * start}{'=' * (end - start)}{'.' * (40 - end)}  {high:4.0%}")
    heading(2, "What that excludes, before the first patient")
    print(*(f"  {line}" for line in story.excluded), sep="\n")
    heading(3, "An agent decides: the index of each treatment; the largest is [given]")
    kept = [k for k, index in enumerate(story.decisions[0].indices) if index > -np.inf]
    print("  patient" + "".join(f"{TREATMENTS[k]:>15}" for k in kept))
    for patient, indices, given, recovered in story.decisions:
        cells = (f"[{indices[k]:.4f}]" if k == given else f"{indices[k]:.4f} " for k in kept)
        outcome = "recovered" if recovered else "did not recover"
        print(f"  {patient:7}" + "".join(f"{cell:>15}" for cell in cells) + f"   {outcome}")
    heading(4, f"What bounds save: recoveries lost among {patients:,} patients (regret)")
    print(textwrap.indent(story.saved.summary(), "  "))
    heading(5, "If a bound is wrong: exercise helps at most 52%, says a bad study (it is 78%)")
    print(*(f"  {line}" for line in story.silenced), sep="\n")
    print(f"\n  {'recoveries lost':18}{'bounds right':>14}{'exercise wrong':>18}")
    for label in (CERTAIN, DOUBTED, NOTHING):
        print(f"  {label:18}{lost(story.right, label):>14}{lost(story.wrong, label):>18}")
    print(f"\n  With trust {TRUST} the agent warned after patient {story.alarm[0]}:")
    print(textwrap.indent(textwrap.fill(story.alarm[1], 90), "    "))
    heading(6, f"A policy of your own, beside them: it lost {lost(story.saved, OWN)}")
    print(textwrap.indent(own_source(), "  "))


def own_source() -> str:
    """The lines of the policy above."""
    return inspect.getsource(ClippedMOSS)


def heading(number: int, text: str) -> None:
    """Print the heading of a part."""
    print(f"\n{number}. {text}\n")


# The page


def page(story: Story) -> str:
    """The page as HTML that needs no other file."""
    patients, runs = int(story.saved.checkpoints[-1]), len(story.saved.curves[UCB])
    tiles = "".join(
        f"<li><b>{lost(story.saved, label)}</b> {escape(text)}</li>"
        for label, text in (
            (UCB, "by UCB, without bounds"),
            (GITTINS, "by the optimistic Gittins index, without bounds"),
            (BOUNDED, "by the same index, with bounds"),
        )
    )
    parts = [
        part(
            "What is known",
            f"""<p>Each bar is what trials and old records say of a treatment: the share of patients who recover lies
            somewhere in it. Where exactly, nobody knows.</p>
            <p>The dashed line is the largest lower bound. Exercise helps at least {LOWER[0]:.0%} of the patients, so
            whatever is best helps at least as many.</p>""",
            picture(mb.simulation.plot_bounds(BOUNDS), "The bounds on five treatments as bars"),
        ),
        part(
            "What that excludes",
            """<p>A bar that ends before the dashed line cannot be the best treatment. It need not be tried, and no
            patient is spent on finding that out.</p>""",
            listed(story.excluded),
        ),
        part(
            "An agent decides",
            """<p>For each patient the agent computes an index: what a treatment may be worth. It is higher than what is
            expected of the treatment, the more so the less is known, and never above the upper bound. The treatment
            with the largest index is given. A recovery raises its index, a failure lowers it.</p>""",
            decisions_table(story.decisions),
        ),
        part(
            "What bounds save",
            f"""<p>Regret is what a policy loses against always giving the best treatment: here, recoveries among
            {patients:,} patients. The picture has the mean of {runs} simulated clinics for each policy. Without bounds,
            each has to find out by itself that painkillers and bed rest do not help much.</p>
            <p>Gittins is the optimistic Gittins index, which treated the ten patients above: bounds save it
            {saving(story)} of its regret. GLUE, the policy of the paper, is UCB with the bounds built in.
            With bounds it loses about as much as Gittins without: UCB explores much more than Gittins, and here the
            bounds make up for that.</p>""",
            picture(story.saved.select(SHOWN).plot(), "Regret of each policy"),
        ),
        part(
            "What if a bound is wrong?",
            f"""<p>Suppose that a bad study says: exercise helps at most {WRONG.upper[0]:.0%}. In truth it helps
            {TRUTH[0]:.0%}, and is best. Now the bounds exclude it:</p>{listed(story.silenced)}
            <p>An agent that takes the bounds to be certain never tries it, never finds out, and loses in every round.
            <code>agent.excluded()</code> lists such treatments, so that somebody can ask whether the bounds behind them
            are beyond doubt. Where they are not, say so: <code>mb.Knowledge(bounds, trust={TRUST})</code>. That costs a
            little where the bounds are right. Where one is wrong, the agent finds out.</p>{trust_table(story)}
            <p>With trust {TRUST} the agent warned after patient {story.alarm[0]}:</p>
            <blockquote>{escape(story.alarm[1])}</blockquote>""",
            picture(story.wrong.plot(), "Regret by trust if the bound on exercise is wrong"),
        ),
        part(
            "A policy of your own",
            f"""<p>A policy is a few lines of numpy. This one is MOSS, an index that knows how many patients are to
            come, kept within the bounds. It lost {lost(story.saved, OWN)}, beside GLUE's {lost(story.saved, GLUE)}, in
            the same simulation. The same object decides in an agent, one patient after the other.</p>
            <pre><code>{escape(own_source())}</code></pre>
            <p><code>docs/own_policy.md</code> says what each of these names holds; <code>docs/start.md</code> goes from
            your own bounds to an agent in use.</p>""",
        ),
    ]
    return PAGE.format(style=STYLE, patients=f"{patients:,}", tiles=tiles, parts="\n".join(parts))


def saving(story: Story) -> str:
    """The share of its regret that the policy saves by bounds."""
    return f"{1.0 - story.saved.mean[BOUNDED][-1] / story.saved.mean[GITTINS][-1]:.0%}"


def part(title: str, text: str, beside: str = "") -> str:
    """A section of the page, with a picture or table beside the text where there is room."""
    return f"<section{'' if beside else ' class=alone'}><div><h2>{escape(title)}</h2>{text}</div>{beside}</section>"


def listed(lines: Iterable[str]) -> str:
    """Lines as a list."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def decisions_table(decisions: list[Treated]) -> str:
    """The first decisions: a row for each patient, a column for each treatment that can be best."""
    kept = [k for k, index in enumerate(decisions[0].indices) if index > -np.inf]
    head = "".join(f"<th>{TREATMENTS[k]}</th>" for k in kept)
    rows = []
    for patient, indices, given, recovered in decisions:
        cells = (f"<td{' class=given' if k == given else ''}>{indices[k]:.4f}</td>" for k in kept)
        mark = '<td class="yes">recovered</td>' if recovered else '<td class="no">did not</td>'
        rows.append(f"<tr><td>{patient}</td>{''.join(cells)}{mark}</tr>")
    return (
        f"<figure><table><thead><tr><th></th>{head}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        "<figcaption>The first ten patients. Framed: what was given.</figcaption></figure>"
    )


def trust_table(story: Story) -> str:
    """What is lost by trust, with bounds that hold and with a wrong one."""
    rows = "".join(
        f"<tr><th scope=row>{label}</th><td>{lost(story.right, label)}</td><td>{lost(story.wrong, label)}</td></tr>"
        for label in (CERTAIN, DOUBTED, NOTHING)
    )
    head = "<tr><th>recoveries lost</th><th>bounds right</th><th>exercise wrong</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def regret_picture(story: Story) -> Figure:
    """The bounds, and the regret with and without them."""
    return in_words(story.saved.select(SHOWN).plot(bounds=BOUNDS))


def in_words(figure: Figure) -> Figure:
    """The picture, with the words of this story on its axes."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_label_text(WORDS[axis.get_label_text()])
    return figure


def png(figure: Figure) -> bytes:
    """A picture as a file of at most 256 colours, which is a third as large."""
    from PIL import Image  # matplotlib needs it

    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png")
    Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def picture(figure: Figure, words: str) -> str:
    """A picture inside the page."""
    data = base64.b64encode(png(in_words(figure))).decode("ascii")
    return f'<figure><img src="data:image/png;base64,{data}" alt="{escape(words)}"></figure>'


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>From bounds to decisions: meanbounds</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>From bounds to decisions</h1>
<p class="lead">A clinic treats back pain in five ways. Nobody knows exactly how many patients recover with each, but
something is known: at least this many, at most that many. Whoever starts from such bounds learns faster what is best,
and fewer patients pay for it.</p>
<p>Recoveries lost among {patients} patients:</p>
<ul class="tiles">{tiles}</ul>
</header>
<main>
{parts}
</main>
<footer><p>Made by <code>make demo</code> with meanbounds. The treatments and their numbers are made up, so that the
truth is known; everything else on this page was computed from them. The method: <i>Bandits with Mean Bounds</i>
(Sharma, Basu, Shanmugam and Shakkottai, TMLR 2024).</p></footer>
</body>
</html>
"""

STYLE = """
:root { --ink: #1d2a33; --soft: #5d6b75; --line: #d9e0e4; --blue: #0b5f94; --pale: #f3f7f9; color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 1.05rem/1.6 system-ui, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3.5rem; padding-bottom: 1rem; }
h1 { font-size: clamp(2.1rem, 6vw, 3.2rem); line-height: 1.1; letter-spacing: -0.02em; margin: 0 0 1.2rem; }
h2 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.8rem; }
.lead { font-size: 1.25rem; line-height: 1.5; max-width: 44rem; }
.tiles { display: grid; grid-template-columns: repeat(3, 1fr); gap: 0.75rem; padding: 0; margin: 0; }
.tiles li { list-style: none; background: var(--pale); border-radius: 0.6rem; padding: 0.8rem 1rem; line-height: 1.35; }
.tiles b { display: block; font-size: 2.4rem; line-height: 1.2; color: var(--soft); }
.tiles li:last-child b { color: var(--blue); }
main { counter-reset: part; }
section { border-top: 1px solid var(--line); padding: 2.5rem 0; display: grid; gap: 1.5rem; }
section > * { min-width: 0; }
section.alone p, section.alone ul { max-width: 46rem; }
section > ul { margin: 0; }
h2::before { counter-increment: part; content: counter(part) ". "; color: var(--blue); }
figure { margin: 0; }
figcaption { color: var(--soft); font-size: 0.95rem; margin-top: 0.5rem; }
img { display: block; width: 100%; max-width: 30rem; height: auto; }
table { border-collapse: collapse; width: 100%; max-width: 34rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.3rem 0.45rem; border-bottom: 1px solid var(--line); font-size: 0.95rem; }
th { font-weight: 600; } th[scope=row], thead th:first-child { text-align: left; }
td.given { outline: 2px solid var(--blue); outline-offset: -3px; border-radius: 0.4rem; font-weight: 600; }
.yes { color: #1a6e3c; } .no { color: #a3371f; }
code { font: 0.92em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--pale); border-radius: 0.6rem; padding: 1rem; overflow-x: auto; line-height: 1.5; }
blockquote { margin: 0.5rem 0; padding: 0.6rem 1rem; border-left: 3px solid #d55e00; background: #fdf6f0; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; padding-bottom: 3rem; color: var(--soft); }
@media (min-width: 62rem) {
  section:not(.alone) { grid-template-columns: minmax(0, 1fr) 30rem; gap: 3rem; align-items: start; }
  section:not(.alone) > figure { margin-top: 0.4rem; }
}
@media (max-width: 38rem) {
  header { padding-top: 2rem; }
  .tiles { grid-template-columns: 1fr; gap: 0.5rem; }
  .tiles li { display: flex; gap: 0.9rem; align-items: baseline; padding: 0.4rem 1rem; }
  .tiles b { font-size: 1.9rem; min-width: 2.4rem; text-align: right; }
  img { width: calc(100% + 2.5rem); max-width: none; margin: 0 -1.25rem; }
  th, td { padding: 0.3rem 0.2rem; font-size: 0.78rem; }
}
"""


def main(arguments: list[str] | None = None) -> None:
    """Tell the story in the terminal, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description="From bounds to decisions.")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the page (default: demo)")
    parser.add_argument("--picture", type=Path, help="write the picture of regret to this file, and nothing else")
    parser.add_argument("--patients", type=int, default=PATIENTS, help=f"patients in a run (default: {PATIENTS})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"simulated runs of each policy (default: {RUNS})")
    given = parser.parse_args(arguments)
    story = tell(given.patients, given.runs)
    regret = png(regret_picture(story))
    if given.picture is not None:
        given.picture.write_bytes(regret)
        return
    show(story)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "index.html").write_text(page(story), encoding="utf-8")
    (given.out / "regret.png").write_bytes(regret)
    print(f"The same with pictures: {given.out / 'index.html'}")


if __name__ == "__main__":
    main()
