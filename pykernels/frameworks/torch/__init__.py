"""Run ops in PyTorch."""
