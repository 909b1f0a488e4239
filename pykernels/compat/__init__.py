"""What unmaintained frameworks need of an older NumPy and Python, for the modules of these frameworks alone."""
