"""What can be measured of a picture."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.text import Text

__all__ = ["smallest_letters"]


def smallest_letters(figure: Figure) -> float:
    """Points of the smallest letters that are seen."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return min(float(text.get_fontsize()) for text in texts if text.get_visible() and text.get_text().strip())
