"""What an op is: its definition, and the readers of definitions in C++ and in Python."""
