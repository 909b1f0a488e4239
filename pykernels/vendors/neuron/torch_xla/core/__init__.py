"""A stand-in for ``torch_xla.core``, which holds `xla_model`."""
