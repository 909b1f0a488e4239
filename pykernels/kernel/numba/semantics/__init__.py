"""Give numbers, names and ranges in compiled code the meaning that they have in NumPy and Python."""
