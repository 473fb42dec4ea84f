"""The object that decides, one round at a time."""

from meanbounds.agents.arms import ArmsAgent
from meanbounds.agents.base import Agent, NoIndexError, RewardError
from meanbounds.agents.candidate import Candidate
from meanbounds.agents.contextual import ContextualAgent
from meanbounds.agents.features import LinearAgent

__all__ = ["Agent", "ArmsAgent", "Candidate", "ContextualAgent", "LinearAgent", "NoIndexError", "RewardError"]
