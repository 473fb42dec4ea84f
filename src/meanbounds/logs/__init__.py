"""From a log that left out what the expert saw to bounds on each arm's mean."""

from meanbounds.logs.linear import LinearBounds, linear_agent, linear_bounds, linear_bounds_from_log

__all__ = ["LinearBounds", "linear_agent", "linear_bounds", "linear_bounds_from_log"]
