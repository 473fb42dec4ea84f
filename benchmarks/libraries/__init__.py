"""One module for each library to compare with.

The docstring of a module says what of the library is called. ``DISTRIBUTION`` is its name on PyPI, ``PINS`` what has to
be installed for it in an environment of its own, and ``games()`` imports it and returns its games by workload.
"""
