"""NumPy's arrays, which work like any framework's tensors."""
