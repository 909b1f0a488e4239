"""Leave calls that are not compiled to Python, call by call."""
