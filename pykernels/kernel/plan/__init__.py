"""Divide expressions into stages, and place what lies between them."""
