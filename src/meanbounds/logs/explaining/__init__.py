"""A page for the person who decides: what a log says, what rests on a judgement, and what starting from it saves.

`explain` computes everything. `ladder` has the assumptions from the weakest to the strongest, `turning` the values at
which a decision tips, and `costs` what decisions can be expected to cost. `pictures` draws, `words` names numbers and
options, and `page` writes the HTML.
"""

from meanbounds.logs.explaining.explain import Explanation, explain

__all__ = ["Explanation", "explain"]
