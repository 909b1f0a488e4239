"""Tools that make machine code, and the cache that keeps it."""
