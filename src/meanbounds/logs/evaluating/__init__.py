"""Values of policies from logs with known probabilities: `evaluate`, and the readers of decisions one by one."""

from meanbounds.logs.evaluating.evaluate import evaluate
from meanbounds.logs.evaluating.events import Events
from meanbounds.logs.evaluating.foreign import read_dsjson, read_open_bandit
from meanbounds.logs.evaluating.reading import read_events
from meanbounds.logs.evaluating.result import Evaluation, PolicyValue

__all__ = ["Evaluation", "Events", "PolicyValue", "evaluate", "read_dsjson", "read_events", "read_open_bandit"]
