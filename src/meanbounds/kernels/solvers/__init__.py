"""Optimisation problems with numbers for an answer.

`cone` finds the largest product of features with a parameter that is limited by bounds, its norm and an ellipsoid;
`simplex` solves linear programs, and `sparse` computes a low-rank matrix at a few places. What problems mean is left
to those who state them: `meanbounds.linear`, `meanbounds.logs` and `meanbounds.kernels.linear`.
"""
