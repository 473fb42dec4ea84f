"""Worlds in which every mean is known, to try the way from a log to decisions.

`HiddenContexts` writes the logs of experts who see more than they record; the stroke trial and MovieLens are made into
such worlds. You need none of this to work with a log of your own.
"""

from meanbounds.worlds.hidden_contexts import HiddenContexts
from meanbounds.worlds.stroke import stroke_trial

__all__ = ["HiddenContexts", "stroke_trial"]
