"""Ops in MXNet."""
