"""The version of pykernels, which its metadata takes from here."""

__all__ = ["__version__"]

__version__ = "0.1.0"
