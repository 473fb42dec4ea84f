"""Tools of the project: run them from its folder."""
