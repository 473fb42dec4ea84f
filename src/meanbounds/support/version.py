"""The version of the package, in one place that every module can import."""

from importlib.metadata import version

__version__ = version("meanbounds")
