"""AWS Neuron's custom C++ operators on the CPU: their sources built into a library that PyTorch loads."""
