"""Solvers for the small programs that bounds lead to: a cone solver and a dual simplex, both certified."""
