"""Agents: a policy, what it knows, and what it has seen."""

from meanbounds.agents.agent import Agent
from meanbounds.agents.guardrails import Guardrail
from meanbounds.support.decisions import Decision, Excluded

__all__ = ["Agent", "Decision", "Excluded", "Guardrail"]
