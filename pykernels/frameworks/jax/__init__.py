"""Ops on JAX's arrays, under all of its transformations."""
