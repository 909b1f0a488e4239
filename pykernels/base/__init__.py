"""Modules that every other package uses: errors, dtypes, the C ABI, locks."""
