"""Plays one library in a process of its own: ``python -m benchmarks.worker river``.

First it answers with the names of the games that the library has; then to each name that it reads, with the processor
time of a round in nanoseconds. Whatever the library prints goes to the error stream.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from importlib import metadata
from typing import Any

from benchmarks.workloads import Game

_SHORTEST = 0.1  # seconds; shorter games are repeated
_WARM_UP = 100  # rounds, before a game is timed for the first time


def nanoseconds(game: Game, rounds: int) -> float:
    """Processor time of a round: the best of as many games as are over within a tenth of a second."""
    best, spent = float("inf"), 0.0
    while spent < _SHORTEST:
        start = time.process_time()
        game.play(rounds)
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, 1e-6)
    return 1e9 * best / (game.runs * rounds)


def main() -> None:
    """Answer until there are no more questions."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value: Any) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        library = importlib.import_module(f"benchmarks.libraries.{sys.argv[1]}")
        games: dict[str, Game] = library.games()
        answer([list(games), metadata.version(library.DISTRIBUTION) if library.DISTRIBUTION else ""])
    except Exception as error:
        answer(f"{type(error).__name__}: {error}")
        return
    warm = set()
    for line in sys.stdin:
        name, share = json.loads(line)
        game = games[name]
        try:
            if name not in warm:
                game.play(min(_WARM_UP, game.rounds))
                warm.add(name)
            answer(nanoseconds(game, max(1, round(game.rounds * share))))
        except Exception as error:
            answer(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
