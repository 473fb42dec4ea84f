"""The object that decides, one round at a time."""

from meanbounds.agent.arms import ArmsAgent
from meanbounds.agent.base import Agent, NoIndexError, RewardError
from meanbounds.agent.candidate import Candidate
from meanbounds.agent.contextual import ContextualAgent
from meanbounds.agent.linear import LinearAgent

__all__ = ["Agent", "ArmsAgent", "Candidate", "ContextualAgent", "LinearAgent", "NoIndexError", "RewardError"]
