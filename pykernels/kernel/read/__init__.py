"""Read a kernel: its source, the functions that it calls, the types of a call."""
