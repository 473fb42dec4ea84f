"""The colours of pages, light and dark: the same option has the same colour on each."""

from __future__ import annotations

__all__ = ["DARK", "LIGHT", "ROOT"]

LIGHT = {
    **{"page": "#ffffff", "ink": "#1b1f24", "soft": "#4d5661", "line": "#c9d0d8", "tint": "#f2f4f7"},
    **{"accent": "#3a4fc4", "naive": "#b00020", "agent": "#7a1fa2", "nothing": "#6a737d", "frequent": "#00707a"},
    **{"k0": "#0072b2", "k1": "#c44e00", "k2": "#008a64", "k3": "#b5558a", "k4": "#8a6d00", "k5": "#5b4fc4"},
    **{"k6": "#3e7a1f", "k7": "#8c4a3c"},
}
DARK = {
    **{"page": "#14171b", "ink": "#e8ebef", "soft": "#aab4c0", "line": "#46505b", "tint": "#1e242a"},
    **{"accent": "#9fb0ff", "naive": "#ff8a90", "agent": "#d79bff", "nothing": "#98a2ad", "frequent": "#5fd0da"},
    **{"k0": "#56b4e9", "k1": "#f08a4b", "k2": "#3ccf9f", "k3": "#e59ac4", "k4": "#e0c04a", "k5": "#a79cff"},
    **{"k6": "#a4d67a", "k7": "#d59a8a"},
}


def _colours(named: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())


ROOT = f"""
:root {{ color-scheme: light dark; {_colours(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_colours(DARK)} }} }}
@media print {{ :root {{ color-scheme: light; {_colours(LIGHT)} }} }}"""
"""The start of a style sheet: variables for every colour."""
