"""The frameworks that ops are checked in: a module for each, which is run in a process of its own.

Each has a function ``ways(case)``: by the name of each way to call an op in that framework, a function that does it and
returns an `hosts.case.Outcome`.
"""
