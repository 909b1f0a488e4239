"""Names of other vendors' packages, so that their guides run."""
