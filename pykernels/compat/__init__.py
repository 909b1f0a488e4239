"""Names that other people's scripts use, on frameworks that have dropped them or never had them.

Importing a module of this package adds them to its framework, or provides a package that is not installed. What is
there is never replaced.
"""
