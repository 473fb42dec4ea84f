"""Helpers that every room may use: array types, seeds, progress bars, atomic writes, text tables, the version.

Nothing here knows what a bandit is.
"""
