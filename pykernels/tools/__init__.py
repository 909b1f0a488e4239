"""The command line, and the code behind its commands."""
