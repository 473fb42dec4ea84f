"""What every other part of the package uses: checks of arguments, files, random streams, optional imports."""
