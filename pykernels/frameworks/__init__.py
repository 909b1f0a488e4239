"""The frameworks that run ops, with a package for each."""
