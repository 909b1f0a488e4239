"""The commands of ``python -m pykernels``: one module each, which adds its options to the parser and runs it.

No module imports a framework, a compiler or anything else slow before its command runs.
"""
