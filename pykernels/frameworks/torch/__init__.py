"""Ops in PyTorch."""
