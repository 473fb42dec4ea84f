"""Agents: the objects that decide, one round at a time.

`Agent` decides among the same arms in each round, with or without features; `ContextualAgent` keeps one agent for each
context; `ArtificialReplay` lets an agent use past rewards as it needs them; a `Journal` keeps what happened to a saved
agent in a file. How to decide is the policy's part
(`meanbounds.policies`); an agent keeps the rewards so far and the pending pulls, and can be saved.
"""

from meanbounds.agents.agent import Agent
from meanbounds.agents.candidate import Candidate
from meanbounds.agents.contextual import ContextualAgent
from meanbounds.agents.journal import Decision, Journal, JournalError
from meanbounds.agents.learner import NoIndexError, Pending, RewardError
from meanbounds.agents.loading import agent_from_dict, load_agent
from meanbounds.agents.replay import ArtificialReplay

__all__ = [
    "Agent",
    "ArtificialReplay",
    "Candidate",
    "ContextualAgent",
    "Decision",
    "Journal",
    "JournalError",
    "NoIndexError",
    "Pending",
    "RewardError",
    "agent_from_dict",
    "load_agent",
]
