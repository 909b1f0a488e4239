"""Runs checks of ops in a framework, in a process of its own, by the module `check` of the framework's package.

That has two functions. ``takes(case)`` says whether the framework has tensors for what goes in. ``ways(case)`` gives,
by the name of each way to call an op there, a function that does it and returns an `frameworks.case.Outcome`.
"""
