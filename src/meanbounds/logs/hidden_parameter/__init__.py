r"""Bounds on arms with features, from the log of an expert who saw the whole parameter.

The reward of arm k has mean ``<visible_k, theta_visible> + <hidden_k, T>``. The first part is known (`offset` below); T
is random, drawn anew in each round, and lies in a box. The expert saw T and played the best arm; the log kept arm and
reward only. The agent will not see T either: it wants the means over T.

`setting` holds the features, the known parameter and the box, `programs` the linear programs, `infinite` and `finite`
the bounds from either kind of log, `erring` those of an expert who errs now and then, `result` the class that they
return; `agent` makes an agent from a log in one call.

**Infinite log.** For each arm j the log gives its share p_j and the mean reward nu_j when it was played. Let x_j be the
mean of T over the rounds in which j was played. T is in the box in each of them, gives j the mean that was seen, and
makes no arm better than j. All this is linear in T, so it holds for x_j::

    x_j in the box,   offset_j + <hidden_j, x_j> = nu_j,   offset_i + <hidden_i, x_j> <= nu_j  for each i

and the mean of arm k is ``offset_k + sum_j p_j <hidden_k, x_j>``. So its bounds are sums of least and largest values of
linear programs, one for each pair (k, j). They are sharp: T = x_j with probability p_j, where the x_j attain the bound,
is a law that leaves this very log.

**Finite log.** With intervals for all nu_j, and for all p_j, that hold at the same time with the stated confidence::

    nu_low_j <= offset_j + <hidden_j, x_j> <= nu_high_j,   offset_i + <hidden_i, x_j> <= offset_j + <hidden_j, x_j>

and the upper bound on arm k is ``offset_k + max_p sum_j p_j v_kj``, where v_kj is the program's value and p any vector
of shares in its intervals. An arm that the log never played has some share all the same, unless its program has no
solution: then it is never the best. The failure probability is divided evenly: one half over the two sides of K means,
one half over the two sides of K shares.
"""

from meanbounds.logs.hidden_parameter.agent import linear_agent
from meanbounds.logs.hidden_parameter.finite import linear_bounds_from_log
from meanbounds.logs.hidden_parameter.infinite import linear_bounds
from meanbounds.logs.hidden_parameter.result import LinearBounds
from meanbounds.logs.hidden_parameter.setting import LinearSetting

__all__ = ["LinearBounds", "LinearSetting", "linear_agent", "linear_bounds", "linear_bounds_from_log"]
