"""What can be measured of a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

__all__ = ["beyond", "seen", "smallest_letters"]


def seen(figure: Figure) -> list[Text]:
    """All texts of a picture that are drawn."""
    figure.draw_without_rendering()
    drawn = [artist for ax in figure.axes if ax.get_visible() for artist in ax.findobj(Text)]
    drawn += [artist for part in (*figure.texts, *figure.legends) for artist in part.findobj(Text)]
    hidden = {id(label) for ax in figure.axes for label in _outside(ax)}
    texts = [text for text in drawn if isinstance(text, Text) and id(text) not in hidden]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def _outside(ax: Axes) -> list[Text]:
    """Labels of ticks beyond the ends of an axis, which matplotlib keeps and does not draw."""
    found = []
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-6 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low - slack <= tick.get_loc() <= high + slack:
                found += [tick.label1, tick.label2]
    return found


def smallest_letters(figure: Figure) -> float:
    """Points of the smallest letters that are seen."""
    return min(float(text.get_fontsize()) for text in seen(figure))


def beyond(figure: Figure) -> list[str]:
    """Texts that reach beyond the edges of the picture, by more than a pixel, and are cut off there."""
    width, height = figure.get_size_inches() * figure.dpi
    boxes = {text.get_text(): text.get_window_extent() for text in seen(figure)}
    return [
        text
        for text, box in boxes.items()
        if box.x0 < -1.0 or box.y0 < -1.0 or box.x1 > width + 1.0 or box.y1 > height + 1.0
    ]
