"""The commands of ``python -m pykernels``: a module for each, which adds its options to the parser and runs.

None imports a framework, a compiler or anything else that takes long before it runs.
"""
