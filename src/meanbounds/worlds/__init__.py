"""Worlds in which the truth is known, to try the road from a log to decisions on.

`HiddenContexts` writes the logs of experts who see more than they record; the stroke trial and MovieLens are made into
such worlds. Nothing here is needed to work with a log of your own.
"""

from meanbounds.worlds.hidden_contexts import HiddenContexts
from meanbounds.worlds.stroke import stroke_trial

__all__ = ["HiddenContexts", "stroke_trial"]
