"""The frameworks that ops are entered into, a package each."""
