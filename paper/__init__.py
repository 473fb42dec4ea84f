"""Figures, tables and claims of *Bandits with Mean Bounds*: each module makes one, ``python -m paper`` makes all.

``python -m paper.factor --out reproduce --quick`` writes pictures and CSV files to a folder and says which claims hold.
"""
