"""Long runs that look for faults no single test would meet; `make soak` runs all parts, or those that PARTS names.

A part is a function in `PARTS` of `__main__.py` that takes the options and returns its problems as lines of text.
"""
