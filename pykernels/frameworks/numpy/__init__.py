"""NumPy arrays, which ops accept like the tensors of any framework."""
