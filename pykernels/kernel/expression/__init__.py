"""Evaluate the syntax tree of a kernel to typed expressions of its inputs."""
