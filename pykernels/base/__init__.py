"""Modules that everything else stands on: errors, dtypes, the C ABI, locks."""
