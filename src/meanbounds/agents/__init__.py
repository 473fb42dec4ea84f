"""What a user holds: the object that decides, one round at a time.

`Agent` decides among the same arms, with or without features; `ContextualAgent` keeps one agent for each context.
Policies say how to decide (`meanbounds.policies`); here is what was seen, what is still pending, and how it is saved.
"""

from meanbounds.agents.agent import Agent
from meanbounds.agents.candidate import Candidate
from meanbounds.agents.contextual import ContextualAgent
from meanbounds.agents.learner import NoIndexError, Pending, RewardError

__all__ = ["Agent", "Candidate", "ContextualAgent", "NoIndexError", "Pending", "RewardError"]
