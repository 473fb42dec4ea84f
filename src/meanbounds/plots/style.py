"""The style of all pictures: width, letter sizes, and one colour for each policy."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

__all__ = [
    "COLOURS",
    "GREY",
    "SMALL",
    "WIDTH",
    "Look",
    "column",
    "fold",
    "ink",
    "looks",
    "policy_name",
    "tidy",
    "title",
]

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#000000",
    "#8c564b",
    "#bcbd22",
    "#9467bd",
    "#17becf",
    "#843c39",
    "#637939",
    "#393b79",
    "#e7969c",
)
"""The colours of all pictures; Okabe and Ito's come first, which colour-blind readers can tell apart."""

GREY = "#b0b0b0"
"""The colour of arms that cannot be best."""

WIDTH = 4.0
"""Width of a picture in inches. Shown 390 pixels wide, as on a phone, letters of 10 points are 13.5 pixels high."""

SMALL = 9.0
"""The smallest letters, in points: 12 pixels in a picture that is shown 390 pixels wide."""

_TITLE = 34  # letters of a title above axes that leave room for names on the left

_OF_POLICY = {  # linear policies share colours with others: they are never in one picture
    "ucb": COLOURS[0],
    "bucb": COLOURS[1],
    "glue": COLOURS[2],
    "bklucb": COLOURS[3],
    "improveducb": COLOURS[4],
    "klucb": COLOURS[5],
    "thompsonsampling": COLOURS[7],
    "ts": COLOURS[7],
    "ossb": COLOURS[8],
    "bimed": COLOURS[9],
    "ucboost": COLOURS[6],
    "optimisticgittins": COLOURS[10],
    "ids": COLOURS[11],
    "mints": COLOURS[12],
    "minucb": COLOURS[13],
    "warmstart": COLOURS[14],
    "mostfrequentarm": COLOURS[15],
    "oful": COLOURS[0],
    "roful": COLOURS[2],
    "linearthompson": COLOURS[7],
}

Style = Literal["-", "-."] | tuple[float, tuple[float, ...]]
"""A line style as matplotlib takes it."""

_STYLES: tuple[Style, ...] = ("-", "-.", (0.0, (8.0, 1.5)), (0.0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)))


class Look(NamedTuple):
    """Colour and style of a line, as matplotlib takes them.

    Examples
    --------
    >>> from meanbounds.plots.style import looks
    >>> looks(["UCB"])["UCB"]
    Look(colour='#0072b2', style='-')
    """

    colour: str
    style: Style


def policy_name(label: str) -> str | None:
    """Find the built-in policy that a label names, in small letters without hyphens; None if there is none.

    Examples
    --------
    >>> from meanbounds.plots.style import policy_name
    >>> policy_name("GLUE(f='t')"), policy_name("B-KL-UCB"), policy_name("UCB, from nothing"), policy_name("mine")
    ('glue', 'bklucb', 'ucb', None)
    """
    words = re.findall(r"[a-z0-9]+", re.split(r"[(,]", label.lower().replace("-", ""))[0])
    for count in (2, 1):  # "Thompson sampling" has two words
        name = "".join(words[:count])
        if name in _OF_POLICY:
            return name
    return None


def looks(labels: Iterable[str], *, colours: Mapping[str, str] | None = None) -> dict[str, Look]:
    """Choose the colour and line style of each label in a picture.

    A built-in policy has the same colour in every picture, whatever its parameters are; several variants of it in one
    picture differ by line style. Other labels get the colours that are left, in the order of `COLOURS`.

    Parameters
    ----------
    labels
        Labels of the lines, such as ``"GLUE"`` or ``"B-UCB, from nothing"``.
    colours
        Colours to use for some labels instead, by label.

    Examples
    --------
    >>> from meanbounds.plots.style import looks
    >>> looks(["GLUE"])["GLUE"] == looks(["UCB", "mine", "GLUE"])["GLUE"]
    True
    >>> found = looks(["R-OFUL", "R-OFUL as printed"])
    >>> [look.style for look in found.values()], len({look.colour for look in found.values()})
    (['-', '-.'], 1)
    """
    names = list(labels)
    given = {**{name: _OF_POLICY[key] for name in names if (key := policy_name(name)) is not None}, **(colours or {})}
    used = {given[name] for name in names if name in given}
    left = iter([colour for colour in COLOURS if colour not in used] + list(COLOURS) * len(names))
    found: dict[str, Look] = {}
    for name in names:
        colour = given[name] if name in given else next(left)
        before = sum(look.colour == colour for look in found.values())
        found[name] = Look(colour, _STYLES[before % len(_STYLES)])
    return found


def column(heights: Sequence[float], *, extra: float = 0.0, share_x: bool = False) -> tuple[Figure, list[Axes]]:
    """Make a figure with panels one below the other, narrow enough that its text can be read on a phone.

    Parameters
    ----------
    heights
        Height of each panel, in inches.
    extra
        Inches to add for a title above them.
    share_x
        Whether all panels have the same horizontal axis.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import column
    >>> figure, axes = column([2.0, 3.0])
    >>> figure.get_size_inches().tolist(), len(axes)
    ([4.0, 5.0], 2)
    >>> plt.close(figure)
    """
    figure, axes = plt.subplots(
        len(heights),
        1,
        figsize=(WIDTH, extra + sum(heights)),
        height_ratios=heights,
        layout="constrained",
        sharex=share_x,
        squeeze=False,
    )
    return figure, list(axes[:, 0])


def fold(text: str, letters: int) -> str:
    """Break a text into lines of at most this many letters, at spaces or before an opening bracket.

    A word that is longer than a line stays whole.

    Examples
    --------
    >>> from meanbounds.plots.style import fold
    >>> fold("ThompsonSampling(moments=2)", 16).splitlines()
    ['ThompsonSampling', '(moments=2)']
    """
    lines = textwrap.wrap(text.replace("(", " \0("), letters, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(" \0(", "(").replace("\0(", "(")


def ink(colour: str) -> str:
    """Darken a colour until text in it is legible on white: a contrast of 4.5 to 1, as WCAG 2 (AA) requires.

    Examples
    --------
    >>> from meanbounds.plots.style import ink
    >>> ink("#000000"), ink("#bcbd22")
    ('#000000', '#777816')
    """
    tone = np.array(to_rgb(colour))
    while True:
        linear = np.where(tone <= 0.04045, tone / 12.92, ((tone + 0.055) / 1.055) ** 2.4)
        if 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05) >= 4.5:
            return to_hex(tuple(tone.tolist()))
        tone = 0.97 * tone


def title(ax: Axes, text: str) -> None:
    """Write a title above the axes, on the left; where the axes have a key, it becomes the title of the key.

    Long titles are broken into lines.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import column, title
    >>> figure, (ax,) = column([3.0])
    >>> title(ax, "North")
    >>> ax.get_title(loc="left")
    'North'
    >>> plt.close(figure)
    """
    key, folded = ax.get_legend(), fold(text, _TITLE)
    if key is None:
        ax.set_title(folded, loc="left", fontsize=10, parse_math=False)
        return
    key.set_title(folded, prop=FontProperties(size=10))
    key.get_title().set_parse_math(False)
    key.set_alignment("left")


def tidy(ax: Axes) -> None:
    """Remove the frame above and to the right, and draw faint vertical lines.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots.style import column, tidy
    >>> figure, (ax,) = column([3.0])
    >>> tidy(ax)
    >>> [side for side, spine in ax.spines.items() if spine.get_visible()]
    ['left', 'bottom']
    >>> plt.close(figure)
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25)
