"""Calls of ops: from an API function to the framework of its inputs."""
