"""Names that other people's scripts use, on frameworks that have dropped them or never had them.

Importing a module of this package adds them to its framework, and replaces none that the framework has.
"""
