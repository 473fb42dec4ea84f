"""What every room may use: array types, seeds, progress bars, files written atomically, the version.

Nothing here knows what a bandit is.
"""
