"""Episodes: a few dozen calls that follow from a seed and a number, so that each can be replayed alone."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzzing.calls import a_call
from tests.fuzzing.draw import Draw, spoil
from tests.fuzzing.judge import Finding, Judge, watched
from tests.fuzzing.made import a_contextual_agent, a_linear_agent, an_agent
from tests.fuzzing.mutate import Mutants
from tests.fuzzing.play import EpisodeOverError, Player

__all__ = ["LENGTH", "PARTS", "run_episode"]

LENGTH = {"call": 50, "mutant": 10}
"""Calls, or mutants, in an episode."""

PARTS = tuple(LENGTH)

Step = Callable[[], None]


def run_episode(
    part: str, seed: int, number: int, *, progress: Callable[[str], None] = lambda _: None, last: int | None = None
) -> list[Finding]:
    """The findings of one episode.

    Parameters
    ----------
    part
        ``"call"`` for hostile calls, ``"mutant"`` for tampered states.
    seed, number
        The random choices follow from these alone.
    progress
        Told about each call before it is made.
    last
        The place in the episode of the last call to make; all by default.
    """
    draw = Draw(f"{part} {seed} {number}")
    first = at = number * LENGTH[part]
    end = first + LENGTH[part] - 1

    def replay() -> str:
        return f"python -m tests.fuzzing --seed {seed} --{part} {min(at, end)}"

    with watched() as caught:
        judge = Judge(caught, replay, progress)
        try:
            step, finish = _subject(part, draw, judge)
            while at <= (end if last is None else first + last):
                step()
                at += 1
            if at > end:
                finish()
        except EpisodeOverError:
            pass
        return judge.findings


def _subject(part: str, draw: Draw, judge: Judge) -> tuple[Step, Step]:
    """What makes the calls of an episode, and what ends it."""
    if part == "mutant":
        return Mutants(draw, judge).step, lambda: None
    make = draw.pick((None, None, an_agent, an_agent, a_linear_agent, a_contextual_agent))
    if make is None:
        return lambda: _one_call(draw, judge), lambda: None
    player = Player(make(draw), draw, judge)
    return player.step, player.finish


def _one_call(draw: Draw, judge: Judge) -> None:
    call = spoil(draw, a_call(draw))
    judge.make(call, nan=call.nan)
