"""GLUE and its rivals on four instances, with two kinds of rewards."""
