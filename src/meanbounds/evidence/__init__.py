"""Evidence against bounds: what rewards say about a bound that may be wrong, at every look and in any order."""

from meanbounds.evidence.contradictions import ERROR, Contradiction, ContradictionWarning, Watch, contradicted
from meanbounds.evidence.drift import Drift
from meanbounds.evidence.processes import confidence_sequence, log_e
from meanbounds.evidence.shared import AssumptionWarning, Ledger

__all__ = [
    "ERROR",
    "AssumptionWarning",
    "Contradiction",
    "ContradictionWarning",
    "Drift",
    "Ledger",
    "Watch",
    "confidence_sequence",
    "contradicted",
    "log_e",
]
