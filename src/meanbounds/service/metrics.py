"""Counts and times of a service, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from meanbounds.service.state import State

__all__ = ["Metrics"]

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)


class Metrics:
    """What a service counts while it answers."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        by = ("operation", "status")
        self._requests = Counter("meanbounds_requests", "Requests answered.", by, registry=own)
        about = "Seconds from request to answer."
        self._times = Histogram("meanbounds_request_seconds", about, by[:1], registry=own, buckets=_BUCKETS)
        self._both = cache(lambda *by: (self._requests.labels(*by), self._times.labels(by[0])))

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        requests, times = self._both(operation, status)
        requests.inc()
        times.observe(seconds)

    def text(self, states: Iterable[State], *, everything: bool) -> bytes:
        """What these agents have done, and what the service has done if everything may be known."""
        return generate_latest(_Agents(states)) + (generate_latest(self._registry) if everything else b"")


class _Agents(Collector):
    def __init__(self, states: Iterable[State]) -> None:
        self._states = states

    def collect(self) -> Iterator[Metric]:
        decisions = CounterMetricFamily("meanbounds_decisions", "Decisions.", labels=("agent", "reason"))
        rewards = CounterMetricFamily("meanbounds_rewards", "Rewards.", labels=("agent",))
        pending = GaugeMetricFamily("meanbounds_pending", "Decisions that wait for a reward.", labels=("agent",))
        contexts = GaugeMetricFamily("meanbounds_contexts", "Contexts that have a name.", labels=("agent",))
        alarms = GaugeMetricFamily(
            "meanbounds_alarms", "Bounds that rewards contradict, and options stopped.", labels=("agent",)
        )
        for state in self._states:
            for reason, count in state.reasons.items():
                decisions.add_metric((state.name, reason), count)
            rewards.add_metric((state.name,), state.agent.updates())
            pending.add_metric((state.name,), state.agent.pending().sum())
            contexts.add_metric((state.name,), len(state.ids))
            alarms.add_metric((state.name,), len(state.agent.contradictions()) + len(state.stops))
        yield from (decisions, rewards, pending, contexts, alarms)
