"""Turn a kernel file into a function of the C ABI: load, compile, cache and run it."""
