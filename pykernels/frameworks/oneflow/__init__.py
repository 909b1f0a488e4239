"""Ops in OneFlow."""
