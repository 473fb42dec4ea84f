"""A fuzzer that drives every public call with hostile values, and loads saved states that were tampered with.

Every random choice follows from a seed, and each finding prints the command that replays it:

    python -m tests.fuzzing --seed 1 --call 4567
    python -m tests.fuzzing --seed 1 --mutant 89

`draw` has the hostile values, `made` valid objects, `calls` and `play` what is called, `mutate` the changes to saved
states, `judge` what counts as a finding, `episodes` puts them together, and `batches` runs them in child processes.
"""
