"""Counts and times of a service, in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from meanbounds.agents import ContextualAgent
from meanbounds.support.version import __version__

if TYPE_CHECKING:
    from meanbounds.service.writer import Writer

__all__ = ["Metrics", "family"]

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)
Sample = tuple[str, dict[str, str], float]
Family = tuple[str, str, str, Sequence[Sample]]


class Metrics:
    """What a service counts while it answers.

    Examples
    --------
    >>> from meanbounds.service.metrics import Metrics
    >>> metrics = Metrics()
    >>> metrics.answered("POST /v1/rewards", 200, 0.004)
    >>> [line for line in metrics.own().splitlines() if line.startswith("meanbounds_requests_total")]
    ['meanbounds_requests_total{operation="POST /v1/rewards",status="200"} 1']
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests[operation, status] += 1
        times = self._times.get(operation)
        if times is None:
            times = self._times[operation] = [0] * (len(_BUCKETS) + 1)
        times[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[operation] = self._seconds.get(operation, 0.0) + seconds

    def own(self) -> str:
        """What was counted here: requests and how long they took."""
        requests: list[Sample] = [
            ("", {"operation": operation, "status": str(status)}, count)
            for (operation, status), count in sorted(self._requests.items())
        ]
        times = list[Sample]()
        for operation, counts in sorted(self._times.items()):
            below = 0
            for edge, count in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
                below += count
                times.append(("_bucket", {"operation": operation, "le": edge}, below))
            times.append(("_sum", {"operation": operation}, self._seconds[operation]))
            times.append(("_count", {"operation": operation}, below))
        return family("requests_total", "counter", "Requests answered.", requests) + family(
            "request_seconds", "histogram", "Seconds from request to answer, the sync to disk included.", times
        )

    def text(self, writer: Writer) -> str:
        """All there is to know: requests, the log, the store, the agents."""
        return self.own() + "".join(family(*one) for one in (*_process(writer), *_agents(writer)))


def _process(writer: Writer) -> Iterable[Family]:
    """What the process knows of itself."""
    book = writer.book
    yield "info", "gauge", "The version that runs.", [("", {"version": __version__}, 1)]
    yield "log_position", "gauge", "Events in the log, as far as this process knows.", _one(book.position)
    yield "groups_total", "counter", "Groups of commands, each synced with one call.", _one(writer.groups)
    yield "commands_total", "counter", "Commands carried out.", _one(writer.commands)
    yield "store_problem", "gauge", "1 while the store cannot be used.", _one(writer.problem is not None)
    yield "warnings_total", "counter", "Bounds and assumptions that rewards refuted.", _one(book.warned)
    yield "replay_differences_total", "counter", "Decisions that a replay takes otherwise.", _one(book.differences)


def _agents(writer: Writer) -> Iterable[Family]:
    """What agents did."""
    agents = writer.book.agents.items()
    sums = {key: served.history.sums(None) for key, served in agents}

    def by(values: Iterable[tuple[dict[str, str], float]]) -> list[Sample]:
        return [("", labels, value) for labels, value in values]

    yield (
        "decisions_total",
        "counter",
        "Decisions of an agent, by arm.",
        by(
            ({"agent": key, "arm": str(arm)}, got[0])
            for key, served in agents
            if (line := served.history.line(None)) is not None
            for arm, got in line.arms.items()
        ),
    )
    yield (
        "rewards_total",
        "counter",
        "Rewards, by who decided.",
        by(({"agent": key, "by": who}, getattr(own, who)) for key, own in sums.items() for who in ("agent", "expert")),
    )
    yield (
        "reward_sum",
        "gauge",
        "Sum of the rewards, by who decided.",
        by(
            ({"agent": key, "by": who}, getattr(own, f"{who}_total"))
            for key, own in sums.items()
            for who in ("agent", "expert")
        ),
    )
    yield (
        "share",
        "gauge",
        "Share of the requests that the agent decides.",
        by(({"agent": key}, served.settings.share) for key, served in agents),
    )
    yield (
        "forced",
        "gauge",
        "Arms that are forced, in one context or in all.",
        by(({"agent": key}, len(served.forced)) for key, served in agents),
    )
    yield "version", "gauge", "Version of the agent.", by(({"agent": key}, served.version) for key, served in agents)
    yield (
        "contexts",
        "gauge",
        "Contexts of the agent.",
        by(({"agent": key}, len(served.agent)) for key, served in agents if isinstance(served.agent, ContextualAgent)),
    )


def _one(value: float) -> list[Sample]:
    return [("", {}, float(value))]


def family(name: str, kind: str, about: str, samples: Sequence[Sample]) -> str:
    """The lines of one metric.

    Parameters
    ----------
    name
        Its name without the prefix ``meanbounds_``.
    kind
        ``"counter"``, ``"gauge"`` or ``"histogram"``.
    about
        What it is.
    samples
        Of each sample the end of its name, its labels and its value.

    Examples
    --------
    >>> from meanbounds.service.metrics import family
    >>> print(family("share", "gauge", "Share of the requests.", [("", {"agent": "demo"}, 0.5)]))
    # HELP meanbounds_share Share of the requests.
    # TYPE meanbounds_share gauge
    meanbounds_share{agent="demo"} 0.5
    <BLANKLINE>
    """
    if not samples:
        return ""
    lines = [f"# HELP meanbounds_{name} {about}", f"# TYPE meanbounds_{name} {kind}"]
    for end, labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"meanbounds_{name}{end}{f'{{{inside}}}' if inside else ''} {value:.17g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
