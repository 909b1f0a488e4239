"""Evaluate a kernel's syntax tree to typed expressions of its inputs."""
