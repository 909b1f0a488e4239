"""The frameworks that ops are checked in: a module for each, which is run in a process of its own.

Each has two functions. ``takes(case)`` says whether the framework has tensors for what goes in. ``ways(case)`` gives,
by the name of each way to call an op there, a function that does it and returns an `hosts.case.Outcome`.
"""
