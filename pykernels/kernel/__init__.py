"""From a kernel file to a function of the C ABI: loaded, compiled, cached, run."""
