"""Saved agents of whichever kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meanbounds.agents.agent import Agent
from meanbounds.agents.contextual import ContextualAgent
from meanbounds.support.saving import read_saved

__all__ = ["agent_from_dict", "load_agent"]


def agent_from_dict(data: Mapping[str, Any]) -> Agent | ContextualAgent:
    """Make the agent that `to_dict` described, with contexts or without.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.agents import agent_from_dict
    >>> agent_from_dict(mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7).to_dict())
    Agent(GLUE(), 2 arms, 0 updates)
    """
    kind = ContextualAgent if "contexts" in data or "agents" in data else Agent
    return kind.from_dict(data)


def load_agent(path: str | Path) -> Agent | ContextualAgent:
    """Load an agent from a file, whichever kind it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import meanbounds as mb
    >>> path = Path(tempfile.mkdtemp()) / "agent.json"
    >>> mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7).save(path)
    >>> mb.agents.load_agent(path)
    Agent(GLUE(), 2 arms, 0 updates)
    """
    return agent_from_dict(read_saved(path, "agent"))
