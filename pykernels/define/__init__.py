"""Op definitions, and the readers of definitions in C++ and in Python."""
