"""R-OFUL from the log of an expert who saw the hidden part of the parameter.

`world` draws the arms and the expert's log, `play` computes bounds and regret, `pictures` and `claimed` show and judge
them.
"""

from meanbounds.paper.transfer.claimed import claims
from meanbounds.paper.transfer.pictures import plot
from meanbounds.paper.transfer.play import run
from meanbounds.paper.transfer.results import QUICK, SETTINGS, Results, Settings

__all__ = ["ABOUT", "QUICK", "SETTINGS", "SOURCE", "TITLE", "Results", "Settings", "claims", "plot", "run"]

TITLE = "Arms with features, bounded by an expert's log"
SOURCE = "Figure 5"
ABOUT = (
    "An expert sees the hidden part of the parameter in each round and plays the best of 12 arms; the log keeps arm "
    "and reward. Theorem 9 turns it into bounds, from which R-OFUL starts. Chosen where the paper is silent: entries "
    "of 2-sparse vectors are not negative, since latent rewards are to be in [0, 1]; the known part of a reward is "
    "<theta_z, a_kz> (printed with a_ku). The infinite log is that of a hidden part with 100,000 equally likely "
    "values, drawn from the ball in pairs opposite to each other: shares, means and the average are exact. Limits on "
    "its entries are the paper's, one pair for all coordinates; limits for each coordinate are used where it says so. "
    "Rewards online are uniform on the widest interval around the mean that stays in the range: the paper's are a "
    "mixture of such intervals with the same mean. R-OFUL clips each index at the arm's upper bound. The two settings "
    "are the first draws of the arms for which the corrected bounds leave at least 3 arms and do what the caption "
    "says (no factor among these arms is below 1/4, or some is by at least a tenth), on which R-OFUL is ahead of "
    "OFUL, as the text says, and whose printed bounds can be used; the runs that are shown had no part in that "
    "choice, and the last picture and the claims about every draw show how it is elsewhere. Shading: one standard "
    "deviation."
)
