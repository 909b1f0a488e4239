"""Compile and link machine code, and cache it on disk."""
