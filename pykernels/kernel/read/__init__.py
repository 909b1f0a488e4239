"""Read a kernel: its source, its helper functions, and the signature of a call."""
