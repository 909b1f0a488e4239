"""Run ops in OneFlow."""
